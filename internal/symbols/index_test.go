package symbols

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// library reads some packages of Go's library, and all snippets.
func library(tb testing.TB) (results []Result, bytes int) {
	tb.Helper()
	for _, root := range []string{"testdata/forms", filepath.Join(runtime.GOROOT(), "src", "net"), filepath.Join(runtime.GOROOT(), "src", "go")} {
		paths, texts, _ := corpus(tb, root, ".go .py .ts .rs .java .c .hpp .rb")
		for i, p := range paths {
			r, err := Of(p, texts[i])
			if err != nil {
				tb.Fatal(err)
			}
			results, bytes = append(results, r), bytes+len(texts[i])
		}
	}
	return results, bytes
}

// TestIndex checks that everything written is read back: every definition, name and reference,
// compared with plain searches of the input.
func TestIndex(t *testing.T) {
	tier.Normal(t)
	files, size := library(t)
	data := Encode(files)
	t.Logf("%d documents, %d bytes of %d: %.3f", len(files), len(data), size, float64(len(data))/float64(size))
	x, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defs, uses := map[string][]Site{}, map[string][]Use{}
	for doc, f := range files {
		if d := cmp.Diff(f.Defs, x.Defs(doc)); d != "" && len(f.Defs) > 0 {
			t.Fatalf("document %d (-want +got):\n%s", doc, d)
		}
		for i, d := range f.Defs {
			defs[d.Name] = append(defs[d.Name], Site{doc, i})
		}
		for _, r := range f.Refs {
			uses[r.Name] = append(uses[r.Name], Use{doc, r.Line, r.Kind})
		}
	}
	for name, want := range defs {
		if d := cmp.Diff(want, x.Lookup(name)); d != "" {
			t.Fatalf("%s (-want +got):\n%s", name, d)
		}
		if !slices.Contains(x.LookupFold(strings.ToUpper(name)), want[0]) {
			t.Errorf("%s is not found without regard to case", name)
		}
	}
	names := 0
	x.EachName(func(name []byte, n Name) bool {
		names++
		if n.Defs != len(defs[string(name)]) {
			t.Errorf("%s has %d definitions, want %d", name, n.Defs, len(defs[string(name)]))
		}
		if d := cmp.Diff(uses[string(name)], x.Uses(n)); d != "" {
			t.Errorf("uses of %s (-want +got):\n%s", name, d)
		}
		return true
	})
	if names != x.Names() {
		t.Errorf("%d names of %d", names, x.Names())
	}
	names = 0
	x.EachName(func([]byte, Name) bool { names++; return names < 20 })
	if names != 20 {
		t.Errorf("asked for 20 names, got %d", names)
	}
	for name, want := range uses {
		if d := cmp.Diff(want, x.Refs(name)); d != "" {
			t.Fatalf("%s (-want +got):\n%s", name, d)
		}
	}
	if x.Lookup("nowhere at all") != nil || x.Refs("") != nil || x.Defs(-1) != nil || x.Defs(len(files)) != nil {
		t.Error("something is found that is not there")
	}
	for _, prefix := range []string{"Ser", "new", "z", "x"} {
		want := 0
		for name := range defs {
			if strings.HasPrefix(fold(name), fold(prefix)) {
				want++
			}
		}
		if got := x.Prefix(prefix, 1<<30); len(got) != want {
			t.Errorf("%s: %d names begin so, want %d", prefix, len(got), want)
		}
	}
}

