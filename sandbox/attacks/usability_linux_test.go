package attacks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// usable is a script of everyday work that must print want: a sandbox that breaks everyday work is
// switched off. git with go build and go test, Python's multiprocessing and SQLite, Node, npm and
// make have separate tests in tools_linux_test.go.
type usable struct {
	name   string
	needs  string // a program that must be available inside
	script string
	want   string // expected standard output; not checked if ""
	files  map[string]string
}

var usables = []usable{
	{name: "large output", script: `seq 1 300000 | tail -n 1; head -c 8000000 /dev/zero | wc -c`, want: "300000\n8000000\n"},
	{name: "many processes", script: `i=0; while [ $i -lt 150 ]; do sleep 0.2 & i=$((i+1)); done; wait; echo $i`, want: "150\n"},
	{name: "traps", script: `trap 'echo cleaned; exit 3' TERM; (sleep 0.2; kill -TERM $$) & while :; do sleep 0.05; done`, want: "cleaned\n"},
	{name: "background jobs", script: `(sleep 0.1; echo late > out) & p=$!; echo early; wait $p && cat out`, want: "early\nlate\n"},
	{name: "job's signal", script: `sleep 60 & kill $!; wait $!; echo $?`, want: "143\n"},
	{name: "pipes with names", script: `mkfifo p; (echo through > p &) ; cat p`, want: "through\n"},
	{name: "names of all kinds", script: `mkdir -p 'é ü/日本語' && echo x > 'é ü/日本語/a b	c' && cat */*/*; touch -- -n "$(printf 'new\nline')"; ls | wc -l; rm -rf -- * && ls -A`, want: "x\n4\n"},
	{name: "links and modes", script: `echo x > a; ln a b; ln -s a c; chmod 700 a; mv c d; readlink d; stat -c '%h %a' b; cp -a a e && touch -d 2001-02-03 e && stat -c %Y e > /dev/null; test e -ot a && echo older`, want: "a\n2 700\nolder\n"},
	{name: "umask and owner", script: `umask 027; touch f; stat -c %a f; test -O f && echo mine; id -un; echo ~`, want: "640\nmine\nsandbox\n/home/sandbox\n"},
	{name: "temporary files", script: `f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && rmdir $d && test -w /dev/shm && test -w /var/tmp && test -w $HOME && echo writable`, want: "x\nwritable\n"},
	{name: "devices", script: `echo x > /dev/null; head -c 4 /dev/urandom | wc -c; head -c 3 /dev/zero | wc -c; (echo y > /dev/full) 2>/dev/null || echo full; cat < /dev/null; ls -l /dev/stdin > /dev/null && echo x | cat /dev/stdin; echo e > /dev/stderr`, want: "4\n3\nfull\nx\n"},
	{name: "process information", script: `ps -o pid= -p $$ > /dev/null 2>&1 || test -d /proc/$$; test -n "$(cat /proc/self/status)" && nproc > /dev/null && cat /proc/meminfo | grep -q MemTotal && echo seen`, want: "seen\n"},
	{name: "locks", needs: "flock", script: `flock l sh -c 'sleep 0.1; echo first' & sleep 0.02; flock -w 20 l echo second; wait; flock -n l flock -n l true || echo held`},
	{name: "terminal", needs: "script", script: `script -qec 'tty > /dev/null && stty size > /dev/null && echo on a terminal' /dev/null | tr -d '\r'`, want: "on a terminal\n"},
	{name: "archives", needs: "tar", script: `mkdir d && echo x > d/f && chmod 754 d/f && tar czf a.tgz d && rm -r d && tar xzf a.tgz && stat -c %a d/f && cat d/f`, want: "754\nx\n"},
	{name: "debugger's start", needs: "gdb", script: `gdb --version > /dev/null && echo starts`, want: "starts\n"},
	{name: "python's terminals", needs: "python3", files: map[string]string{"t.py": pyTerminal}, script: `python3 t.py`, want: "['to', 'a', 'terminal']\n"},
	{name: "python's pools", needs: "python3", files: map[string]string{"t.py": pyPools}, script: `python3 t.py`, want: "[0, 1, 4]\n45\n7\n"},
	{name: "python's servers", needs: "python3", files: map[string]string{"t.py": pyServers}, script: `python3 t.py`, want: "tcp\nudp\nunix\nhttp\n"},
	{name: "python's database", needs: "python3", files: map[string]string{"t.py": pyDatabase}, script: `python3 t.py`, want: "wal\n100\n"},
	{name: "python's memory maps", needs: "python3", files: map[string]string{"t.py": pyMaps}, script: `python3 t.py`, want: "mapped\nshared\n"},
	{name: "python's environments", needs: "python3", script: `python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'`, want: "True\n"},
	{name: "file watching", needs: "python3", files: map[string]string{"t.py": pyWatch}, script: `python3 t.py`, want: "noticed\n"},
	{name: "git by itself", needs: "git", script: `git init -q -b main && git config user.email e && git config user.name n && echo x > f && git add f && git commit -qm one && git status --short && git log --oneline | wc -l && git stash list && echo y >> f && git stash -q && git stash pop -q && git diff --stat | tail -n 1`, want: "1\n 1 file changed, 1 insertion(+)\n"},
	{name: "git's clones", needs: "git", script: `git init -q -b main a && git -C a -c user.name=n -c user.email=e commit -q --allow-empty -m one && git clone -q a b && git -C b log --oneline | wc -l && git clone -q --bare a c.git && git -C b push -q ../c.git main:other && git -C c.git branch | wc -l`, want: "1\n2\n"},
	{name: "compiler", needs: "cc", files: map[string]string{"m.c": cProgram}, script: `cc -O1 -o m m.c -lpthread && ./m`, want: "thread\nchild 7\n"},
	{name: "make in parallel", needs: "make", files: map[string]string{"Makefile": "all: a b c\n\t@cat a b c\n%:\n\t@sleep 0.05; echo $@ > $@\n"}, script: `make -s -j3`, want: "a\nb\nc\n"},
	{name: "node's parts", needs: "node", files: map[string]string{"t.js": jsParts}, script: `node t.js`, want: "forked\nwatched\nserved\n"},
	{name: "npm's scripts", needs: "npm", files: map[string]string{"package.json": `{"name": "x", "version": "1.0.0", "scripts": {"pretest": "echo before", "test": "node -e \"console.log('tested')\""}}`}, script: `npm test --silent`, want: "before\ntested\n"},
	{name: "cargo", needs: "cargo", files: map[string]string{"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/main.rs": "fn main() { println!(\"hi\") }\n"}, script: `cargo run -q --offline`, want: "hi\n"},
	{name: "go with a server", needs: "go", files: map[string]string{"go.mod": "module m\n\ngo 1.21\n", "m_test.go": goServer}, script: `go test ./... | cut -c 1-2`, want: "ok\n"},
}

