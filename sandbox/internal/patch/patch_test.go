package patch

import (
	"strings"
	"testing"
)

// FuzzQuoteName checks that no name breaks a line of a patch.
func FuzzQuoteName(f *testing.F) {
	for _, s := range []string{".git", ".GIT", "git~1", ".g\u200cit", ".git ", ".git...", ".git::$DATA", `a\.git`, "\xff", "ſ", "İ", "K", "é", "é", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if q := quoteName("a/", name); strings.ContainsAny(q, "\n\t\x00") {
			t.Errorf("quoted name %q", q)
		}
	})
}