func TestFuzzy(t *testing.T) {
	var f Result
	for _, n := range strings.Fields("getServerName get_server_name Server serve ServeHTTP HTTPServer parseFile ParseFiles NewReader newReaderSize observer lockedSource unrelated") {
		f.Defs = append(f.Defs, Def{Name: n, Kind: Func, StartLine: 1, Line: 1, EndLine: 1})
	}
	x, err := Open(Encode([]Result{f}))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"Server": "Server", "server": "Server", "gsn": "getServerName", "getSN": "getServerName", "HTTPSrv": "HTTPServer", "hs": "HTTPServer",
		"parsefile": "parseFile", "pasreFile": "parseFile", "NewRaeder": "NewReader", "nrs": "newReaderSize", "bserve": "observer", "lockdSource": "lockedSource", "sevre": "serve",
	} {
		got := x.Fuzzy(query, 3)
		if !slices.ContainsFunc(got, func(n Name) bool { return n.Name == want }) {
			t.Errorf("%s: %v, want %s among them", query, got, want)
		}
	}
	if got := x.Fuzzy("Server", 5); len(got) < 2 || got[0].Name != "Server" || got[0].Score != 1 {
		t.Errorf("Server: %v", got)
	}
	if got := x.Fuzzy("gname", 1); len(got) != 1 || got[0].Score < 0.65 {
		t.Errorf("gname, with a part left out: %v", got)
	}
	if got := x.Fuzzy("qqqq", 5); len(got) != 0 {
		t.Errorf("qqqq: %v", got)
	}
	if got := x.Fuzzy("s", 0); len(got) != 0 {
		t.Errorf("none asked for: %v", got)
	}
}

func TestIndexParallel(t *testing.T) {
	files, _ := library(t)
	x, err := Open(Encode(files))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for seed := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			for range 200 {
				doc := rnd.IntN(len(files))
				if got := x.Defs(doc); len(got) != len(files[doc].Defs) || len(got) > 0 && got[len(got)-1].Signature != files[doc].Defs[len(got)-1].Signature {
					t.Errorf("document %d is another", doc)
				}
			}
		})
	}
	wg.Wait()
}

func TestOpenRefuses(t *testing.T) {
	good := Encode([]Result{{Defs: []Def{{Name: "a", Line: 1}}}})
	newer := slices.Clone(good)
	newer[4]++
	for what, data := range map[string][]byte{"nothing": nil, "another file": []byte(strings.Repeat("x", 100)), "a newer version": newer, "half": good[:len(good)/2]} {
		if _, err := Open(data); err == nil {
			t.Errorf("%s is opened", what)
		}
	}
	if x, err := Open(Encode(nil)); err != nil || x.Docs() != 0 || x.Lookup("a") != nil || x.Fuzzy("a", 3) != nil || x.Prefix("a", 3) != nil {
		t.Errorf("an empty index: %v", err)
	}
}

// FuzzIndex opens damaged indexes and calls every method.
func FuzzIndex(f *testing.F) {
	var files []Result
	paths, texts, _ := corpus(f, "testdata/forms", ".py .rs")
	for i, p := range paths {
		r, err := Of(p, texts[i])
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, r)
	}
	whole := Encode(files)
	f.Add(whole, 0, byte(0))
	f.Add(Encode(nil), 5, byte(1))
	f.Add(Encode(files[:1]), 60, byte(0x80))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if len(data) > 0 {
			data = slices.Clone(data)
			data[uint(at)%uint(len(data))] ^= flip
		}
		x, err := Open(data)
		if err != nil {
			return
		}
		for doc := range min(x.Docs(), 20) {
			for _, d := range x.Defs(doc) {
				_ = d.FullName()
			}
		}
		x.EachName(func(_ []byte, n Name) bool {
			x.Uses(n)
			return true
		})
		for _, name := range []string{"run", "A", "fmt"} {
			x.Lookup(name)
			x.LookupFold(name)
			x.Refs(name)
			x.Prefix(name, 5)
			for _, n := range x.Fuzzy(name, 5) {
				x.Sites(n)
			}
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	files, size := library(b)
	data := Encode(files)
	x, err := Open(data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Encode(files)
		}
		b.ReportMetric(float64(len(data))/float64(size), "bytes/source")
	})
	b.Run("Lookup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.Lookup("ServeHTTP")
		}
	})
	b.Run("Fuzzy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.Fuzzy("srvhttp", 10)
		}
		b.ReportMetric(float64(x.names), "names")
	})
	b.Run("Defs", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			x.Defs(i % len(files))
			i++
		}
	})
}
