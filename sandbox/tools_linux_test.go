package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// python skips the test if the sandbox cannot see the host's python3.
func python(t testing.TB, sb Sandbox) {
	t.Helper()
	need(t, "python3")
	exit, err := sb.Exec(t.Context(), Cmd{Args: []string{"python3", "-c", ""}})
	if err != nil || !exit.Success() {
		t.Skipf("python3 is not to be had inside: %v %v", exit, err)
	}
}

// Evidence: sandbox · go, git, python, node, make and cargo work inside
func TestGoBuildAndTestInside(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "go")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/m\n\ngo 1.26\n\nrequire github.com/google/go-cmp v0.7.0\n")
	for _, name := range []string{"go.sum"} {
		write(t, dir, name, read(t, filepath.Join(root, name)))
	}
	write(t, dir, "main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/google/go-cmp/cmp\"\n)\n\nfunc main() { fmt.Println(cmp.Equal(1, 1)) }\n")
	write(t, dir, "main_test.go", `package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil || r.StatusCode != 404 {
		t.Fatal(r, err)
	}
}
`)
	cfgs := []Config{{Dir: dir}, {Snapshot: SnapshotDir(dir)}}
	for _, cfg := range tier.Pick(cfgs[1:], cfgs, cfgs) {
		sb := open(t, cfg)
		if got := sh(t, sb, "CGO_ENABLED=0 go build -o prog . && ./prog"); got != "true\n" {
			t.Errorf("built program says %q", got)
		}
		if got := sh(t, sb, "go test ./..."); !strings.HasPrefix(got, "ok") {
			t.Errorf("go test: %s", got)
		}
		if got := sh(t, sb, "go vet ./... 2>&1"); got != "" {
			t.Errorf("go vet: %s", got)
		}
	}
}

func TestGitInside(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "git")
	dir := t.TempDir()
	write(t, dir, "a.txt", "one\n")
	script := `git init -q -b main . && git config user.email a@b && git config user.name n &&
git add . && git commit -qm first && echo two >> a.txt && git diff --stat && git commit -qam second && git log --oneline | wc -l &&
git checkout -qb side HEAD~1 && git status --short && git merge -q main && git worktree add -q ../wt && git gc -q && git fsck`
	for _, cfg := range []Config{{Dir: dir}, {Snapshot: SnapshotDir(dir)}} {
		sb := open(t, cfg)
		script := script
		if cfg.Dir == "" { // the first run left a repository
			script = "git log --oneline | wc -l && echo three >> a.txt && git commit -qam third && git log --oneline | wc -l"
		}
		sh(t, sb, strings.ReplaceAll(script, "../wt", "/tmp/wt"))
	}
	// Git accepts the repository as owned by the host's user, not as dubious.
	out, err := exec.Command("git", "-C", dir, "log", "--oneline").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("on the host: %v %s", err, out)
	}
}

func TestPythonInside(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, Config{})
	python(t, sb)
	got := sh(t, sb, `cat > p.py <<'E'
import multiprocessing, subprocess, tempfile, socket, sqlite3, getpass, os, pty, threading
def f(x): return x * x
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p: print(p.map(f, [1, 2, 3]))
    print(subprocess.run(['echo', 'sub'], capture_output=True).stdout)
    with tempfile.NamedTemporaryFile() as t: t.write(b'x')
    a, b = socket.socketpair(); a.send(b'q'); print(b.recv(1))
    sqlite3.connect('db').execute('create table t (x)')
    print(getpass.getuser(), os.path.expanduser('~'))
    pid, fd = pty.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0); print('pty')
    t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()
E
python3 p.py`)
	want := "[1, 4, 9]\nb'sub\\n'\nb'q'\nsandbox /home/sandbox\npty\nthread\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNodeAndMakeInside(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, Config{})
	t.Run("node", func(t *testing.T) {
		need(t, "node")
		got := sh(t, sb, `cat > s.js <<'E'
const http = require('http'), { execSync } = require('child_process'), { Worker } = require('worker_threads');
const s = http.createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', () =>
  http.get({ port: s.address().port, host: '127.0.0.1' }, r => r.on('data', d => {
    console.log(String(d), String(execSync('echo child')).trim());
    new Worker('console.log("worker")', { eval: true }).on('exit', () => s.close());
  })));
E
node s.js`)
		if got != "served child\nworker\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("make", func(t *testing.T) {
		need(t, "make")
		need(t, "cc")
		got := sh(t, sb, `printf '#include <stdio.h>\nint main(){puts("made");}\n' > m.c && printf 'all: m\n\t./m\nm: m.c\n\t@cc -o m m.c\n' > Makefile && make -s -j2`)
		if got != "made\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("npm", func(t *testing.T) {
		need(t, "npm")
		got := sh(t, sb, `echo '{"name":"x","version":"1.0.0","scripts":{"hi":"echo from-npm"}}' > package.json && npm run -s hi`)
		if got != "from-npm\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("cargo", func(t *testing.T) {
		need(t, "cargo")
		if exit := mustExec(t, sb, Cmd{Args: []string{"cargo", "--version"}}); !exit.Success() {
			t.Skipf("cargo is not set up on this host: %s", exit.Stderr)
		}
		sh(t, sb, `mkdir -p crate/src && cd crate && printf '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml && echo 'fn main() { println!("hi") }' > src/main.rs && cargo run -q`)
	})
}

