package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// animal returns the text of a file about one subject.
func animal(name string) string {
	return fmt.Sprintf("package p\n\n// %s lives here.\nfunc %s() {}\n", name, strings.ToUpper(name[:1])+name[1:])
}

// TestUpdateOfEverything changes a tree in all possible ways and updates the index after each.
//
// Evidence: retrieval · Updates reach the index
func TestUpdateOfEverything(t *testing.T) {
	tier.Normal(t)
	dir := tree(t, map[string]string{"a/one.go": animal("alpaca"), "a/two.go": animal("bison"), "b/deep/er/three.go": animal("cheetah"), "four.go": animal("dingo")})
	x := open(t, dir, retrieval.Config{})
	plain := open(t, dir, retrieval.Config{WordsOnly: true})
	allReady(t, x)
	move := func(from, to string) {
		t.Helper()
		to = filepath.Join(dir, to)
		os.MkdirAll(filepath.Dir(to), 0o755)
		if err := os.Rename(filepath.Join(dir, from), to); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		name   string
		change func()
		tell   []string
		where  map[string]string // word to the only file that has it, "" for none
	}{
		{"a new file", func() { put(t, dir, "new/x.go", animal("emu")) }, []string{"new/x.go"}, map[string]string{"emu": "new/x.go"}},
		{"a new directory", func() { put(t, dir, "c/d/e/f.go", animal("falcon")) }, []string{"c"}, map[string]string{"falcon": "c/d/e/f.go"}},
		{"a changed file", func() { put(t, dir, "four.go", animal("gibbon")) }, []string{"four.go"}, map[string]string{"gibbon": "four.go", "dingo": ""}},
		{"the same size", func() { put(t, dir, "four.go", animal("possum")) }, []string{"four.go"}, map[string]string{"possum": "four.go", "gibbon": ""}},
		{"a renamed file", func() { move("four.go", "five.go") }, []string{"four.go", "five.go"}, map[string]string{"possum": "five.go"}},
		{"a renamed directory", func() { move("b", "bb/cc") }, []string{"b", "bb"}, map[string]string{"cheetah": "bb/cc/deep/er/three.go"}},
		{"files that change places", func() { move("a/one.go", "a/tmp"); move("a/two.go", "a/one.go"); move("a/tmp", "a/two.go") }, []string{"a/one.go", "a/two.go"}, map[string]string{"alpaca": "a/two.go", "bison": "a/one.go"}},
		{"a removed directory", func() { os.RemoveAll(filepath.Join(dir, "a")) }, []string{"a"}, map[string]string{"alpaca": "", "bison": ""}},
		{"a file where a directory was", func() { put(t, dir, "a", animal("hippo")) }, []string{"a"}, map[string]string{"hippo": "a"}},
		{"a directory where a file was", func() { os.Remove(filepath.Join(dir, "a")); put(t, dir, "a/b.go", animal("ibis")) }, []string{"a"}, map[string]string{"hippo": "", "ibis": "a/b.go"}},
		{"an absolute path", func() { put(t, dir, "abs.go", animal("jaguar")) }, []string{filepath.Join(dir, "abs.go")}, map[string]string{"jaguar": "abs.go"}},
		{"a path not clean", func() { put(t, dir, "uc.go", animal("koala")) }, []string{"./a/..//uc.go"}, map[string]string{"koala": "uc.go"}},
		{"what never was", func() {}, []string{"never", "ne/ver.go"}, map[string]string{"koala": "uc.go"}},
		{"ignore rules", func() { put(t, dir, ".gitignore", "c/\nuc.go\n") }, []string{".gitignore"}, map[string]string{"koala": "", "falcon": "", "jaguar": "abs.go"}},
		{"an ignored file", func() { put(t, dir, "uc.go", animal("lemur")) }, []string{"uc.go"}, map[string]string{"lemur": ""}},
		{"other ignore rules", func() { put(t, dir, ".gitignore", "abs.go\n") }, []string{".gitignore"}, map[string]string{"lemur": "uc.go", "falcon": "c/d/e/f.go", "jaguar": ""}},
		{"rules further down", func() { put(t, dir, "bb/.gitignore", "*.go\n") }, []string{"bb/.gitignore"}, map[string]string{"cheetah": ""}},
		{"no rules", func() { os.Remove(filepath.Join(dir, ".gitignore")); os.Remove(filepath.Join(dir, "bb/.gitignore")) }, []string{".gitignore", "bb/.gitignore"}, map[string]string{"cheetah": "bb/cc/deep/er/three.go", "jaguar": "abs.go"}},
		{"a file grown too large", func() { put(t, dir, "abs.go", animal("jaguar")+strings.Repeat("// more\n", 200_000)) }, []string{"abs.go"}, map[string]string{"jaguar": ""}},
		{"a file that became binary", func() { put(t, dir, "uc.go", animal("lemur")+strings.Repeat("\x00", 1000)) }, []string{"uc.go"}, map[string]string{"lemur": ""}},
		{"an empty file", func() { put(t, dir, "uc.go", "") }, []string{"uc.go"}, map[string]string{"lemur": ""}},
		{"everything", func() { put(t, dir, "z.go", animal("zebra")); os.Remove(filepath.Join(dir, "a/b.go")) }, nil, map[string]string{"zebra": "z.go", "ibis": ""}},
		{"the root", func() { put(t, dir, "y.go", animal("yak")) }, []string{"."}, map[string]string{"yak": "y.go", "zebra": "z.go"}},
	} {
		step.change()
		if err := x.Update(t.Context(), step.tell...); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for word, want := range step.where {
			var wants []string
			if want != "" {
				wants = []string{want}
			}
			if got := filesFor(t, x, word); !slices.Equal(got, wants) {
				t.Errorf("%s: %s is in %q, want %q", step.name, word, got, wants)
			}
			var lines []string
			for _, l := range grepped(t, x, retrieval.GrepQuery{Pattern: word + " lives"}) {
				lines = append(lines, strings.TrimSuffix(l, ":3"))
			}
			if !slices.Equal(lines, wants) {
				t.Errorf("%s: grep finds %s in %q, want %q", step.name, word, lines, wants)
			}
			defs, err := x.Definitions(t.Context(), strings.ToUpper(word[:1])+word[1:])
			var in []string
			for _, d := range defs {
				in = append(in, d.Path)
			}
			if want == "a" {
				in = wants // there is no language of that name
			}
			if err != nil || !slices.Equal(in, wants) {
				t.Errorf("%s: %s is defined in %q, want %q; %v", step.name, word, in, wants, err)
			}
		}
		if i%tier.Pick(3, 1, 1) != 0 { // building a fresh index is the most expensive part
			if err := plain.Update(t.Context(), step.tell...); err != nil {
				t.Fatal(err)
			}
			continue
		}
		nearFresh(t, x, dir, step.name, "lives here")
		// Status and the search of lines without an index know about it too.
		if err := plain.Update(t.Context(), step.tell...); err != nil {
			t.Fatal(err)
		}
		scan := open(t, dir, retrieval.Config{WordsOnly: true})
		want, got := scan.Status(), plain.Status()
		if want.Files != got.Files || want.Bytes != got.Bytes || !slices.Equal(want.Skipped, got.Skipped) || layerNamed(t, got, "index").Files != want.Files {
			t.Errorf("%s: status is\n%v%v\nnot\n%v%v", step.name, got, got.Skipped, want, want.Skipped)
		}
		all := retrieval.GrepQuery{Pattern: "lives here"}
		if a, b := grepped(t, scan, all), grepped(t, plain, all); !slices.Equal(a, b) {
			t.Errorf("%s: grep without an index finds %v, not %v", step.name, b, a)
		}
		scan.Close()
	}
	if s := x.Status(); layerNamed(t, s, "index").Files != layerNamed(t, s, "trigrams").Files {
		t.Errorf("layers differ:\n%v", s)
	}
}

