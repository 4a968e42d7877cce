package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateSeatbelt = flag.Bool("update-seatbelt", false, "write the golden profiles anew")

func TestSeatbeltProfile(t *testing.T) {
	for name, r := range map[string]seatbeltRules{
		"plain":     {write: []string{"/Users/me/project", "/private/tmp/luthier-sandbox-1/tmp"}},
		"read-only": {read: []string{"/Users/me/project"}, write: []string{"/private/tmp/s/home"}},
		"odd-names": {write: []string{`/Users/me/a "b" \c) (allow default`}},
	} {
		got, err := seatbeltProfile(r)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "seatbelt", name+".sb")
		if *updateSeatbelt {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(read(t, file), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, bad := range []string{"", "/", "relative", "/a/../b", "/a\nb", "/a\x00b", "/a\xffb"} {
		if _, err := seatbeltProfile(seatbeltRules{write: []string{bad}}); err == nil {
			t.Errorf("%q was taken for a path", bad)
		}
	}
}

// FuzzSeatbeltPath checks that whatever a path contains, it stays within its string.
func FuzzSeatbeltPath(f *testing.F) {
	f.Add("/a b")
	f.Add(`/a")) (allow default) (("`)
	f.Add(`/a\`)
	f.Fuzz(func(t *testing.T, p string) {
		if seatbeltPath(p) != nil {
			return
		}
		q := seatbeltString(p)
		body, ok := strings.CutPrefix(q, `"`)
		var back strings.Builder
		for i := 0; ok && i < len(body); i++ {
			switch c := body[i]; {
			case c == '"':
				if i != len(body)-1 || back.String() != p {
					t.Fatalf("%q ends its string early: %s", p, q)
				}
				return
			case c == '\\':
				i++
				back.WriteByte(body[i])
			default:
				back.WriteByte(c)
			}
		}
		t.Fatalf("%q has no end: %s", p, q)
	})
}
