package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// A box is a tree whose name is the path of another directory. Views wait while it is forked.
type box struct {
	name, id   string
	mu         sync.RWMutex
	root       *os.Root // nil if the box is closed
	generation uint64
}

var errBoxClosed = errors.New("sandbox: the box is closed")

func newBox(t testing.TB, dir, id string) *box {
	t.Helper()
	b := &box{name: t.TempDir(), id: id}
	put(t, b.name, "decoy.go", "package decoy\n\n// Decoy is what nobody may find: retries, flamingo, Dumper.\nfunc Decoy() { Dumper() }\n")
	put(t, b.name, ".gitignore", "*.go\n!decoy.go\n")
	b.replace(t, dir)
	t.Cleanup(b.close)
	return b
}

func (b *box) Name() string { return b.name }
func (b *box) ID() string   { return b.id }
func (b *box) Generation() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.generation
}

func (b *box) View(_ context.Context, do func(*os.Root) error) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.root == nil {
		return errBoxClosed
	}
	return do(b.root)
}

// replace exchanges the tree, as a restore does.
func (b *box) replace(t testing.TB, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.root = root
	b.generation++
}

func (b *box) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root != nil {
		b.root.Close()
		b.root = nil
	}
}

// forks waits for the gate of the box again and again until the test ends. Views that nest would
// wait for ever.
func (b *box) forks(t testing.TB) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			b.mu.Lock()
			b.mu.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Microsecond):
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

