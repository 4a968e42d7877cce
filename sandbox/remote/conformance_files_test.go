package remote

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
)

func checkFiles(t *testing.T, open opener) {
	dir := workspace(t)
	old := time.Unix(1_000_000_000, 0)
	odd := filepath.Join(dir, "odd \\ \xff")
	if err := errors.Join(os.WriteFile(odd, []byte("odd\n"), 0o640), os.Chmod(odd, 0o640), os.Chmod(filepath.Join(dir, "empty"), 0o600),
		os.Chmod(filepath.Join(dir, "sub"), 0o750), os.Chtimes(filepath.Join(dir, "a.txt"), old, old), os.Chtimes(filepath.Join(dir, "sub"), old, old)); err != nil {
		t.Fatal(err)
	}
	sb := open(t, dir)
	got := sh(t, sb, `stat -c '%a %Y' a.txt sub; stat -c %a empty run.sh odd*; cat odd*`).Stdout.String()
	if want := "644 1000000000\n750 1000000000\n600\n755\n640\nodd\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c := changed(t, sb); len(c) > 0 {
		t.Errorf("nothing was done, but changed is %v", c)
	}
}

func changed(t *testing.T, sb sandbox.Sandbox) map[string]string {
	t.Helper()
	list, err := sb.(sandbox.Differ).Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(list, func(a, b sandbox.Change) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("changes are not in order: %v", list)
	}
	out := map[string]string{}
	for _, c := range list {
		out[c.Path] = string(c.Kind) + " " + c.Mode.String()
	}
	return out
}

// change is a script that makes every kind of change to the files of workspace.
const change = `set -e; umask 022; echo more >> a.txt; rm sub/b.txt; mkdir -p n/deep; echo new > n/deep/f; chmod 711 run.sh; chmod 700 n
rm link; ln -s n/deep link; rm empty; mkdir empty; echo in > empty/in; printf 'a\0b' > bin; echo odd > "$(printf 'odd \377')"; chmod 600 sub/copy.txt`

var changeKinds = map[string]string{"a.txt": "modified -rw-r--r--", "sub/b.txt": "deleted -rw-r--r--", "n": "added drwx------", "n/deep": "added drwxr-xr-x",
	"n/deep/f": "added -rw-r--r--", "run.sh": "modified -rwx--x--x", "link": "modified Lrwxrwxrwx", "empty": "modified drwxr-xr-x", "empty/in": "added -rw-r--r--",
	"bin": "added -rw-r--r--", "odd \xff": "added -rw-r--r--", "sub/copy.txt": "modified -rw-------"}

func checkChanges(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	if e := sh(t, sb, change); e.Code != 0 {
		t.Fatalf("%v %s", e, e.Stderr)
	}
	got := changed(t, sb)
	if d := cmp.Diff(changeKinds, got); d != "" {
		t.Error(d)
	}
}

