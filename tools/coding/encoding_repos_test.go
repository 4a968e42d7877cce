package coding

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var legacyDir = flag.String("legacy", "", "folder of repositories whose files in old encodings TestEditsOfRepositories edits")

// TestEditsOfRepositories edits a line of ASCII and another line of each file of other people's
// repositories that is text but not UTF-8. The file must differ by the edit alone, byte for byte.
func TestEditsOfRepositories(t *testing.T) {
	if *legacyDir == "" {
		t.Skip("needs -args -legacy DIR")
	}
	right, refused := 0, 0
	err := filepath.WalkDir(*legacyDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || utf8.Valid(text) || len(text) > 400_000 || bytes.ContainsAny(text, "\x00\x01\x02\x03\x04\x05\x06\x07\x08") {
			return err
		}
		for _, ascii := range []bool{true, false} {
			n, line := uniqueLine(text, ascii)
			if n == 0 {
				continue
			}
			name := "f" + filepath.Ext(path)
			w := openWith(t, Config{}, files{name: string(text)})
			old := string(line)
			if !ascii {
				shown := do(t, w, "read", args{"path": name})
				i := slices.IndexFunc(strings.Split(shown, "\n"), func(l string) bool {
					number, _, ok := strings.Cut(l, "\t")
					return ok && strings.TrimSpace(number) == fmt.Sprint(n)
				})
				if i < 0 {
					continue // the line is beyond what read shows at once
				}
				_, old, _ = strings.Cut(strings.Split(shown, "\n")[i], "\t")
			}
			out, err := try(t, w, "edit", args{"path": name, "old": old, "new": old + " edited"})
			got := content(t, w, name)
			switch {
			case err == nil && got == strings.Replace(string(text), string(line), string(line)+" edited", 1):
				right++
			case err != nil && got == string(text):
				refused++
				t.Logf("%s: %v", path, err)
			default:
				t.Errorf("%s: a wrong edit; %s %v", path, out, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d edits, %d refused", right, refused)
}

// uniqueLine returns a line that occurs once in a text, and its number, or 0.
func uniqueLine(text []byte, ascii bool) (int, []byte) {
	lines := bytes.Split(text, []byte("\n"))
	for i := range lines {
		n := (i + len(lines)/3) % len(lines)
		line := bytes.TrimRight(lines[n], "\r")
		plain := !slices.ContainsFunc(line, func(c byte) bool { return c >= 0x80 || c < ' ' && c != '\t' })
		if len(bytes.TrimSpace(line)) >= 8 && len(line) < 200 && plain == ascii && bytes.Count(text, line) == 1 {
			return n + 1, line
		}
	}
	return 0, nil
}