// TestBuildCacheIsPrivate checks that what a build leaves in the cache stays in the sandbox.
func TestBuildCacheIsPrivate(t *testing.T) {
	need(t, "go")
	cache := t.TempDir()
	write(t, cache, "00/marker", "host")
	t.Setenv("GOCACHE", cache)
	sb := open(t, Config{})
	got := sh(t, sb, `cat $GOCACHE/00/marker && echo poison > $GOCACHE/00/marker && echo new > $GOCACHE/00/other && cat $GOCACHE/00/marker`)
	if got != "hostpoison\n" {
		t.Errorf("inside: %q", got)
	}
	if read(t, filepath.Join(cache, "00/marker")) != "host" {
		t.Error("the host's cache was changed")
	}
	if _, err := os.Stat(filepath.Join(cache, "00/other")); err == nil {
		t.Error("the host's cache got a new file")
	}
}

// TestRustupHome checks that rustup finds the directory that it makes at every start, whether the
// host has it or not, in a home and in a directory of the system, with and without mounts.
func TestRustupHome(t *testing.T) {
	system, err := os.MkdirTemp("/opt", "luthier-test-")
	if err == nil {
		defer os.RemoveAll(system)
		err = os.Chmod(system, 0o755)
	}
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Dir = t.TempDir()
		rustupHome(t, cfg, t.TempDir())
		if err == nil {
			rustupHome(t, cfg, filepath.Join(system, cfg.Floor.String()))
		}
	})
}

func rustupHome(t *testing.T, cfg Config, top string) {
	t.Helper()
	for _, name := range []string{"without", "with"} {
		home, exists := filepath.Join(top, name), name == "with"
		write(t, home, "settings.toml", "")
		write(t, home, "toolchains/x/bin/rustc", "")
		if exists {
			write(t, home, "update-hashes/x", "")
		}
		t.Setenv("RUSTUP_HOME", home)
		sb := open(t, cfg)
		sh(t, sb, `mkdir -p "$RUSTUP_HOME/update-hashes" && test -d "$RUSTUP_HOME/toolchains/x" && cat "$RUSTUP_HOME/settings.toml"`)
		if cfg.Floor > TierNone {
			sh(t, sb, `! echo x 2>/dev/null >"$RUSTUP_HOME/toolchains/x/bin/rustc"`)
		}
	}
}

// TestGitOfLinkedWorkTrees: git reads a linked work tree, a submodule and a separate git directory
// as it reads a plain clone, and cannot write to what they have outside the workspace.
//
// Evidence: sandbox · git reads linked work trees, submodules and separate git directories
func TestGitOfLinkedWorkTrees(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "git")
	top := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `git() { command git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always "$@"; }
		git init -q main; cd main; echo one >a; echo other >b; git add .; git commit -qm one; git worktree add -q ../linked -b side; cd ..
		git clone -q --separate-git-dir separate.git main separate
		git init -q super; cd super; git submodule --quiet add ../main sub`)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tt := range []struct{ dir, outside string }{{"main", ""}, {"linked", "main/.git"}, {"separate", "separate.git"}, {"super/sub", "super/.git/modules/sub"}} {
		dir := filepath.Join(top, tt.dir)
		for _, cfg := range []Config{{Dir: dir}, {Snapshot: SnapshotDir(dir)}} {
			sb := open(t, cfg)
			got := sh(t, sb, "echo two >>a; git status --short; git log --format=%s; git diff --stat | tail -n 1; git checkout-index -f a && cat a")
			if want := " M a\none\n 1 file changed, 1 insertion(+)\none\n"; got != want {
				t.Errorf("%s, %v: git says %q, want %q", tt.dir, cfg, got, want)
			}
			if tt.outside == "" {
				continue
			}
			outside := filepath.Join(top, tt.outside)
			if got := sh(t, sb, "(echo x >"+outside+"/hooks/pre-commit || git commit -qam two) 2>/dev/null || echo refused"); got != "refused\n" {
				t.Errorf("%s, %v: writing to the git directory outside says %q", tt.dir, cfg, got)
			}
		}
	}
}

func init() {
	// Makes the layer of a commit; the arguments are the store and the repository.
	helpers["layers"] = func(a []string) error {
		s, err := OpenLayers(a[0], LayersConfig{})
		if err != nil {
			return err
		}
		l, err := s.Commit(context.Background(), a[1], "HEAD")
		if err != nil {
			return err
		}
		return l.Close()
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
