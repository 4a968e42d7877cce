package retrieval_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// goSource copies directories of Go's standard library, as a real tree, to a new directory. Except
// in the long tier, it leaves out the tests, which are half of the files.
func goSource(t testing.TB, dirs ...string) string {
	t.Helper()
	return copySource(t, false, dirs)
}

// lessGoSource is like goSource, but except in the long tier it leaves out large files and files
// more than one directory deep. It serves tests that replace no documents, or that require exactly
// the answers of a fresh index: in a small tree a replaced document weighs more than closeCall.
func lessGoSource(t testing.TB, dirs ...string) string {
	t.Helper()
	return copySource(t, !tier.Long(), dirs)
}

func copySource(t testing.TB, less bool, dirs []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range dirs {
		copyTree(t, less, filepath.Join(goRoot(t), "src", filepath.FromSlash(d)), filepath.Join(dir, filepath.FromSlash(d)))
	}
	settle()
	return dir
}

func copyTree(t testing.TB, less bool, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		isTest := d != nil && (d.Name() == "testdata" || strings.HasSuffix(d.Name(), "_test.go"))
		switch rel, _ := filepath.Rel(from, p); {
		case err != nil:
			return err
		case less && d.IsDir() && strings.Contains(rel, string(filepath.Separator)):
			return fs.SkipDir
		case isTest && !tier.Long() && d.IsDir():
			return fs.SkipDir
		case isTest && !tier.Long():
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		default:
			raw, err := os.ReadFile(p)
			if err != nil || less && len(raw) > 20_000 {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), raw, 0o644)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

var goRoot = func() func(testing.TB) string {
	find := sync.OnceValues(func() (string, error) {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), err
	})
	return func(t testing.TB) string {
		t.Helper()
		root, err := find()
		if err != nil {
			t.Skipf("no Go tree to search: %v", err)
		}
		return root
	}
}()

// settle waits until the time stamps of files just written differ from those of later writes.
func settle() { time.Sleep(80 * time.Millisecond) }

// tenQueries are queries for copies of the standard library.
var tenQueries = []string{
	"decode base64 with padding",
	"marshal struct field tags omitempty to json",
	"how does the decoder handle invalid UTF-8 in strings",
	"csv reader: bare quote in non-quoted field",
	"binary.Read panics with a slice of structs",
	"xml namespace prefix is lost when a token is encoded",
	"gob: type not registered for interface",
	"hex dump of bytes",
	"varint overflows a 64-bit integer",
	"encoding/pem block with a header, line length",
}

// answers returns the hits of all queries without their scores.
func answers(t testing.TB, x *retrieval.Index, queries ...string) map[string][]string {
	t.Helper()
	if len(queries) == 0 {
		queries = tenQueries
	}
	out := map[string][]string{}
	for _, q := range queries {
		hits, err := x.Search(context.Background(), retrieval.Query{Text: q})
		if err != nil {
			t.Fatalf("%q: %v\n%v", q, err, x.Status())
		}
		for _, h := range hits {
			out[q] = append(out[q], fmt.Sprintf("%s:%d-%d %s %q", h.Path, h.StartLine, h.EndLine, h.Symbol, h.Snippet))
		}
	}
	return out
}

// asFresh checks that an index gives the same answers as a new one.
func asFresh(t testing.TB, x *retrieval.Index, dir, when string, queries ...string) {
	t.Helper()
	answersAre(t, x, freshAnswers(t, dir, queries...), when, queries...)
}

// freshAnswers returns the answers of a new index.
func freshAnswers(t testing.TB, dir string, queries ...string) map[string][]string {
	t.Helper()
	fresh := open(t, dir, retrieval.Config{})
	defer fresh.Close()
	want := answers(t, fresh, queries...)
	if len(want) == 0 {
		t.Fatal("a fresh index finds nothing")
	}
	return want
}

// answersAre checks that an index gives the expected answers.
func answersAre(t testing.TB, x *retrieval.Index, want map[string][]string, when string, queries ...string) {
	t.Helper()
	if diff := cmp.Diff(want, answers(t, x, queries...)); diff != "" {
		t.Errorf("%s: not the answers of a fresh index (-fresh +have):\n%s%v", when, short(diff), x.Status())
	}
}

