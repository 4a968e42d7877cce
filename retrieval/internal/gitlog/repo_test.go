package gitlog_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("HISTORY_TEST_WRITER"); dir != "" {
		limitFileSize()
		writeForever(dir)
	}
	tier.Main(m)
}

// repo is a real repository.
type repo struct {
	tb  testing.TB
	dir string
	now int64
}

func newRepo(tb testing.TB, initArgs ...string) *repo {
	tb.Helper()
	needGit(tb)
	r := &repo{tb: tb, dir: filepath.Join(tb.TempDir(), "repo"), now: 1_600_000_000}
	if len(initArgs) == 0 {
		emptyRepo.once.Do(func() { emptyRepo.made, emptyRepo.now = readTree(tb, initRepo(tb, r)), r.now })
		return emptyRepo.copy(tb)
	}
	return initRepo(tb, r, initArgs...)
}

func needGit(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not installed")
	}
}

// made is a repository that is created by git once and then copied by tests.
type made struct {
	once sync.Once
	made fstest.MapFS
	now  int64
}

var emptyRepo, threeRepo made

func (m *made) copy(tb testing.TB) *repo {
	tb.Helper()
	if m.made == nil {
		tb.Fatal("the test that was to make this repository failed")
	}
	c := &repo{tb: tb, dir: filepath.Join(tb.TempDir(), "repo"), now: m.now}
	if err := os.CopyFS(c.dir, m.made); err != nil {
		tb.Fatal(err)
	}
	return c
}

