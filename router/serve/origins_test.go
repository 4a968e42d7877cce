package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

// TestOrigins: pages of the allowed origins can call the server and read its answers, errors
// included; a wildcard allows no credentials, and other origins are refused.
//
// Evidence: server · Pages of the listed origins can call the server from a browser
func TestOrigins(t *testing.T) {
	listed := []string{"https://App.example:443/", "http://localhost:3000"}
	for _, c := range []struct {
		name, origin   string
		origins        []string
		allow, credits string // the headers' values
		status         int    // of a call
	}{
		{"none configured", "https://evil.example", nil, "", "", 200},
		{"listed", "https://app.example", listed, "https://app.example", "true", 200},
		{"listed with port", "http://localhost:3000", listed, "http://localhost:3000", "true", 200},
		{"another port", "http://localhost:3001", listed, "", "", 403},
		{"another scheme", "http://app.example", listed, "", "", 403},
		{"longer name", "https://app.example.evil.example", listed, "", "", 403},
		{"subdomain", "https://x.app.example", listed, "", "", 403},
		{"user in front", "https://app.example@evil.example", listed, "", "", 403},
		{"opaque", "null", listed, "", "", 403},
		{"no browser", "", listed, "", "", 200},
		{"wildcard", "https://any.example", []string{"*"}, "*", "", 200},
		{"wildcard and opaque", "null", []string{"*"}, "*", "", 200},
		{"wildcard and listed", "http://localhost:3000", append(listed, "*"), "http://localhost:3000", "true", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, hc := start(t, agenttest.Script(agenttest.Text("hi")).Loop(), serve.Config{Origins: c.origins, Key: "k"})
			url := srv.URL + "/v1/chat/completions"
			check := func(what string, h http.Header) {
				t.Helper()
				if got := h.Get("Access-Control-Allow-Origin"); got != c.allow {
					t.Errorf("%s: Allow-Origin %q, want %q", what, got, c.allow)
				}
				if got := h.Get("Access-Control-Allow-Credentials"); got != c.credits {
					t.Errorf("%s: Allow-Credentials %q, want %q", what, got, c.credits)
				}
				if c.origins != nil && !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
					t.Errorf("%s: Vary %q", what, h.Values("Vary"))
				}
			}
			var from []string
			if c.origin != "" {
				from = []string{"Origin", c.origin}
			}
			for _, body := range []string{hello, streamed} {
				status, _, h := call(t, hc, "POST", url, body, append(from, "Authorization", "Bearer k")...)
				if status != c.status {
					t.Errorf("status %d, want %d", status, c.status)
				}
				check("a call", h)
			}
			status, _, h := call(t, hc, "POST", url, hello, from...)
			if want := map[int]int{200: 401, 403: 403}[c.status]; status != want {
				t.Errorf("without the key: status %d, want %d", status, want)
			}
			check("without the key", h)

			// A preflight carries no key.
			status, _, h = call(t, hc, "OPTIONS", url, "", append(from, "Access-Control-Request-Method", "POST",
				"Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")...)
			check("preflight", h)
			if c.allow == "" {
				if status < 400 || h.Get("Access-Control-Allow-Methods") != "" {
					t.Errorf("preflight: status %d, %v", status, h)
				}
			} else if status != 204 || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "x-stainless-os") {
				t.Errorf("preflight: status %d, %v", status, h)
			}
		})
	}
}

// TestOwnOrigin: a page that the same server offers may call it.
func TestOwnOrigin(t *testing.T) {
	srv, hc := start(t, traced{[]string{"a"}}, serve.Config{Origins: []string{"https://app.example"}})
	if status, body, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello, "Origin", srv.URL); status != 200 {
		t.Errorf("status %d, %s", status, body)
	}
}

func TestBadOrigins(t *testing.T) {
	for _, bad := range []string{"", "app.example", "https://", "https://*.example", "https://a.example/path", "https://u@a.example", "null", "https://a.example?x", "localhost:3000", "https://a b"} {
		if _, err := serve.New(traced{}, serve.Config{Origins: []string{bad}}); err == nil || !strings.Contains(err.Error(), "origin") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
