package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// origins answers browsers that ask whether a page may call the server (CORS, the Fetch standard).
type origins struct {
	any    bool
	listed map[string]bool
}

// newOrigins reads Config.Origins.
func newOrigins(list []string) (origins, error) {
	o := origins{listed: map[string]bool{}}
	for _, text := range list {
		if text == "*" {
			o.any = true
			continue
		}
		origin, ok := canonicalOrigin(text)
		if !ok {
			return o, fmt.Errorf("serve: new: Origins: %q is no origin; write it like https://app.example or http://localhost:3000", text)
		}
		o.listed[origin] = true
	}
	return o, nil
}

// canonicalOrigin returns an origin as browsers send it: in lower case, without the port that the
// scheme has anyway.
func canonicalOrigin(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.Contains(u.Host, "*") {
		return "", false
	}
	if u.Path != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", false
	}
	host := u.Host
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if u.Scheme == scheme {
			host = strings.TrimSuffix(host, port)
		}
	}
	return u.Scheme + "://" + host, true
}

// answer adds the headers that let a page of an allowed origin read the answer. It answers
// preflights and refuses other origins itself, and then returns true.
func (o origins) answer(w http.ResponseWriter, r *http.Request) bool {
	if !o.any && len(o.listed) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	listed := o.listed[origin]
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if !o.any && !listed {
		if own, err := url.Parse(origin); !preflight && err == nil && own.Host != "" && own.Host == r.Host {
			return false // a page of this server
		}
		writeFailure(w, &failure{status: http.StatusForbidden, kind: "invalid_request_error", code: "origin_not_allowed",
			message: "pages of this origin may not call this server; its host can list the origin in Config.Origins"})
		return true
	}
	if listed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	} else {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Access-Control-Expose-Headers", "Retry-After")
	if !preflight {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked) // clients add headers of their own; none means anything here
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
