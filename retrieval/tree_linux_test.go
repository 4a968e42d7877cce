package retrieval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// overlay mounts a fork of a directory, whose changes lie elsewhere.
func overlay(t testing.TB, lower string) string {
	t.Helper()
	at, changes := t.TempDir(), t.TempDir()
	for _, d := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(changes, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", lower, changes, changes)
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		t.Skip("no overlay can be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

// progress records the last number of files of each stage.
type progress struct {
	mu    sync.Mutex
	total map[string][]int
}

func (p *progress) tell(now retrieval.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == nil {
		p.total = map[string][]int{}
	}
	if l := p.total[now.Stage]; len(l) == 0 || l[len(l)-1] != now.TotalFiles {
		p.total[now.Stage] = append(l, now.TotalFiles)
	}
}

// TestTreeFork: the index of a fork begins with that of its origin, found by the ID or named by the
// host, and reads only the files that changed.
//
// Evidence: retrieval · The index of a sandbox's fork reads only the files that the fork changed
func TestTreeFork(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	dir, cache := goSource(t, "encoding"), t.TempDir()
	origin := newBox(t, dir, "origin1")
	byPath := t.TempDir()
	indexes := []*retrieval.Index{openTree(t, origin, retrieval.Config{CacheDir: cache}), open(t, dir, retrieval.Config{CacheDir: byPath})}
	for _, f := range goFiles(t, filepath.Join(dir, "encoding", "json")) { // their newer times are recorded
		if err := os.Chtimes(f, time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	for _, x := range indexes {
		allReady(t, x)
		if err := x.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	fork := overlay(t, dir)
	put(t, fork, "encoding/fork.go", animal("flamingo"))
	put(t, fork, "encoding/csv/reader.go", "package csv\n\n// Reader was rewritten, it reads pelicans.\ntype Reader struct{}\n")
	if err := os.Remove(filepath.Join(fork, "encoding/hex/hex.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(fork, "encoding/json/decode.go"), 0o755); err != nil { // copied up, with the same content
		t.Fatal(err)
	}
	settle()
	for name, c := range map[string]struct {
		id  string
		cfg retrieval.Config
	}{
		"by the ID":             {"origin1.a", retrieval.Config{CacheDir: cache}},
		"of a fork":             {"origin1.b.c", retrieval.Config{CacheDir: cache, Base: filepath.Join(dir, "nowhere")}},
		"of a directory":        {"elsewhere.a", retrieval.Config{CacheDir: byPath, Base: dir}},
		"of a fork of a fork":   {"origin1.a.d", retrieval.Config{CacheDir: cache}},
		"reopened with changes": {"origin1.a", retrieval.Config{CacheDir: cache}},
		"for a while":           {"origin1.e", retrieval.Config{CacheDir: cache, Temporary: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var p progress
			c.cfg.Progress = p.tell
			x := openTree(t, newBox(t, fork, c.id), c.cfg)
			allReady(t, x)
			if c.cfg.Temporary {
				defer x.Close()
			}
			for _, l := range x.Status().Layers {
				if l.Rebuilt != "" || l.InMemory != "" || l.Err != nil || l.Files != x.Status().Files {
					t.Errorf("%+v, of %d files", l, x.Status().Files)
				}
				p.mu.Lock()
				for _, n := range p.total[l.Name] {
					if n > 3 {
						t.Errorf("%s: %v files are read, not only those that differ", l.Name, p.total[l.Name])
					}
				}
				p.mu.Unlock()
			}
			if name == "by the ID" {
				nearFresh(t, x, fork, name, append(tenQueries, "flamingo", "pelicans reader")...)
			}
			if got := filesFor(t, x, "flamingo"); !slices.Equal(got, []string{"encoding/fork.go"}) {
				t.Errorf("found %q", got)
			}
			if d, err := x.Definitions(t.Context(), "Dumper"); err != nil || len(d) != 0 {
				t.Errorf("what the fork lacks is defined: %v, %v", d, err)
			}
		})
	}
	homes, err := filepath.Glob(filepath.Join(cache, "tree-*"))
	if err != nil || len(homes) != 4 { // of the origin and of three forks
		t.Errorf("homes %q, %v", homes, err)
	}
	x := openTree(t, origin, retrieval.Config{CacheDir: cache})
	asFresh(t, x, dir, "the origin of forks")
}

// TestTreeHostile: FIFOs, links out of the tree and huge sparse files neither stop the index of a
// tree nor lead out of it, even if they take the place of a file while it is read.
func TestTreeHostile(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := tree(t, map[string]string{"crane.go": animal("crane"), "sub/heron.go": animal("heron"), "swap.go": animal("egret")})
	outside := tree(t, map[string]string{"secret.go": animal("basilisk"), ".gitignore": "*\n"})
	for name, err := range map[string]error{
		"fifo":    unix.Mkfifo(filepath.Join(dir, "fifo.go"), 0o644),
		"rules":   unix.Mkfifo(filepath.Join(dir, "sub", ".gitignore"), 0o644),
		"link":    os.Symlink(filepath.Join(outside, "secret.go"), filepath.Join(dir, "link.go")),
		"dots":    os.Symlink("../../../../../../../../../.."+outside, filepath.Join(dir, "dots")),
		"proc":    os.Symlink("/proc/self/root", filepath.Join(dir, "root")),
		"ignore":  os.Symlink(filepath.Join(outside, ".gitignore"), filepath.Join(dir, ".gitignore")),
		"loop":    os.Symlink("loop", filepath.Join(dir, "loop")),
		"git":     os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+outside+"\n"), 0o644),
		"gitfifo": unix.Mkfifo(filepath.Join(dir, "CACHEDIR.TAG"), 0o644),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	for _, name := range []string{"sparse.go", "sub/sparse.bin"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(1 << 40); err != nil {
			t.Logf("a smaller sparse file: %v", err)
			err = f.Truncate(1 << 33)
			if err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
	settle()
	x := openTree(t, newBox(t, dir, "origin1"), retrieval.Config{})
	allReady(t, x)
	check := func() {
		t.Helper()
		for _, p := range filesFor(t, x, "basilisk") {
			t.Errorf("found %s", p)
		}
		if got := grepped(t, x, retrieval.GrepQuery{Pattern: "basilisk"}); len(got) != 0 {
			t.Errorf("matched %q", got)
		}
		if got := filesFor(t, x, "crane heron"); len(got) != 2 {
			t.Errorf("found %q", got)
		}
	}
	check()
	for path, why := range map[string]string{"fifo.go": "special file", "link.go": "symbolic link", "dots": "symbolic link", "sparse.go": "too large"} {
		if got := skipped(x.Status(), path); got != why {
			t.Errorf("%s is skipped as %q, not %q", path, got, why)
		}
	}
	regulartest.Flip(t, filepath.Join(dir, "swap.go"))
	regulartest.Within(t, func() {
		for range tier.Pick(30, 100, 1000) {
			if err := x.Update(t.Context(), "swap.go", "link.go", "root/etc/passwd", "dots/secret.go"); err != nil {
				t.Error(err)
			}
			_, err := x.Search(t.Context(), retrieval.Query{Text: "egret"})
			if err != nil {
				t.Error(err)
			}
			for range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: "egret"}) {
			}
		}
	})
	check()
}

// TestTreeKeepsNothingOpen: between its calls, an index holds no descriptor of a tree, which would
// keep the file system of a box in use.
func TestTreeKeepsNothingOpen(t *testing.T) {
	dir := tree(t, map[string]string{"crane.go": animal("crane")})
	at := overlay(t, dir)
	b := newBox(t, at, "origin1")
	x := openTree(t, b, retrieval.Config{})
	allReady(t, x)
	if got := filesFor(t, x, "crane"); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	b.close()
	if err := unix.Unmount(at, 0); err != nil {
		t.Errorf("the tree is still in use: %v", err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil && err != syscall.EPERM { // for the cleanup
		t.Fatal(err)
	}
}

// BenchmarkTreeFork measures the first search on a fork of 5,000 files, or of as many as
// LUTHIER_FILES says, of which a few changed, as a share of the first search without any index.
func BenchmarkTreeFork(b *testing.B) {
	dir := b.TempDir()
	source := goRoot(b)
	all := append(goFiles(b, filepath.Join(source, "src")), goFiles(b, filepath.Join(source, "test"))...)
	most := 5000
	if n, err := strconv.Atoi(os.Getenv("LUTHIER_FILES")); err == nil {
		most = n
	}
	for n := range most {
		f := all[n%len(all)]
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		rel, _ := filepath.Rel(source, f)
		if round := n / len(all); round > 0 {
			rel, text = filepath.Join(fmt.Sprint("again", round), rel), fmt.Appendf(text, "\n// copy %d\n", round)
		}
		put(b, dir, rel, string(text))
	}
	settle()
	cache := b.TempDir()
	cfg := retrieval.Config{CacheDir: cache, NoHistory: true}
	allReady(b, openTree(b, newBox(b, dir, "origin1"), cfg))
	fork := overlay(b, dir)
	for i := range 5 {
		put(b, fork, fmt.Sprintf("src/fork%d.go", i), animal("flamingo"))
	}
	name := filepath.Join(fork, "src", "net", "http", "server.go")
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	put(b, fork, "src/net/http/server.go", string(text)+"\n// changed\n")
	settle()
	search := func(b *testing.B, id string, cfg retrieval.Config) (took time.Duration, files int) {
		tree := newBox(b, fork, id)
		began := time.Now()
		x, err := retrieval.OpenTree(b.Context(), tree, cfg)
		if err != nil {
			b.Fatal(err)
		}
		if hits, err := x.Search(b.Context(), retrieval.Query{Text: "flamingo"}); err != nil || len(hits) == 0 {
			b.Fatal(hits, err)
		}
		took = time.Since(began)
		files = x.Status().Files
		allReady(b, x)
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		return took, files
	}
	var full, first time.Duration
	files := 0
	for i := 0; b.Loop(); i++ {
		took, n := search(b, fmt.Sprintf("other%d", i), retrieval.Config{CacheDir: b.TempDir(), NoHistory: true})
		full += took
		took, files = search(b, fmt.Sprintf("origin1.%d", i), cfg)
		first += took
		if n != files {
			b.Fatalf("%d files, %d in the fork", n, files)
		}
	}
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(full.Seconds()*1000/float64(b.N), "full-ms")
	b.ReportMetric(first.Seconds()*1000/float64(b.N), "fork-ms")
	b.ReportMetric(first.Seconds()/full.Seconds(), "fork/full")
}

// goFiles lists the Go files below a directory.
func goFiles(t testing.TB, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".go") && !strings.Contains(p, "/testdata/") {
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