// closeCall is the difference of scores below which two places may change their order: replaced
// documents count in the word statistics until their segment is folded, as in every index of this
// kind.
const closeCall = 0.5

// nearFresh checks that an index that has seen changes gives the same answers as a new one, except
// for the order of places with nearly the same score. It returns the largest difference.
func nearFresh(t testing.TB, x *retrieval.Index, dir, when string, queries ...string) (worst float64) {
	t.Helper()
	fresh := open(t, dir, retrieval.Config{})
	defer fresh.Close()
	if len(queries) == 0 {
		queries = tenQueries
	}
	place := func(h *retrieval.Hit) string {
		return fmt.Sprintf("%s:%d-%d %s %q", h.Path, h.StartLine, h.EndLine, h.Symbol, h.Snippet)
	}
	for _, q := range queries {
		all, err := fresh.Search(t.Context(), retrieval.Query{Text: q, K: 30})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(t.Context(), retrieval.Query{Text: q})
		if err != nil {
			t.Fatalf("%s: %q: %v\n%v", when, q, err, x.Status())
		}
		score := map[string]float64{}
		for i := range all {
			score[place(&all[i])] = all[i].Score
		}
		want := all[:min(len(all), 10)]
		if len(got) != len(want) {
			t.Errorf("%s: %q has %d hits, %d in a fresh index", when, q, len(got), len(want))
			continue
		}
		for i := range got {
			s, ok := score[place(&got[i])]
			if !ok {
				t.Errorf("%s: %q finds %s, a fresh index does not", when, q, short(place(&got[i])))
				continue
			}
			// At each rank there must be a place with nearly the expected score.
			if d := math.Abs(want[i].Score - s); d > worst {
				worst = d
				if d > closeCall {
					t.Errorf("%s: %q: rank %d is %s (%.2f), not %s (%.2f)", when, q, i+1, got[i].Path, s, want[i].Path, want[i].Score)
				}
			}
		}
	}
	return worst
}

// short truncates a long text, so that it does not hide the important output.
func short(s string) string {
	if len(s) > 4000 {
		return s[:4000] + "…\n"
	}
	return s
}

// layerNamed returns the status of one layer.
func layerNamed(t testing.TB, s retrieval.Status, name string) retrieval.LayerStatus {
	t.Helper()
	for _, l := range s.Layers {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no layer %q in\n%v", name, s)
	return retrieval.LayerStatus{}
}

// allReady waits until all layers are built.
func allReady(t testing.TB, x *retrieval.Index) {
	t.Helper()
	eventually(t, "all layers are ready", func() bool {
		for _, l := range x.Status().Layers {
			if !l.Ready && l.Err == nil {
				return false
			}
		}
		return true
	})
}

// eventually waits until a condition becomes true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// skipped returns the reason why a path is not indexed, or "" if it is not listed.
func skipped(s retrieval.Status, path string) string {
	for _, f := range s.Skipped {
		if f.Path == path {
			return f.Reason
		}
	}
	return ""
}

// filesFor lists the files with a hit that contains a word of the text, each once. (Hits without
// such a word may be found for other reasons.)
func filesFor(t testing.TB, x *retrieval.Index, text string) []string {
	t.Helper()
	hits, err := x.Search(t.Context(), retrieval.Query{Text: text, K: 200})
	if err != nil {
		t.Fatalf("%q: %v\n%v", text, err, x.Status())
	}
	var out []string
	for _, h := range hits {
		has := slices.ContainsFunc(strings.Fields(text), func(w string) bool { return strings.Contains(strings.ToLower(h.Snippet), w) })
		if has && !slices.Contains(out, h.Path) {
			out = append(out, h.Path)
		}
	}
	return out
}

// grepped lists the matches as path:line; a file that cannot be read fails the test.
func grepped(t testing.TB, x *retrieval.Index, q retrieval.GrepQuery) []string {
	t.Helper()
	var got []string
	for l, err := range x.Grep(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d", l.Path, l.Number))
	}
	return got
}
