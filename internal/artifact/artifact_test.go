package artifact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHandle(t *testing.T) {
	h := Handle([]byte("a text"))
	if !Valid(h) || Handle([]byte("a text")) != h || Handle([]byte("another")) == h {
		t.Errorf("Handle = %q; want a valid handle that depends on the text alone", h)
	}
	for _, bad := range []string{"", h[1:], h + "0", strings.ToUpper(h), h[:len(h)-1] + "g", "artifact-../../../../etc/pw"} {
		if Valid(bad) {
			t.Errorf("Valid(%q) = true", bad)
		}
	}
}

func TestFind(t *testing.T) {
	a, b := Handle([]byte("a")), Handle([]byte("b"))
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"artifact- and artifact-0123", nil},
		{"kept as " + a + "; read it", []string{a}},
		{a, []string{a}},
		{"[" + a + "] [" + b + "] again " + a, []string{a, b}},
		{a + "0 is one digit too long, " + b + " is not", []string{b}},
		{"artifact-artifact-" + a, []string{a}},
	} {
		if d := cmp.Diff(c.want, FindAll(c.text)); d != "" {
			t.Errorf("FindAll(%q) (-want +got):\n%s", c.text, d)
		}
		first := ""
		if len(c.want) > 0 {
			first = c.want[0]
		}
		if got := Find(c.text); got != first {
			t.Errorf("Find(%q) = %q, want %q", c.text, got, first)
		}
	}
}

func FuzzFindAll(f *testing.F) {
	f.Add("kept as " + Handle([]byte("a")) + ".")
	f.Add("artifact-artifact-0")
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range FindAll(text) {
			if !Valid(h) || !strings.Contains(text, h) {
				t.Errorf("FindAll found %q", h)
			}
		}
	})
}