// TestUpdateReadsNewCommits checks that an update of the whole tree reads the git log again.
func TestUpdateReadsNewCommits(t *testing.T) {
	t.Parallel()
	dir := lampRepo(t)
	x := open(t, dir, retrieval.Config{})
	put(t, dir, "one.go", "package p\n\nfunc alpha() { println() }\n")
	git(t, dir, "commit", "-qam", "Grease the rusty hinge of the gate")
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := x.Status(); s.Commits != 4 {
		t.Errorf("%d commits\n%v", s.Commits, s)
	}
	if got := first(t, x, "the rusty hinge squeaks"); got != "one.go" {
		t.Errorf("by the new commit found %q", got)
	}
}

// TestUpdateCancelled cancels updates early: what was found before is still found, and the next
// update is complete.
func TestUpdateCancelled(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := lessGoSource(t, "encoding")
	x := open(t, dir, retrieval.Config{})
	allReady(t, x)
	want := answers(t, x)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Update(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled update: %v", err)
	}
	if err := x.Update(ctx, "encoding.go"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled update of a file: %v", err)
	}
	if got := answers(t, x); len(got) != len(want) {
		t.Errorf("after a cancelled update %d of %d queries have answers", len(got), len(want))
	}
	n := tier.Pick(8, 12, 30)
	for i := range n {
		put(t, dir, fmt.Sprintf("encoding/n%d.go", i), animal("narwhal"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*30*time.Millisecond/time.Duration(n))
		x.Update(ctx)
		cancel()
		answers(t, x)
	}
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := grepped(t, x, retrieval.GrepQuery{Pattern: "narwhal lives"}); len(got) != n {
		t.Errorf("found %d files", len(got))
	}
	for _, l := range x.Status().Layers {
		if l.Err != nil || !l.Ready {
			t.Errorf("%+v", l)
		}
	}
	nearFresh(t, x, dir, "after cancelled updates")
}

// TestOpenCancelled cancels the first indexing of a large tree at several moments. The cache it
// leaves is useful: the next Open is correct, and reuses the finished part.
func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	dir := lessGoSource(t, tier.Pick([]string{"encoding", "net"}, []string{"encoding", "net", "go"}, []string{"encoding", "net", "go", "crypto"})...)
	cache := t.TempDir()
	ended := 0
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache})
		cancel()
		if err != nil {
			ended++
			if !errors.Is(err, context.DeadlineExceeded) || x != nil {
				t.Errorf("after %v: %v, %v", after, x, err)
			}
			continue
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if ended == 0 {
		t.Error("none of them was cut off")
	}
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	asFresh(t, x, dir, "after cut off openings")
	for _, l := range x.Status().Layers {
		if l.Rebuilt != "" || l.InMemory != "" || l.Err != nil {
			t.Errorf("%+v", l)
		}
	}
}