// readTree reads a repository into memory.
func readTree(tb testing.TB, r *repo) fstest.MapFS {
	tb.Helper()
	files := fstest.MapFS{}
	err := filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == r.dir {
			return err
		}
		name, _ := filepath.Rel(r.dir, p)
		f := &fstest.MapFile{Mode: d.Type() | 0o755}
		if !d.IsDir() {
			f.Mode = 0o644
			f.Data, err = os.ReadFile(p)
		}
		files[filepath.ToSlash(name)] = f
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func initRepo(tb testing.TB, r *repo, initArgs ...string) *repo {
	tb.Helper()
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	// The default template would write a dozen sample hooks, which costs more than the rest; only
	// its directories are created.
	r.git(append([]string{"init", "-q", "-b", "main", "--template="}, initArgs...)...)
	if _, err := os.Stat(filepath.Join(r.dir, ".git")); err == nil { // in a bare repository they are elsewhere
		for _, name := range []string{"info", "hooks"} {
			if err := os.MkdirAll(filepath.Join(r.dir, ".git", name), 0o755); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return r
}

// copy returns a copy of the repository in its current state.
func (r *repo) copy(tb testing.TB) *repo {
	tb.Helper()
	c := &repo{tb: tb, dir: filepath.Join(tb.TempDir(), "repo"), now: r.now}
	if err := os.CopyFS(c.dir, os.DirFS(r.dir)); err != nil {
		tb.Fatal(err)
	}
	return c
}

// git runs git like a user without any configuration.
func (r *repo) git(args ...string) string {
	r.tb.Helper()
	return r.gitInput(nil, args...)
}

func (r *repo) gitInput(in []byte, args ...string) string {
	r.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	date := fmt.Sprintf("%d +0000", r.now)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date, "GIT_ALLOW_PROTOCOL=file"}
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.tb.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// files maps paths to contents; an empty content removes the file.
type files map[string]string

// commit changes files and returns the hash of the commit, which is dated an hour after the last.
func (r *repo) commit(message string, fs files) string {
	r.tb.Helper()
	r.now += 3600
	for name, content := range fs {
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		if content == "" {
			if err := os.Remove(path); err != nil {
				r.tb.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			r.tb.Fatal(err)
		}
	}
	if len(fs) > 0 {
		r.git("add", "-A")
	}
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.head()
}

// head returns the hash of the last commit. For an ordinary repository it does not run git.
func (r *repo) head() string {
	r.tb.Helper()
	b, _ := os.ReadFile(filepath.Join(r.dir, ".git", "HEAD"))
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); ok {
		if hash, err := os.ReadFile(filepath.Join(r.dir, ".git", filepath.FromSlash(ref))); err == nil {
			return strings.TrimSpace(string(hash))
		}
	}
	return r.git("rev-parse", "HEAD")
}

// line imports n commits, each with one file and an hour after the last. It leaves the work tree
// unchanged.
func (r *repo) line(n int, commit func(i int) (message, file, content string)) {
	r.tb.Helper()
	var in bytes.Buffer
	for i := range n {
		r.now += 3600
		message, file, content := commit(i)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter a <a@a> %d +0000\ndata %d\n%s\n", r.now, len(message)+1, message+"\n")
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", file, len(content), content)
	}
	r.gitInput(in.Bytes(), "fast-import", "--quiet")
}

func open(tb testing.TB, dir string, o gitlog.Options) *gitlog.Log {
	tb.Helper()
	l, err := gitlog.Open(context.Background(), dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// said holds the complete contents of a log, in a form that can be compared.
type said struct {
	State   gitlog.State
	Head    string
	Commits []saidCommit
	Deleted []string
	Found   map[string][]string
}

type saidCommit struct {
	ID, Subject, Body string
	Files             []string
	Changed           int
}

func say(l *gitlog.Log) said {
	s := said{State: l.Status().State, Head: l.Status().Head, Found: map[string][]string{}}
	for _, c := range l.Commits() {
		sc := saidCommit{ID: c.ID, Subject: c.Subject, Body: c.Body, Changed: c.Changed}
		for _, f := range c.Files {
			sc.Files = append(sc.Files, l.Files()[f])
		}
		slices.Sort(sc.Files)
		s.Commits = append(s.Commits, sc)
	}
	for f, gone := range l.Deleted() {
		if gone {
			s.Deleted = append(s.Deleted, l.Files()[f])
		}
	}
	slices.Sort(s.Deleted)
	for _, q := range []string{"alpha beta", "gamma", "delta epsilon zeta alpha"} {
		var found []string
		for _, f := range l.ScoreFiles(gitlog.Words(q), gitlog.Params{}) {
			found = append(found, fmt.Sprintf("%s %.4f", l.Files()[f.File], f.Score))
		}
		slices.Sort(found)
		s.Found[q] = found
	}
	return s
}

var vocabulary = strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu")

// randomHistory imports commits with branches, merges, renames and removals, and returns
// their hashes, oldest first.
func (r *repo) randomHistory(rng *rand.Rand, n int) []string {
	r.tb.Helper()
	var in bytes.Buffer
	trees := make([]map[string]string, n+1) // by commit number: path to content
	trees[0] = map[string]string{}
	heads := []int{}
	for mark := 1; mark <= n; mark++ {
		var parents []int
		if len(heads) > 0 {
			parents = append(parents, heads[rng.IntN(len(heads))])
			if other := heads[rng.IntN(len(heads))]; other != parents[0] && rng.IntN(3) == 0 {
				parents = append(parents, other)
			}
		}
		base := 0
		if len(parents) > 0 {
			base = parents[0]
		}
		tree := map[string]string{}
		for p, c := range trees[base] {
			tree[p] = c
		}
		if len(parents) == 2 {
			for p, c := range trees[parents[1]] {
				tree[p] = c
			}
		}
		for range rng.IntN(4) {
			mutate(rng, tree)
		}
		trees[mark] = tree
		msg := strings.Join([]string{pick(rng), pick(rng), pick(rng)}, " ") + "\n\n" + pick(rng) + " " + pick(rng) + "\n"
		fmt.Fprintf(&in, "commit refs/heads/b%d\nmark :%d\n", mark, mark)
		fmt.Fprintf(&in, "committer a <a@a> %d +0000\ndata %d\n%s\n", r.now+int64(mark*60), len(msg), msg)
		for i, p := range parents {
			fmt.Fprintf(&in, "%s :%d\n", []string{"from", "merge"}[i], p)
		}
		in.WriteString("deleteall\n")
		for _, p := range slices.Sorted(mapsKeys(tree)) {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", p, len(tree[p]), tree[p])
		}
		heads = slices.DeleteFunc(heads, func(h int) bool {
			return slices.Contains(parents, h) && rng.IntN(4) > 0
		})
		heads = append(heads, mark)
	}
	r.gitInput(in.Bytes(), "fast-import", "--quiet", "--export-marks=marks")
	b, err := os.ReadFile(filepath.Join(r.dir, "marks"))
	if err != nil {
		r.tb.Fatal(err)
	}
	out := make([]string, n)
	for line := range strings.Lines(string(b)) {
		var mark int
		var hash string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &hash); err != nil {
			r.tb.Fatal(err)
		}
		out[mark-1] = hash
	}
	return out
}

func mapsKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func pick(rng *rand.Rand) string { return vocabulary[rng.IntN(len(vocabulary))] }

// mutate changes, adds, moves or removes a file.
func mutate(rng *rand.Rand, tree map[string]string) {
	names := slices.Sorted(mapsKeys(tree))
	path := fmt.Sprintf("d%d/%s.go", rng.IntN(3), pick(rng))
	content := fmt.Sprintf("%d %s\n", rng.IntN(1000), pick(rng))
	switch k := rng.IntN(6); {
	case k == 0 && len(names) > 0:
		delete(tree, names[rng.IntN(len(names))])
	case k == 1 && len(names) > 0:
		old := names[rng.IntN(len(names))]
		tree[path] = tree[old]
		if old != path {
			delete(tree, old)
		}
	case k < 4 && len(names) > 0:
		tree[names[rng.IntN(len(names))]] = content
	default:
		tree[path] = content
	}
}