func checkDiff(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	sh(t, sb, "echo more >> a.txt; rm sub/b.txt; printf 'a\\0b' > bin")
	var b bytes.Buffer
	if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtSnapshot, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+++ b/a.txt\n@@ -1 +1,2 @@\n text a\n+more\n", "deleted file mode 100644", "Binary files /dev/null and b/bin differ\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
	forked(t, sb)
	sh(t, sb, "echo later > later")
	b.Reset()
	if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtFork, &b); err != nil || strings.Count(b.String(), "diff --git") != 1 || !strings.Contains(b.String(), "+later\n") {
		t.Errorf("since the fork: %v %q", err, b.String())
	}
	full := errors.New("full")
	if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtSnapshot, failing{full}); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func checkReview(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	sh(t, sb, "mkdir -p .git/hooks; echo x > .git/hooks/post-commit; ln -s /etc/passwd out; ln -s ../.. up; echo fine > fine; mkfifo pipe")
	r, err := sb.(sandbox.Reviewer).Review(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sandbox.Rule{}
	for _, f := range r.Refused() {
		got[f.Path] = f.Rule
	}
	want := map[string]sandbox.Rule{".git/hooks/post-commit": sandbox.RuleGitHook, "out": sandbox.RuleLinkEscape, "up": sandbox.RuleLinkEscape, "pipe": sandbox.RuleSpecial}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(r.Changes) < 6 {
		t.Errorf("changes: %v", r.Changes)
	}
}

// listing returns the content of a directory: permissions and content of each path.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := fi.Mode().String()
		switch {
		case fi.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			text += " " + target
		case fi.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		rel, _ := filepath.Rel(dir, p)
		out[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkExport(t *testing.T, open opener) {
	dir, other := workspace(t), workspace(t)
	for _, d := range []string{dir, other} { // files that the command does not touch must stay unchanged
		if err := errors.Join(os.Chmod(filepath.Join(d, "sub"), 0o710), os.WriteFile(filepath.Join(d, "own"), []byte("own"), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	sb := open(t, dir)
	sh(t, sb, change)
	before := listing(t, dir)
	sh(t, sb, "mkfifo pipe; ln -s /etc/hosts out")
	var refused *sandbox.ReviewError
	if r, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{}); !errors.As(err, &refused) || len(refused.Findings) != 2 || r == nil || len(r.Changes) < 10 {
		t.Fatalf("a link that leads out: %v, %+v", err, r)
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("refused, but: %s", d)
	}
	allow := func(f sandbox.Finding) bool { return f.Path == "out" || f.Path == "pipe" }
	for _, to := range []string{other, "", other} { // applying twice has the same result as applying once
		if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: to, Allow: allow}); err != nil {
			t.Fatalf("to %q: %v", to, err)
		}
	}
	want := map[string]string{"a.txt": "-rw-r--r-- text a\nmore\n", "n": "drwx------", "n/deep": "drwxr-xr-x", "n/deep/f": "-rw-r--r-- new\n", "run.sh": "-rwx--x--x #!/bin/sh\necho ran \"$@\"\n",
		"link": "Lrwxrwxrwx n/deep", "empty": "drwxr-xr-x", "empty/in": "-rw-r--r-- in\n", "bin": "-rw-r--r-- a\x00b", "odd \xff": "-rw-r--r-- odd\n", "sub": "drwx--x---",
		"sub/copy.txt": "-rw------- text a\n", "out": "Lrwxrwxrwx /etc/hosts", "own": "-rw-r----- own"}
	for _, d := range []string{dir, other} {
		if d := cmp.Diff(want, listing(t, d)); d != "" {
			t.Error(d)
		}
	}
}

func checkPatch(t *testing.T, open opener) {
	dir := workspace(t)
	sb := open(t, dir)
	sh(t, sb, "echo more >> a.txt; printf 'a\\0b' > bin; ln -s /etc/hosts out")
	before := listing(t, dir)
	var b bytes.Buffer
	var refused *sandbox.ReviewError
	if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Patch: &b}); !errors.As(err, &refused) || b.Len() > 0 {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
	sh(t, sb, "rm out")
	if r, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Patch: &b}); err != nil || len(r.Changes) != 2 || !strings.Contains(b.String(), "GIT binary patch") {
		t.Errorf("%v, %+v, %q", err, r, b.String())
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("a patch was asked for, but: %s", d)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, &b
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v %s", err, out)
	}
	if got := listing(t, dir); got["a.txt"] != "-rw-r--r-- text a\nmore\n" || got["bin"] != "-rw-r--r-- a\x00b" {
		t.Errorf("patched: %v", got)
	}
}

func checkConflict(t *testing.T, open opener) {
	for name, meddle := range map[string]func(dir string) error{
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("mine\n"), 0o644) },
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), []byte("mine\n"), 0o644) },
		"deleted": func(dir string) error { return os.Remove(filepath.Join(dir, "a.txt")) },
		"replaced": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a.txt")), os.Symlink("link", filepath.Join(dir, "a.txt")))
		},
	} {
		dir, other := workspace(t), workspace(t)
		sb := open(t, dir)
		sh(t, sb, "echo theirs > a.txt; echo theirs > new; echo too > sub/b.txt")
		if err := meddle(other); err != nil {
			t.Fatal(err)
		}
		before := listing(t, other)
		if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: other}); !errors.Is(err, sandbox.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
		if d := cmp.Diff(before, listing(t, other)); d != "" {
			t.Errorf("%s: a conflict, but: %s", name, d)
		}
	}
	// A directory on the way that has been replaced by a symbolic link is not followed.
	dir, other, outside := workspace(t), workspace(t), t.TempDir()
	sb := open(t, dir)
	sh(t, sb, "echo theirs > sub/new")
	if err := errors.Join(os.RemoveAll(filepath.Join(other, "sub")), os.Symlink(outside, filepath.Join(other, "sub"))); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: other}); err == nil {
		t.Error("exported through a link")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("written outside: %v %v", left, err)
	}
}