// TestWatch checks that the index finds changes by itself.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	x := open(t, dir, retrieval.Config{Watch: true})
	if s := x.Status(); s.Watch != "on" {
		t.Errorf("watch is %q", s.Watch)
	}
	is := func(what string, is func() bool) {
		t.Helper()
		start := time.Now()
		eventually(t, what, is)
		t.Logf("%s: after %v", what, time.Since(start).Round(time.Millisecond))
	}
	found := func(word string) []string { return filesFor(t, x, word) }
	put(t, dir, "zoo/okapi.go", animal("okapi"))
	is("a new directory is found", func() bool { return slices.Equal(found("okapi"), []string{"zoo/okapi.go"}) })
	put(t, dir, "zoo/okapi.go", animal("puma"))
	is("a change is found", func() bool { return slices.Equal(found("puma"), []string{"zoo/okapi.go"}) })
	if err := os.Rename(filepath.Join(dir, "zoo"), filepath.Join(dir, "park")); err != nil {
		t.Fatal(err)
	}
	is("a renamed directory is found", func() bool { return slices.Equal(found("puma"), []string{"park/okapi.go"}) })
	put(t, dir, "park/quokka.go", animal("quokka"))
	is("a file in it is found", func() bool { return slices.Equal(found("quokka"), []string{"park/quokka.go"}) })
	put(t, dir, ".gitignore", "park/\n")
	is("what is ignored now is gone", func() bool { return len(found("quokka")) == 0 && len(found("puma")) == 0 })
	put(t, dir, ".gitignore", "")
	is("what is ignored no more is back", func() bool { return len(found("quokka")) == 1 })
	// An editor saves by renaming.
	put(t, dir, "park/.tmp", animal("raccoon"))
	if err := os.Rename(filepath.Join(dir, "park/.tmp"), filepath.Join(dir, "park/quokka.go")); err != nil {
		t.Fatal(err)
	}
	is("a file saved by a rename is found", func() bool { return slices.Equal(found("raccoon"), []string{"park/quokka.go"}) })
	os.RemoveAll(filepath.Join(dir, "park"))
	is("what is removed is gone", func() bool { return layerNamed(t, x.Status(), "index").Files == len(shop)+1 })
}