const pyTerminal = `import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.execvp('sh', ['sh', '-c', 'test -t 0 && test -t 1 && echo to a terminal'])
out = b''
while True:
    try:
        b = os.read(fd, 100)
    except OSError:
        break
    if not b: break
    out += b
os.waitpid(pid, 0)
print(out.decode().split())
`

const pyPools = `import multiprocessing as mp, concurrent.futures as cf, os
def f(x): return x * x
def g(q): q.put(7)
if __name__ == '__main__':
    with mp.get_context('spawn').Pool(2) as p: print(p.map(f, range(3)))
    with cf.ThreadPoolExecutor(4) as e: print(sum(e.map(int, range(10))))
    q = mp.Queue(); p = mp.Process(target=g, args=(q,)); p.start(); print(q.get()); p.join()
`

const pyServers = `import socket, threading, http.server, urllib.request, os
def once(s, n):
    c, _ = s.accept(); c.sendall(n); c.close()
s = socket.create_server(('localhost', 0)); threading.Thread(target=once, args=(s, b'tcp')).start()
print(socket.create_connection(s.getsockname()).recv(9).decode())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); v.sendto(b'udp', u.getsockname()); print(u.recv(9).decode())
x = socket.socket(socket.AF_UNIX); x.bind('sock'); x.listen(); threading.Thread(target=once, args=(x, b'unix')).start()
c = socket.socket(socket.AF_UNIX); c.connect('sock'); print(c.recv(9).decode())
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b'http')
    def log_message(self, *a): pass
h = http.server.ThreadingHTTPServer(('0.0.0.0', 0), H); threading.Thread(target=h.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:%d' % h.server_port).read().decode())
`

const pyDatabase = `import sqlite3
d = sqlite3.connect('db'); print(d.execute('pragma journal_mode=wal').fetchone()[0])
d.execute('create table t (x)'); d.executemany('insert into t values (?)', [(i,) for i in range(100)]); d.commit()
print(sqlite3.connect('db').execute('select count(*) from t').fetchone()[0])
`

const pyMaps = `import mmap, os
from multiprocessing import shared_memory
f = open('m', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[:6] = b'mapped'; m.flush(); print(open('m', 'rb').read(6).decode())
s = shared_memory.SharedMemory(create=True, size=4096); s.buf[:6] = b'shared'
t = shared_memory.SharedMemory(name=s.name); print(bytes(t.buf[:6]).decode()); t.close(); s.close(); s.unlink()
`