// forked opens a fork and closes it when the test ends.
func forked(t *testing.T, sb sandbox.Sandbox) sandbox.Sandbox {
	t.Helper()
	out, err := sb.(sandbox.Forker).Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Errorf("close fork: %v", err)
		}
	})
	return out
}

func checkFork(t *testing.T, open opener) {
	dir := workspace(t)
	a := open(t, dir)
	sh(t, a, "echo 1 > new; rm sub/b.txt")
	b := forked(t, a)
	sh(t, a, "echo a > new")
	sh(t, b, "echo b > only")
	c := forked(t, b)
	if err := a.Close(); err != nil { // the original may be closed before its forks
		t.Error(err)
	}
	for sb, want := range map[sandbox.Sandbox]string{b: "1\na.txt empty link new only run.sh sub\n", c: "1\na.txt empty link new only run.sh sub\n"} {
		if got := sh(t, sb, "cat new; echo $(ls)").Stdout.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if d := cmp.Diff(map[string]string{"new": "added -rw-r--r--", "only": "added -rw-r--r--", "sub/b.txt": "deleted -rw-r--r--"}, changed(t, c)); d != "" {
		t.Error(d)
	}
	if _, err := c.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := listing(t, dir); got["new"] != "-rw-r--r-- 1\n" || got["only"] != "-rw-r--r-- b\n" || got["sub/b.txt"] != "" {
		t.Errorf("exported: %v", got)
	}
}

func checkDryRun(t *testing.T, open opener) {
	dir := workspace(t)
	sb := open(t, dir)
	sh(t, sb, "echo 1 > before")
	try := func(script string) *sandbox.Trial {
		t.Helper()
		trial, err := sb.(sandbox.DryRunner).DryRun(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", script}, Stdin: strings.NewReader("in\n")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := trial.Drop(); err != nil {
				t.Error(err)
			}
		})
		return trial
	}
	trial := try("cat; cat before; echo 2 > a.txt; rm sub/b.txt; ln -s /etc/passwd out; exit 3")
	if trial.Exit.Code != 3 || trial.Exit.Stdout.String() != "in\n1\n" {
		t.Errorf("%v %q", trial.Exit, trial.Exit.Stdout)
	}
	want := []sandbox.Change{{Path: "a.txt", Kind: sandbox.Modified, Mode: 0o644}, {Path: "out", Kind: sandbox.Added, Mode: fs.ModeSymlink | 0o777}, {Path: "sub/b.txt", Kind: sandbox.Deleted, Mode: 0o644}}
	if d := cmp.Diff(want, trial.Changes); d != "" {
		t.Error(d)
	}
	var diff strings.Builder
	if err := trial.Diff(t.Context(), &diff); err != nil || !strings.Contains(diff.String(), "-text a\n+2\n") || strings.Contains(diff.String(), "before") {
		t.Errorf("%v\n%s", err, &diff)
	}
	if r, err := trial.Review(t.Context()); err != nil || len(r.Changes) != 3 || len(r.Refused()) != 1 || r.Refused()[0].Path != "out" {
		t.Errorf("review %+v, %v", r, err)
	}
	if got := sh(t, sb, "cat a.txt; ls").Stdout.String(); strings.HasPrefix(got, "2") || strings.Contains(got, "out") {
		t.Errorf("before the commit: %q", got)
	}
	for _, err := range []error{trial.Commit(t.Context(), nil), trial.Drop()} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := sh(t, sb, "cat before a.txt; ls sub out").Stdout.String(); !strings.HasPrefix(got, "1\n2\n") || !strings.Contains(got, "out") || strings.Contains(got, "b.txt") {
		t.Errorf("after the commit: %q", got)
	}
	if err := trial.Commit(t.Context(), nil); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("committed twice: %v", err)
	}
	if err := try("echo 3 > a.txt").Drop(); err != nil {
		t.Error(err)
	}
	late := try("echo 4 > a.txt")
	sh(t, sb, "echo mine > a.txt")
	if err := late.Commit(t.Context(), nil); !errors.Is(err, sandbox.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	if got := sh(t, sb, "cat a.txt").Stdout.String(); got != "mine\n" {
		t.Errorf("after a conflict: %q", got)
	}
	if _, err := sb.(sandbox.DryRunner).DryRun(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
	if got := listing(t, dir); got["before"] != "" {
		t.Errorf("the original has %v", got)
	}
}

// checkAdopt checks that a sandbox can adopt the best of several attempts.
func checkAdopt(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	a := sb.(sandbox.Adopter)
	sh(t, sb, "echo 0 > n")
	one, two := forked(t, sb), forked(t, sb)
	sh(t, one, "echo 1 > n; echo > one")
	sh(t, two, "echo 2 > n; rm a.txt")
	if c, err := two.(sandbox.Adopter).ChangesSince(t.Context(), sandbox.AtFork); err != nil || len(c) != 2 || c[0].Kind != sandbox.Deleted || c[1].Kind != sandbox.Modified {
		t.Errorf("%v, %v", c, err)
	}
	p, err := two.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Adopt(t.Context(), two); !errors.Is(err, sandbox.ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	_, _ = p.Wait()
	if err := a.Adopt(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, sb, "cat n; echo $(ls)").Stdout.String(); got != "2\nempty link n run.sh sub\n" {
		t.Errorf("got %q", got)
	}
	if d := cmp.Diff(map[string]string{"a.txt": "deleted -rw-r--r--", "n": "added -rw-r--r--"}, changed(t, sb)); d != "" {
		t.Error(d)
	}
	if _, err := two.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("an adopted fork goes on: %v", err)
	}
	if err := a.Adopt(t.Context(), one); !errors.Is(err, sandbox.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	sh(t, one, "test -e one") // the fork lost nothing by that
	if err := a.Adopt(t.Context(), two); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
	m, ok := sandbox.As[sandbox.Merger](sb)
	if !ok {
		t.Fatal("no merger")
	}
	fork := func() sandbox.Sandbox {
		f, err := a.Fork(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	side, three := fork(), fork()
	sh(t, side, "echo side >side")
	sh(t, three, "echo 3 >n")
	sh(t, sb, "echo 4 >n")
	if err := m.Merge(t.Context(), side); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, sb, "cat n side").Stdout.String(); got != "4\nside\n" {
		t.Errorf("merged %q", got)
	}
	if err := m.Merge(t.Context(), three); !errors.Is(err, sandbox.ErrConflict) || !strings.Contains(err.Error(), `"n"`) {
		t.Errorf("%v, want ErrConflict that names n", err)
	}
	for what, none := range map[string]sandbox.Sandbox{"itself": sb, "a stranger": open(t, t.TempDir())} {
		if err := m.Merge(t.Context(), none); err == nil {
			t.Errorf("it merged %s", what)
		}
		if err := a.Adopt(t.Context(), none); err == nil {
			t.Errorf("it adopted %s", what)
		}
	}
}

func checkRestore(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	r := sb.(sandbox.Restorer)
	sh(t, sb, "echo 1 > new; rm a.txt")
	forked(t, sb)
	sh(t, sb, "echo 2 > new; echo 3 > other")
	if err := r.Restore(t.Context(), sandbox.AtFork); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, sb, "cat new; echo $(ls)").Stdout.String(); got != "1\nempty link new run.sh sub\n" {
		t.Errorf("at the fork: %q", got)
	}
	for range 2 { // restoring twice has the same result as restoring once
		if err := r.Restore(t.Context(), sandbox.AtSnapshot); err != nil {
			t.Fatal(err)
		}
	}
	if got := changed(t, sb); len(got) > 0 {
		t.Errorf("at the snapshot: %v", got)
	}
	if err := r.Restore(t.Context(), 7); err == nil {
		t.Error("a point that is none was gone back to")
	}
}

func checkBusy(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sb.(sandbox.Forker).Fork(t.Context())
	_, exportErr := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: t.TempDir()})
	_, patchErr := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Patch: io.Discard})
	for what, err := range map[string]error{"fork": err, "restore": sb.(sandbox.Restorer).Restore(t.Context(), sandbox.AtSnapshot), "export": exportErr, "patch": patchErr} {
		if !errors.Is(err, sandbox.ErrBusy) {
			t.Errorf("%s while a command runs: %v, want ErrBusy", what, err)
		}
	}
	_ = p.CloseStdin()
	if e, err := p.Wait(); err != nil || !e.Success() {
		t.Errorf("%v %v", e, err)
	}
	forked(t, sb)
}