// TestWatchTreeMadeAgain removes a watched tree and creates it again, both at once and after a
// while. Status must report while the tree is not watched, and later changes must be found.
func TestWatchTreeMadeAgain(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tree")
	put(t, dir, "old.go", animal("auk"))
	x := open(t, dir, retrieval.Config{Watch: true})
	pauses := []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond}
	for i, pause := range tier.Pick(pauses[2:], pauses, pauses) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		if pause > 2*time.Second {
			eventually(t, "a tree that is gone is watched no more", func() bool { return x.Status().Watch != "on" })
		}
		put(t, dir, "new.go", animal("bear"))
		eventually(t, "the new tree is indexed", func() bool { return layerNamed(t, x.Status(), "index").Files == 1 && len(filesFor(t, x, "bear")) == 1 })
		time.Sleep(1500 * time.Millisecond)
		put(t, dir, "later.go", animal("civet"))
		eventually(t, "it is watched", func() bool { return len(filesFor(t, x, "civet")) == 1 })
		eventually(t, fmt.Sprintf("watch %d is on", i), func() bool { return x.Status().Watch == "on" })
	}
}

// TestWatchFlood makes thousands of changes at once, while searches run.
//
// Evidence: retrieval · Updates reach the index
func TestWatchFlood(t *testing.T) {
	n := tier.Pick(300, 1500, 6000)
	dir := tree(t, shop)
	x := open(t, dir, retrieval.Config{Watch: true})
	start := time.Now()
	for i := range n {
		put(t, dir, fmt.Sprintf("w%d/x%d/f%d.go", i%13, i%7, i), fmt.Sprintf("package p\n\n// Walrus%d swims.\nfunc Walrus%d() {}\n", i, i))
		if i%3 == 0 {
			put(t, dir, fmt.Sprintf("w%d/x%d/f%d.go", i%13, i%7, i), fmt.Sprintf("package p\n\n// Walrus%d dives.\nfunc Walrus%d() {}\n", i, i))
		}
		if i%10 == 1 {
			os.Remove(filepath.Join(dir, fmt.Sprintf("w%d/x%d/f%d.go", (i-1)%13, (i-1)%7, i-1)))
		}
		if i%500 == 0 {
			first(t, x, "walrus")
		}
	}
	want := len(shop) + n - n/10
	eventually(t, "all are indexed", func() bool { return layerNamed(t, x.Status(), "index").Files == want })
	t.Logf("%d files written, rewritten and removed: right after %v\n%v", n, time.Since(start), x.Status())
	eventually(t, "symbols too", func() bool { return layerNamed(t, x.Status(), "symbols").Files == want })
	nearFresh(t, x, dir, "after a flood", "walrus dives", fmt.Sprintf("Walrus%d", n-1), "Walrus5")
}

// TestEditsDuringSync changes files while the whole tree is indexed. After one more update the
// answers equal those of a fresh index.
func TestEditsDuringSync(t *testing.T) {
	tier.Normal(t)
	dir := goSource(t, tier.Pick([]string{"encoding"}, []string{"encoding", "net"}, []string{"encoding", "net"})...)
	stop := make(chan struct{})
	var edits atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("encoding/edit%d.go", r.IntN(50))
			if r.IntN(4) == 0 {
				os.Remove(filepath.Join(dir, name))
			} else {
				put(t, dir, name, animal("tapir")+strings.Repeat("// padding\n", r.IntN(100)))
			}
			edits.Add(1)
		}
	})
	cache := t.TempDir()
	for range tier.Pick(2, 3, 3) {
		x := open(t, dir, retrieval.Config{CacheDir: cache})
		for range tier.Pick(3, 5, 5) {
			if err := x.Update(t.Context()); err != nil {
				t.Error(err)
			}
			filesFor(t, x, "tapir")
		}
		x.Close()
	}
	close(stop)
	wg.Wait()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	nearFresh(t, x, dir, fmt.Sprintf("after %d edits", edits.Load()), append(tenQueries, "tapir")...)
	var onDisk []string
	names, _ := filepath.Glob(filepath.Join(dir, "encoding/edit*.go"))
	for _, n := range names {
		onDisk = append(onDisk, "encoding/"+filepath.Base(n))
	}
	var got []string
	for _, l := range grepped(t, x, retrieval.GrepQuery{Pattern: "tapir lives"}) {
		got = append(got, strings.TrimSuffix(l, ":3"))
	}
	if !slices.Equal(got, onDisk) {
		t.Errorf("found %v of %v", got, onDisk)
	}
}

