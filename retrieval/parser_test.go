package retrieval_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
)

// wild returns whatever the test wants, as a faulty parser of a host does.
type wild struct{ out retrieval.FileSymbols }

func (w wild) Of(path string, _ []byte) (retrieval.FileSymbols, error) {
	if strings.HasSuffix(path, ".md") {
		return w.out, errors.New("not mine")
	}
	return w.out, nil
}

// What a faulty parser returns does not harm the index: what lies outside of the file is dropped,
// and the order does not matter.
//
// Evidence: retrieval · A host's own parser finds the symbols of its language
func TestParserOfAHost(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.toy", "a.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out retrieval.FileSymbols
	for _, line := range []int{math.MinInt, -1, 0, 1, 2, 3, 99, math.MaxInt} {
		out.Definitions = append(out.Definitions, retrieval.Definition{Name: "d", Kind: "unheard of", Container: "a.b", Signature: "x\ny\x00\xff", StartLine: line, EndLine: -line, Line: line, DocLine: line},
			retrieval.Definition{Name: "", StartLine: line}, retrieval.Definition{Name: "wide", StartLine: 1, EndLine: line, Line: 77})
		out.Uses = append(out.Uses, retrieval.Use{Name: "u", Line: line, Kind: "unheard of"}, retrieval.Use{Line: line})
	}
	x, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir(), Parser: wild{out}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	defs, err := x.Definitions(t.Context(), "d")
	if err != nil || len(defs) != 3 {
		t.Errorf("%+v, %v", defs, err)
	}
	for i, d := range defs {
		if d.Path != "a.toy" || d.StartLine != i+1 || d.EndLine != i+1 || d.Line != i+1 || d.Container != "a.b" || d.Kind != "" {
			t.Errorf("%+v", d)
		}
	}
	refs, err := x.References(t.Context(), "u")
	if err != nil || len(refs) == 0 || len(refs) > 3 {
		t.Errorf("%+v, %v", refs, err)
	}
	if _, err := x.Map(t.Context(), 100); err != nil {
		t.Error(err)
	}
}
