package symbols

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzOf passes arbitrary text to the reader of every language, and checks the properties that
// callers rely on.
func FuzzOf(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/forms/*")
	for _, s := range seeds {
		if text, err := os.ReadFile(s); err == nil {
			f.Add(text, s)
		}
	}
	for _, ending := range slices.Sorted(maps.Keys(languages)) {
		f.Add([]byte("class A {\n\tdef b(): x = (1) => { `${`\n#if 0\n<<END\n\"\"\"\n"), ending)
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		late := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("no end of %q (%s)", text, name)) })
		defer late.Stop()
		r, err := Of(name, text)
		if err != nil {
			return
		}
		checkResult(t, text, r)
	})
}

func checkResult(t *testing.T, text []byte, r Result) {
	t.Helper()
	n := bytes.Count(text, []byte("\n")) + 1
	for _, d := range r.Defs {
		if d.Name == "" || d.StartLine < 1 || d.StartLine > d.Line || d.Line > d.EndLine || d.EndLine > n || d.Depth < 0 ||
			d.DocLine < 0 || d.DocLine > d.StartLine || !utf8.ValidString(d.Name+d.Container+d.Signature) || len(d.Signature) > maxSignature+8 {
			t.Fatalf("%+v in a text of %d lines", d, n)
		}
	}
	if !slices.IsSortedFunc(r.Refs, func(a, b Ref) int { return a.Line - b.Line }) {
		t.Fatal("references are not in order")
	}
	for _, ref := range r.Refs {
		if ref.Name == "" || ref.Line < 1 || ref.Line > n || !utf8.ValidString(ref.Name) {
			t.Fatalf("%+v in a text of %d lines", ref, n)
		}
	}
}