// TestManyAtOnce searches, updates, and asks for symbols, lines and maps from many goroutines.
//
// Evidence: retrieval · Searches and updates run at the same time
func TestManyAtOnce(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := goSource(t, "encoding")
	x := open(t, dir, retrieval.Config{Watch: true, Background: true})
	ctx, cancel := context.WithTimeout(t.Context(), tier.Pick(400*time.Millisecond, 1*time.Second, 3*time.Second))
	defer cancel()
	fail := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	var wg sync.WaitGroup
	var done atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				done.Add(1)
				switch (g + i) % 8 {
				case 0:
					name := fmt.Sprintf("encoding/g%d.go", g)
					put(t, dir, name, animal("ocelot")+strings.Repeat("//\n", i%50))
					fail("update", x.Update(ctx, name))
				case 1:
					if i%20 == 1 {
						fail("scan", x.Update(ctx))
					}
				case 2:
					for _, err := range x.Grep(ctx, retrieval.GrepQuery{Pattern: "func New", Limit: 20}) {
						fail("grep", err)
					}
				case 3:
					_, err := x.Definitions(ctx, "NewDecoder")
					fail("definitions", err)
				case 4:
					_, err := x.MapFor(ctx, retrieval.MapQuery{Tokens: 300, Text: "base64"})
					fail("map", err)
				case 5:
					_ = x.Status().String()
				default:
					hits, err := x.Search(ctx, retrieval.Query{Text: tenQueries[i%len(tenQueries)]})
					fail("search", err)
					if err == nil && len(hits) == 0 {
						t.Errorf("%q finds nothing", tenQueries[i%len(tenQueries)])
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls", done.Load())
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	nearFresh(t, x, dir, "after many at once")
}

// TestCloseDuringEverything closes an index while all parts of it are in use. Every running call
// ends, with an answer or with ErrClosed; goleak looks for leaked goroutines.
func TestCloseDuringEverything(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := goSource(t, "encoding")
	cache := t.TempDir()
	for round := range tier.Pick(3, 6, 12) {
		x, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: cache, Watch: true, Background: round%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		ok := func(what string, err error) {
			if err != nil && !errors.Is(err, retrieval.ErrClosed) && !strings.Contains(err.Error(), "closed") && !errors.Is(err, context.Canceled) {
				t.Errorf("%s beside Close: %v", what, err)
			}
		}
		var wg sync.WaitGroup
		stop := make(chan struct{})
		each := func(what string, call func() error) {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						ok(what, call())
					}
				}
			})
		}
		ctx := t.Context()
		each("search", func() error { _, err := x.Search(ctx, retrieval.Query{Text: tenQueries[0]}); return err })
		each("update", func() error {
			put(t, dir, "encoding/u.go", animal("vole"))
			return x.Update(ctx, "encoding/u.go")
		})
		each("scan", func() error { return x.Update(ctx) })
		each("map", func() error { _, err := x.Map(ctx, 200); return err })
		each("definitions", func() error { _, err := x.Definitions(ctx, "Encode"); return err })
		each("grep", func() error {
			for _, err := range x.Grep(ctx, retrieval.GrepQuery{Pattern: "Marshal"}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		each("status", func() error { _ = x.Status().String(); return nil })
		time.Sleep(time.Duration(round) * tier.Pick(60*time.Millisecond, 30*time.Millisecond, 15*time.Millisecond))
		var closing sync.WaitGroup
		for range 3 {
			closing.Go(func() {
				if err := x.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		closing.Wait()
		time.Sleep(5 * time.Millisecond)
		close(stop)
		wg.Wait()
		for what, err := range map[string]error{
			"update": x.Update(ctx), "search": func() error { _, err := x.Search(ctx, retrieval.Query{Text: "x"}); return err }(),
			"map":         func() error { _, err := x.Map(ctx, 100); return err }(),
			"definitions": func() error { _, err := x.Definitions(ctx, "x"); return err }(),
		} {
			if !errors.Is(err, retrieval.ErrClosed) {
				t.Errorf("%s after Close: %v", what, err)
			}
		}
	}
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	nearFresh(t, x, dir, "after all these closings")
}
