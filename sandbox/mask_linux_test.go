package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// belowPrivate makes a private directory below /opt, which commands see as a whole, with files.
func belowPrivate(t *testing.T, owner int, mode os.FileMode) string {
	t.Helper()
	private, err := os.MkdirTemp("/opt", "luthier-test-")
	if err != nil {
		t.Skipf("/opt cannot be written: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(private) })
	write(t, private, "secret", "secret\n")
	write(t, private, "a/project/f", "content\n")
	write(t, private, "a/project/deep/g", "")
	write(t, private, "a/other/h", "other\n")
	write(t, private, "a/file", "file\n")
	if os.Geteuid() == 0 {
		err := filepath.WalkDir(private, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, owner, owner)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(private, mode); err != nil {
		t.Fatal(err)
	}
	return private
}

// openAnyway is open, but the place is no reason to skip the test.
func openAnyway(t *testing.T, cfg Config) Sandbox {
	t.Helper()
	open(t, Config{})
	sb, err := Local(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	return sb
}

// TestBelowPrivateDirectory: a workspace and further places work below a directory of the system
// that only its owner may pass, and nothing else of that directory is seen.
//
// Evidence: sandbox · A workspace below a private directory in /opt works
func TestBelowPrivateDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		owner int
		mode  os.FileMode
	}{{0, 0o700}, {0, 0o750}, {4242, 0o700}, {0, 0o755}} {
		private := belowPrivate(t, c.owner, c.mode)
		project := private + "/a/project"
		all := Config{ReadOnly: []string{private + "/a/file"}, Writable: []string{private + "/a/other"}}
		place, snap, copied := all, all, Config{Snapshot: SnapshotDir(project), Limits: Limits{Disk: 32 << 20}}
		place.Dir, snap.Snapshot = project, SnapshotDir(project)
		for _, cfg := range []Config{place, snap, copied} {
			sb := openAnyway(t, cfg)
			got := sh(t, sb, "cat f; cat "+project+"/f; echo new > "+project+"/deep/n; cd "+project+"/deep && cat ../deep/n && pwd")
			if want := "content\ncontent\nnew\n" + project + "/deep\n"; got != want {
				t.Errorf("mode %o: got %q, want %q", c.mode, got, want)
			}
			if cfg.ReadOnly != nil {
				if got := sh(t, sb, "cat ../file; echo more >> ../other/h; tail -1 ../other/h; if echo x > ../file; then echo written; fi 2>/dev/null"); got != "file\nmore\n" {
					t.Errorf("mode %o: places beside it: %q", c.mode, got)
				}
			}
			if c.mode.Perm()&1 != 0 {
				continue
			}
			left := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "cat " + private + "/secret; touch " + private + "/x " + private + "/a/x; ls " + private}})
			if out := left.Stdout.String(); os.Geteuid() == 0 && out != "a\n" {
				t.Errorf("mode %o: seen above the workspace: %q", c.mode, out)
			}
			if strings.Contains(left.Stdout.String(), "secret") && os.Geteuid() == 0 {
				t.Errorf("mode %o: the private directory is read", c.mode)
			}
		}
		if text := read(t, filepath.Join(project, "deep/n")); text != "new\n" {
			t.Errorf("in place wrote %q", text)
		}
		for _, name := range []string{"x", "a/x"} {
			if _, err := os.Lstat(filepath.Join(private, name)); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
}

// TestForkBelowPrivateDirectory: so do forks and sandboxes that are kept ready.
func TestForkBelowPrivateDirectory(t *testing.T) {
	tier.Normal(t)
	project := belowPrivate(t, 0, 0o700) + "/a/project"
	sb := openAnyway(t, Config{Snapshot: SnapshotDir(project)})
	sh(t, sb, "echo changed > f")
	fork, err := sb.(Forker).Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if got := sh(t, fork, "cat "+project+"/f"); got != "changed\n" {
		t.Errorf("a fork reads %q", got)
	}
	pool := newPool(t, PoolConfig{Warm: 1})
	for range 2 {
		lease := get(t, pool, SnapshotDir(project))
		if got := sh(t, lease, "cat "+project+"/f; echo x > "+project+"/deep/x; ls deep"); got != "content\ng\nx\n" {
			t.Errorf("a lease reads %q", got)
		}
		if err := lease.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestToolchainBelowPrivateDirectory: a tool chain there is granted as anywhere else.
func TestToolchainBelowPrivateDirectory(t *testing.T) {
	private := belowPrivate(t, 0, 0o700)
	t.Setenv("VIRTUAL_ENV", private+"/a/other")
	sb := openAnyway(t, Config{Dir: t.TempDir()})
	if got := sh(t, sb, "cat "+private+"/a/other/h"); got != "other\n" {
		t.Errorf("got %q", got)
	}
}

// TestForeignDirectoryInWorkspace: a directory of another user in a workspace in place does not
// keep the sandbox from opening, even with a repository in it; commands can neither read it nor put
// another in its place.
func TestForeignDirectoryInWorkspace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	dir := belowPrivate(t, 4242, 0o755) + "/a/project"
	write(t, dir, "own/.git/config", "[core]\n")
	write(t, dir, "own/sub/.git/config", "[core]\n")
	if err := os.Chmod(dir+"/own", 0o700); err != nil {
		t.Fatal(err)
	}
	sb := openAnyway(t, Config{Dir: dir})
	if got := sh(t, sb, "cat own/.git/config 2>/dev/null || echo refused; mv own away 2>/dev/null || echo stays; echo x > f"); got != "refused\nstays\n" {
		t.Errorf("got %q", got)
	}
}

const sanitized = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *p) { return p; }
int main(int argc, char **argv) {
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
	char *p = malloc(10);
	p[argc > 1 ? 10 : 0] = 'x';
	printf("%c\n", p[0]);
	free(p);
	return 0;
}
`

// TestSanitizers: programs built with sanitizers run, and find faults. A program does so even if it
// is run with options of its own. A limit of all memory does not keep them from starting.
//
// Evidence: sandbox · Programs built with the address and thread sanitizers run inside
func TestSanitizers(t *testing.T) {
	tier.Normal(t)
	need(t, "gcc")
	dir := t.TempDir()
	write(t, dir, "a.c", sanitized)
	var built []string
	for _, kind := range []string{"address", "thread", "leak", "undefined"} {
		cmd := exec.Command("gcc", "-g", "-fsanitize="+kind, "a.c", "-o", kind, "-lpthread")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("gcc cannot build with the %s sanitizer: %s", kind, out)
			continue
		}
		if exec.Command(filepath.Join(dir, kind)).Run() == nil { // some kernels do not suit some versions
			built = append(built, kind)
		}
	}
	isolated(t, func(t *testing.T, cfg Config) {
		cfg.Snapshot, cfg.Limits = SnapshotDir(dir), Limits{MemoryTotal: 2 << 30}
		sb := open(t, cfg)
		noted(t, sb)
		for _, kind := range built {
			if got := sh(t, sb, "./"+kind+" 2>&1; ASAN_OPTIONS=halt_on_error=1:detect_leaks=1 ./"+kind+" 2>&1"); got != "x\nx\n" {
				t.Errorf("%s: %q", kind, got)
			}
			if kind != "address" {
				continue
			}
			exit := mustExec(t, sb, Cmd{Args: []string{"./address", "beyond"}})
			if exit.Success() || !strings.Contains(exit.Stderr.String(), "heap-buffer-overflow") {
				t.Errorf("the fault is not found: %v, %s", exit, exit.Stderr)
			}
		}
	})
}

// TestLeakOptionsOfTheHost: the host's own options win.
func TestLeakOptionsOfTheHost(t *testing.T) {
	t.Setenv("LSAN_OPTIONS", "verbosity=1")
	for want, cfg := range map[string]Config{"detect_leaks=0": {}, "verbosity=1": {PassEnv: []string{"LSAN_OPTIONS"}}, "x=1": {Env: []string{"LSAN_OPTIONS=x=1"}}} {
		if got := sh(t, open(t, cfg), "echo $LSAN_OPTIONS"); got != want+"\n" {
			t.Errorf("LSAN_OPTIONS is %q, want %q", got, want)
		}
	}
	if os.Getenv("LSAN_OPTIONS") != "verbosity=1" {
		t.Error("the host's variable was changed")
	}
}