func openTree(t testing.TB, tree retrieval.Tree, cfg retrieval.Config) *retrieval.Index {
	t.Helper()
	if cfg.CacheDir == "" {
		cfg.CacheDir = t.TempDir()
	}
	x, err := retrieval.OpenTree(t.Context(), tree, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// everything returns what an index knows of a tree, except for scores.
func everything(t testing.TB, x *retrieval.Index) map[string]any {
	t.Helper()
	allReady(t, x)
	all := map[string]any{"answers": answers(t, x), "exact": exact(t, x)}
	for _, pattern := range []string{`func [A-Z]\w+\(`, "flamingo", "Decoy", `^package `} {
		all["grep "+pattern] = grepped(t, x, retrieval.GrepQuery{Pattern: pattern})
	}
	for _, name := range []string{"Dumper", "Decoder.Decode", "NewReader", "Decoy"} {
		defs, err := x.Definitions(t.Context(), name)
		refs, err2 := x.References(t.Context(), name)
		calls, err3 := x.Callees(t.Context(), name)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		all["symbol "+name] = []any{defs, refs, calls}
	}
	outline, err := x.MapFor(t.Context(), retrieval.MapQuery{Text: "decode hexadecimal text", Tokens: 1500})
	if err != nil {
		t.Fatal(err)
	}
	s := x.Status()
	all["map"], all["skipped"], all["files"], all["bytes"] = outline, s.Skipped, s.Files, s.Bytes
	return all
}

// sameAsPath checks that the index of a tree knows what a new index of its directory does, and
// nothing of the directory at the tree's name.
func sameAsPath(t *testing.T, x *retrieval.Index, dir, when string) {
	t.Helper()
	fresh := open(t, dir, retrieval.Config{})
	defer fresh.Close()
	got := everything(t, x)
	if diff := cmp.Diff(everything(t, fresh), got); diff != "" {
		t.Errorf("%s: not as by path (-path +tree):\n%s", when, short(diff))
	}
	for _, f := range x.Status().Skipped {
		if strings.Contains(f.Path, "decoy") {
			t.Errorf("%s: skipped %q", when, f.Path)
		}
	}
	for _, text := range []string{"Decoy nobody may find", "flamingo"} {
		for _, p := range filesFor(t, x, text) {
			if strings.Contains(p, "decoy") {
				t.Errorf("%s: %q found the directory at the tree's name: %s", when, text, p)
			}
		}
	}
}

// TestTree: the index of a tree that has no path knows what that of its directory does, after edits
// too, and knows nothing of the directory that its name leads to here.
//
// Evidence: retrieval · The index of a sandbox's tree never reads what the tree's name leads to
func TestTree(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	dir := lessGoSource(t, "encoding")
	put(t, dir, ".gitignore", "*.tmp\nhex/\n")
	put(t, dir, "a.tmp", "flamingo\n")
	put(t, dir, "data.bin", "\x00\x01\x02")
	settle()
	b := newBox(t, dir, "origin1")
	b.forks(t)
	x := openTree(t, b, retrieval.Config{})
	sameAsPath(t, x, dir, "at first")

	put(t, dir, "fork.go", animal("flamingo"))
	put(t, dir, "encoding/csv/reader.go", "package csv\n\n// Reader reads pelicans.\ntype Reader struct{}\n")
	if err := os.RemoveAll(filepath.Join(dir, "encoding/gob")); err != nil {
		t.Fatal(err)
	}
	if err := x.Update(t.Context(), "fork.go", filepath.Join(b.name, "encoding/csv/reader.go"), "encoding/gob"); err != nil {
		t.Fatal(err)
	}
	if got := grepped(t, x, retrieval.GrepQuery{Pattern: "flamingo|pelicans"}); len(got) < 2 {
		t.Errorf("after an update: %q", got)
	}
	settle()
	put(t, dir, ".gitignore", "*.tmp\n")
	if err := x.Update(t.Context(), ".gitignore"); err != nil {
		t.Fatal(err)
	}
	if got, want := exact(t, x), exact(t, open(t, dir, retrieval.Config{})); !cmp.Equal(got, want) {
		t.Errorf("after updates:\n%s", cmp.Diff(want, got))
	}
	if err := x.Update(t.Context(), dir); err == nil {
		t.Error("a path of this machine is taken for one of the tree")
	}
	if err := x.Update(t.Context(), "../decoy.go"); err == nil {
		t.Error("a path outside of the tree is taken")
	}
}

// TestTreeWhileMade: until the index is ready, the files are read through the tree, too.
func TestTreeWhileMade(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := tree(t, map[string]string{"zoo/flamingo.go": animal("flamingo"), "zoo/crane.go": animal("crane")})
	b := newBox(t, dir, "origin1")
	stop := make(chan struct{})
	cfg := retrieval.Config{CacheDir: t.TempDir(), Background: true, Progress: func(p retrieval.Progress) {
		if p.Stage == "index" {
			<-stop
		}
	}}
	x, err := retrieval.OpenTree(t.Context(), b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	defer sync.OnceFunc(func() { close(stop) })()
	if got := filesFor(t, x, "flamingo"); !cmp.Equal(got, []string{"zoo/flamingo.go"}) {
		t.Errorf("found %q", got)
	}
	if got := grepped(t, x, retrieval.GrepQuery{Pattern: "flamingo|Decoy"}); len(got) == 0 || strings.Contains(strings.Join(got, ""), "decoy") {
		t.Errorf("matched %q", got)
	}
}

// TestTreeReplaced: a tree that was forked or replaced is compared with its index before the next
// answer.
func TestTreeReplaced(t *testing.T) {
	agenttest.CheckLeaks(t)
	old := tree(t, map[string]string{"zoo/crane.go": animal("crane"), "zoo/both.go": animal("heron")})
	next := tree(t, map[string]string{"zoo/flamingo.go": animal("flamingo"), "zoo/both.go": animal("egret")})
	type ask func(*testing.T, *retrieval.Index) []string
	for name, found := range map[string]ask{
		"search": func(t *testing.T, x *retrieval.Index) []string { return filesFor(t, x, "flamingo egret crane heron") },
		"grep": func(t *testing.T, x *retrieval.Index) []string {
			return grepped(t, x, retrieval.GrepQuery{Pattern: "flamingo|egret|crane|heron"})
		},
		"map": func(t *testing.T, x *retrieval.Index) []string {
			m, err := x.Map(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return []string{m}
		},
		"outline": func(t *testing.T, x *retrieval.Index) []string {
			s, err := x.Outline(t.Context(), "zoo/flamingo.go")
			if err != nil || len(s) == 0 {
				t.Fatal(s, err)
			}
			return nil
		},
		"update": func(t *testing.T, x *retrieval.Index) []string {
			if err := x.Update(t.Context(), "unrelated"); err != nil {
				t.Fatal(err)
			}
			return exact(t, x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, old, "origin1")
			x := openTree(t, b, retrieval.Config{})
			allReady(t, x)
			b.replace(t, next)
			want := open(t, next, retrieval.Config{})
			if diff := cmp.Diff(found(t, want), found(t, x)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTreeRefused: an index whose tree can no longer be opened says so, keeps what it knows, and
// can be closed.
func TestTreeRefused(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := tree(t, map[string]string{"zoo/crane.go": animal("crane"), "zoo/heron.go": animal("heron")})
	b, cache := newBox(t, dir, "origin1"), t.TempDir()
	x := openTree(t, b, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	b.close()
	_, err := x.Search(t.Context(), retrieval.Query{Text: "crane"})
	var grepErrs []error
	for _, err := range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: "crane"}) {
		grepErrs = append(grepErrs, err)
	}
	if len(grepErrs) != 1 {
		t.Errorf("grep: %v", grepErrs)
	}
	_, err2 := x.Definitions(t.Context(), "Crane")
	_, err3 := x.Map(t.Context(), 100)
	for i, err := range append(grepErrs, err, err2, err3, x.Update(t.Context()), x.Update(t.Context(), "zoo/crane.go")) {
		if !errors.Is(err, errBoxClosed) || !strings.HasPrefix(err.Error(), "retrieval: ") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if l := layerNamed(t, x.Status(), "index"); l.Files != 2 {
		t.Errorf("the index of a tree that is closed lost files: %+v", l)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "crane"}); !errors.Is(err, retrieval.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := retrieval.OpenTree(t.Context(), b, retrieval.Config{CacheDir: cache}); !errors.Is(err, errBoxClosed) {
		t.Errorf("%v", err)
	}
	b.replace(t, dir) // and it closes while it is indexed
	cfg := retrieval.Config{CacheDir: t.TempDir(), Progress: func(p retrieval.Progress) {
		if p.Stage == "index" {
			b.close()
		}
	}}
	if _, err := retrieval.OpenTree(t.Context(), b, cfg); !errors.Is(err, errBoxClosed) {
		t.Errorf("a tree that closed meanwhile is taken for an empty one: %v", err)
	}
	b.id = ""
	if _, err := retrieval.OpenTree(t.Context(), b, retrieval.Config{CacheDir: cache}); err == nil {
		t.Error("a tree without an ID is indexed")
	}
}

// TestTreeHistory: the log of a tree comes from the repository that the host names, never from the
// one that commands can write.
func TestTreeHistory(t *testing.T) {
	repo := makeLampRepo(t)
	b := newBox(t, repo, "origin1")
	x := openTree(t, b, retrieval.Config{})
	if s := x.Status(); s.Commits != 0 || !strings.Contains(s.History, "GitDir") {
		t.Errorf("%d commits, %s", s.Commits, s.History)
	}
	cache := t.TempDir()
	y := openTree(t, b, retrieval.Config{CacheDir: cache, GitDir: filepath.Join(repo, ".git")})
	want := open(t, repo, retrieval.Config{}).Status().Commits
	if s := y.Status(); s.Commits != want || want == 0 {
		t.Errorf("%d commits of %d, %s", s.Commits, want, s.History)
	}
	fork := newBox(t, repo, "origin1.a")
	z := openTree(t, fork, retrieval.Config{CacheDir: cache, GitDir: filepath.Join(repo, ".git")})
	if s := z.Status(); s.Commits != want {
		t.Errorf("%d commits of %d, %s", s.Commits, want, s.History)
	}
}

// TestTreeForkVectors: a fork has the vectors of its origin, and embeds only what changed.
func TestTreeForkVectors(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("other%d.go", i)] = fmt.Sprintf("package p\n\n// other is number %d of nothing.\nfunc other%d() {}\n", i, i)
	}
	dir, cache := tree(t, files), t.TempDir()
	var texts atomic.Int64
	cfg := retrieval.Config{CacheDir: cache, Embedder: concepts(t, &texts)}
	var stored atomic.Bool // all vectors of the origin
	cfg.Progress = func(p retrieval.Progress) {
		if p.Stage == "embed" && p.TotalFiles > 20 && // chunks, not files
			p.Files == p.TotalFiles {
			stored.Store(true)
		}
	}
	embedded := func(id string, done func(*retrieval.Index) bool) int {
		x := openTree(t, newBox(t, dir, id), cfg)
		eventually(t, "all vectors", func() bool { return done(x) })
		x.Close()
		return int(texts.Swap(0))
	}
	all := embedded("origin1", func(*retrieval.Index) bool { return stored.Load() })
	if all < 20 {
		t.Errorf("%d texts of the origin", all)
	}
	put(t, dir, "car.go", "package p\n\n// park puts the car away.\nfunc park() {}\n")
	byMeaning := func(x *retrieval.Index) bool { return first(t, x, "automobile") == "car.go" }
	if n := embedded("origin1.a", byMeaning); n < 1 || n > all/10 {
		t.Errorf("%d texts of the fork, which has one more file than the origin with %d", n, all)
	}
}

// TestTreesOfOneCache: trees have indexes by their IDs, none of them that of a directory.
func TestTreesOfOneCache(t *testing.T) {
	cache := t.TempDir()
	one := tree(t, map[string]string{"crane.go": animal("crane")})
	two := tree(t, map[string]string{"heron.go": animal("heron")})
	for i, id := range []string{"origin1", "origin2", one, "../../x", strings.Repeat("long.", 1000), strings.Repeat("long.", 1001)} {
		dir, want := one, "crane.go"
		if i%2 == 1 {
			dir, want = two, "heron.go"
		}
		x := openTree(t, newBox(t, dir, id), retrieval.Config{CacheDir: cache})
		if got := filesFor(t, x, "crane heron"); !cmp.Equal(got, []string{want}) {
			t.Errorf("%.20s: found %q", id, got)
		}
		if l := layerNamed(t, x.Status(), "index"); l.InMemory != "" || filepath.Dir(x.Status().CacheDir) != cache {
			t.Errorf("%.20s: %s, %+v", id, x.Status().CacheDir, l)
		}
	}
	x := open(t, one, retrieval.Config{CacheDir: cache})
	if got := x.Status().CacheDir; !strings.HasPrefix(filepath.Base(got), filepath.Base(one)+"-") {
		t.Errorf("home %s", got)
	}
}

// TestCacheInTree: the directory of indexes is not indexed if it lies in the tree.
func TestCacheInTree(t *testing.T) {
	dir := tree(t, map[string]string{"crane.go": animal("crane")})
	for name, cache := range map[string]string{"below": filepath.Join(dir, "cache dir"), "top": dir} {
		b := newBox(t, dir, "origin1")
		x := openTree(t, b, retrieval.Config{CacheDir: cache})
		allReady(t, x)
		if err := x.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := x.Status(); s.Files != 1 || name == "below" && len(s.Skipped) != 0 {
			t.Errorf("%s: %d files, %v", name, s.Files, s.Skipped)
		}
		x.Close()
		os.RemoveAll(x.Status().CacheDir)
		os.RemoveAll(filepath.Join(dir, "cache dir"))
	}
}

// TestTreeTogether: searches, updates and forks of one tree at the same time.
func TestTreeTogether(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := tree(t, map[string]string{"zoo/crane.go": animal("crane"), "zoo/heron.go": animal("heron")})
	other := tree(t, map[string]string{"zoo/crane.go": animal("crane"), "zoo/heron.go": animal("egret")})
	b := newBox(t, dir, "origin1")
	b.forks(t)
	x := openTree(t, b, retrieval.Config{Watch: true})
	if s := x.Status(); !strings.Contains(s.Watch, "scanned") {
		t.Errorf("watch %q", s.Watch)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 10 {
				if got := filesFor(t, x, "crane"); len(got) == 0 {
					t.Error("nothing found")
				}
				for _, err := range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: "crane"}) {
					if err != nil {
						t.Error(err)
					}
				}
				if err := x.Update(t.Context(), "zoo/heron.go"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			root, err := os.OpenRoot(other)
			if err != nil {
				t.Error(err)
				return
			}
			b.mu.Lock()
			b.root.Close()
			b.root, b.generation = root, b.generation+1
			b.mu.Unlock()
		}
	})
	wg.Wait()
	asFresh(t, x, other, "after forks", "egret", "crane")
}