const pyWatch = `import ctypes, os, select
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
assert fd >= 0, os.strerror(ctypes.get_errno())
assert libc.inotify_add_watch(fd, b'.', 0x100) >= 0, os.strerror(ctypes.get_errno())
open('new', 'w').close()
assert select.select([fd], [], [], 20)[0]
print('noticed' if b'new' in os.read(fd, 4096) else 'other')
`

const cProgram = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *p) { puts("thread"); return p; }
int main(void) {
	pthread_t t;
	if (pthread_create(&t, 0, run, 0) || pthread_join(t, 0)) return 1;
	fflush(stdout);
	pid_t p = fork();
	if (p == 0) _exit(7);
	int st;
	if (waitpid(p, &st, 0) != p) return 2;
	printf("child %d\n", WEXITSTATUS(st));
	return 0;
}
`

const jsParts = `const { fork } = require('child_process'), fs = require('fs'), http = require('http');
if (process.argv[2] === 'child') { process.send('forked'); process.exit(0); }
fork(__filename, ['child']).on('message', m => {
  console.log(m);
  const w = fs.watch('.', () => {
    w.close(); console.log('watched');
    const s = http.createServer((q, r) => r.end('served')).listen(0, 'localhost', () =>
      fetch('http://localhost:' + s.address().port).then(r => r.text()).then(t => { console.log(t); s.close(); s.closeAllConnections && s.closeAllConnections(); }));
  });
  fs.writeFileSync('new', 'x');
});
`

const goServer = `package m

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	r, err := s.Client().Get(s.URL)
	if err != nil || r.StatusCode != 404 {
		t.Fatal(r, err)
	}
}
`

// TestUsable runs every case in a workspace in place and, unless -short, over a
// snapshot too.
func TestUsable(t *testing.T) {
	t.Parallel()
	for _, u := range usables {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range u.files {
				write(t, dir, name, text)
			}
			if !testing.Short() {
				u.run(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)}) // first, because it leaves dir unchanged
			}
			u.run(t, sandbox.Config{Dir: dir})
		})
	}
}

func (u usable) run(t *testing.T, cfg sandbox.Config) {
	sb := open(t, cfg)
	if u.needs != "" {
		need(t, u.needs)
		// A program may be installed but not set up: a version manager's stand-in may have nothing
		// behind it.
		if exit := mustExec(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", `command -v "$1" > /dev/null && { test "$1" = script || test "$1" = flock || "$1" $2 > /dev/null 2>&1; }`, "sh", u.needs, versionFlag(u.needs)}}); !exit.Success() {
			t.Skipf("%s is not to be had inside", u.needs)
		}
	}
	exit := mustExec(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", u.script}})
	if got := exit.Stdout.String(); u.want != "" && got != u.want || u.want == "" && !exit.Success() {
		t.Errorf("%v: got %q, want %q\n%s\ndenied: %v", exit, got, u.want, exit.Stderr, exit.Denials)
	}
}

func versionFlag(program string) string {
	if program == "go" {
		return "version"
	}
	return "--version"
}

// TestUsableLinkedWorkspace checks that a workspace reached by a symbolic link works under its real
// name.
func TestUsableLinkedWorkspace(t *testing.T) {
	top := t.TempDir()
	write(t, top, "real/sub/file", "x\n")
	link := filepath.Join(top, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []sandbox.Config{{Snapshot: sandbox.SnapshotDir(link)}, {Dir: link}} {
		sb := open(t, cfg)
		if got := sh(t, sb, "cat sub/file; ln -s sub s && cat s/file; cd s && pwd -P && echo y > file"); !strings.HasPrefix(got, "x\nx\n/") {
			t.Errorf("got %q", got)
		}
	}
}

// TestUsableTogether checks that two commands of one sandbox can work together: by files, by a
// server, by a signal.
func TestUsableTogether(t *testing.T) {
	sb := open(t, sandbox.Config{})
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", `echo $$ > pid; trap 'echo asked; exit 0' USR1; : > ready; while :; do sleep 0.02; done`}})
	if err != nil {
		t.Fatal(err)
	}
	sh(t, sb, `while ! test -e ready; do sleep 0.02; done; kill -USR1 $(cat pid)`)
	exit, err := p.Wait()
	if err != nil || exit.Stdout.String() != "asked\n" {
		t.Errorf("%v %v %q", exit, err, exit.Stdout)
	}
}
