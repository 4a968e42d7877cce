package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
)

func TestShell(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{}, files{"sub/x.txt": "hello\n"})
	for _, tc := range []struct {
		name string
		in   args
		want []string
	}{
		{"output and code", args{"command": "echo out; echo err >&2; exit 3"}, []string{"out\nerr\n[exit code 3 after"}},
		{"no output", args{"command": "true"}, []string{"(no output)\n[exit code 0"}},
		{"dir", args{"command": "cat x.txt; pwd", "dir": "sub"}, []string{"hello\n", "/sub\n"}},
		{"input is empty", args{"command": "cat; echo done"}, []string{"done"}},
		{"terminal", args{"command": `echo "$TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT"; test -t 0 || echo no tty`}, []string{"dumb cat cat 0", "no tty"}},
		{"escapes", args{"command": `printf '\033[31mred\033[0m \033]0;title\007x\r\n10%%\r100%%\n'`}, []string{"red x\n100%\n"}},
		{"bad UTF-8", args{"command": `printf 'a\377b'`}, []string{"a\uFFFDb"}},
		{"signal", args{"command": "kill -SEGV $$"}, []string{"ended by signal 11"}},
		{"bash", args{"command": `a=(1 2); echo "${a[1]}"`}, []string{"2\n"}},
		{"not found", args{"command": "no-such-program-here"}, []string{"exit code 127"}},
		{"syntax", args{"command": "if"}, []string{"exit code 2"}},
		{"empty", args{"command": "  "}, []string{"error:", "command is empty"}},
		{"NUL", args{"command": "a\x00b"}, []string{"error:", "NUL"}},
		{"dir outside", args{"command": "pwd", "dir": "../.."}, []string{"error:", "outside the workspace"}},
		{"dir missing", args{"command": "pwd", "dir": "sup"}, []string{"error:", "sup does not exist", "sub"}},
		{"dir is a file", args{"command": "pwd", "dir": "sub/x.txt"}, []string{"error:", "not a directory"}},
		{"timeout kill", args{"command": "sleep 30", "timeout_seconds": 1, "on_timeout": "kill"}, []string{"killed with all its children after 1s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			contains(t, run(t, w, "shell", tc.in), tc.want...)
		})
	}
}

// TestShellIsNotPinned: a call returns when the command itself ends, even if descendants hold its
// output open.
//
// Evidence: coding · A shell call ends with its command, not with its descendants
func TestShellIsNotPinned(t *testing.T) {
	inPlaceOnly(t) // the sandbox of others keeps what a command detached
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{}, nil)
	for i, command := range []string{
		"sleep 60 & echo $! > pid%d; echo done",
		"setsid sleep 60 & echo $! > pid%d; echo done",
		"nohup sleep 60 >/dev/null 2>&1 & echo $! > pid%d; echo done",
		"(setsid sh -c 'echo $$ > pid%d; exec sleep 60' &) ; sleep 0.2; echo done",
		"sh -c 'sleep 60 & echo $! > pid%d'; echo done",
	} {
		soon(t, command, func() {
			contains(t, run(t, w, "shell", args{"command": fmt.Sprintf(command, i)}), "done\n[exit code 0")
		})
	}
	var pids []int
	for i := range 5 {
		pid := pidIn(t, w, fmt.Sprintf("pid%d", i))
		for range 500 { // until it has become sleep: during an exec a process cannot be recognised by its environment
			if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || string(comm) == "sleep\n" {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		pids = append(pids, pid)
	}
	must(t, w.Close())
	gone(t, pids...) // processes left behind by commands end with the workspace
}

// TestShellKillsTheTree: a timeout kills a command even if its descendants try to survive.
//
// Evidence: coding · A timeout kills the whole process tree
func TestShellKillsTheTree(t *testing.T) {
	needUnix(t)
	for name, command := range map[string]string{
		"ignores TERM": "trap '' TERM; echo $$ > a; while :; do sleep 0.1; done",
		"setsid":       "setsid sh -c 'trap \"\" TERM HUP; echo $$ > a; sleep 60' & wait",
		"double fork":  "(sh -c 'setsid sh -c \"echo \\$\\$ > a; sleep 60\" &' &); sleep 60",
		"stopped":      "sh -c 'echo $$ > a; kill -STOP $$' & wait; sleep 60",
		"fork tree":    "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & wait; else sleep 60; fi; }; echo $$ > a; f 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWith(t, Config{Proc: ProcConfig{Grace: 200 * time.Millisecond}}, nil)
			started(t, time.Second, func(timeout time.Duration) bool {
				var out string
				soon(t, name, func() {
					out = run(t, w, "shell", args{"command": command, "timeout_seconds": int(timeout.Seconds()), "on_timeout": "kill"})
				})
				contains(t, out, "killed with all its children")
				pid, ok := readPid(w, "a")
				if ok {
					gone(t, pid)
				}
				return ok
			})
		})
	}
}

func TestShellCancel(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		pidIn(t, w, "pid")
		cancel()
	}()
	soon(t, "cancel", func() {
		contains(t, runCtx(t, ctx, w, "shell", args{"command": "echo before; echo $$ > pid; sleep 60"}), "before\n", "because the call was cancelled")
	})
	gone(t, pidIn(t, w, "pid"))
}

// TestShellMovesToBackground: if a command does not end in time, none of its output is lost or
// reported twice.
//
// Evidence: coding · A slow command moves to the background without losing output
func TestShellMovesToBackground(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{}, nil)
	all := run(t, w, "shell", args{"command": "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 7", "timeout_seconds": 1})
	contains(t, all, "[still running after 1s; it goes on in the background as process 1")
	contains(t, run(t, w, "shell_output", args{}), "1: echo one", "running since")
	files{"go": ""}.write(t, w.Dir())
	for range 100 {
		out := run(t, w, "shell_output", args{"id": 1, "wait_seconds": 20})
		all += out
		if strings.Contains(out, "exit code 7") {
			break
		}
	}
	if strings.Count(all, "one\n") != 1 || strings.Count(all, "two\n[exit code 7") != 1 {
		t.Errorf("lost or told twice: %s", all)
	}
	contains(t, run(t, w, "shell_output", args{"id": 1}), "error:", "no background process 1")
}

func TestShellBackground(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Background: 2, Grace: 100 * time.Millisecond}}, nil)
	out := run(t, w, "shell", args{"command": "echo ready; sleep 60", "background": true})
	contains(t, out, "running in the background as process 1")
	if !strings.Contains(out, "ready\n") { // needed on a slow machine
		contains(t, run(t, w, "shell_output", args{"id": 1, "until": "ready"}), "ready\n")
	}
	out = run(t, w, "shell", args{"command": "echo oops; exit 2", "background": true})
	for strings.Contains(out, "process 2") {
		out = run(t, w, "shell_output", args{"id": 2, "wait_seconds": 20, "until": "never"})
	}
	contains(t, out, "[exit code 2")
	contains(t, run(t, w, "shell", args{"command": "cat; echo end", "background": true, "interactive": true}), "process 3")
	contains(t, run(t, w, "shell", args{"command": "sleep 60", "background": true}), "error:", "2 processes run in the background already")
	contains(t, run(t, w, "shell", args{"command": "sleep 60", "timeout_seconds": 1}), "killed with all its children", "2 processes run in the background already")

	contains(t, run(t, w, "shell_input", args{"id": 1, "text": "x\n"}), "error:", "no open input", "interactive")
	contains(t, run(t, w, "shell_input", args{"id": 3, "text": "hällo\n"}), "Sent 7 bytes")
	contains(t, run(t, w, "shell_output", args{"id": 3, "wait_seconds": 20}), "hällo\n[process 3 is still running")
	contains(t, run(t, w, "shell_input", args{"id": 3}), "error:", "nothing to send")
	contains(t, run(t, w, "shell_input", args{"id": 3, "text": "bye", "close": true}), "Sent 3 bytes")
	contains(t, run(t, w, "shell_output", args{"id": 3, "wait_seconds": 20, "until": "end"}), "byeend\n")
	contains(t, run(t, w, "shell_kill", args{"id": 1}), "ended by signal 15")
	contains(t, run(t, w, "shell_kill", args{"id": 1}), "error:", "no background process 1")
	contains(t, run(t, w, "shell_output", args{"id": 99}), "error:", "no background process 99")
	contains(t, run(t, w, "shell_output", args{"id": 3, "until": "("}), "error:")
}

func TestShellKillSignals(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, nil)
	out := run(t, w, "shell", args{"command": "trap 'echo got int' INT; echo ready; while :; do sleep 0.05; done", "background": true})
	if !strings.Contains(out, "ready\n") { // needed on a slow machine
		contains(t, run(t, w, "shell_output", args{"id": 1, "wait_seconds": 50, "until": "ready"}), "ready\n")
	}
	contains(t, run(t, w, "shell_kill", args{"id": 1, "signal": "INT"}), "SIGINT was sent")
	contains(t, run(t, w, "shell_output", args{"id": 1, "wait_seconds": 50, "until": "got int"}), "got int", "still running")
	contains(t, run(t, w, "shell_kill", args{"id": 1, "signal": "KILL"}), "ended by signal 9")
}

// TestShellLifetime: a process that nobody ends is killed after its lifetime.
func TestShellLifetime(t *testing.T) {
	t.Parallel()
	needUnix(t)
	started(t, 700*time.Millisecond, func(life time.Duration) bool {
		w := openWith(t, Config{Proc: ProcConfig{Lifetime: life, Grace: -1}}, nil)
		run(t, w, "shell", args{"command": "echo $$ > pid; sleep 600", "background": true})
		soon(t, "the end", func() {
			for out := ""; !strings.Contains(out, "the longest a process may live"); {
				out = run(t, w, "shell_output", args{"id": 1, "wait_seconds": 20, "until": "never"})
			}
		})
		pid, ok := readPid(w, "pid")
		if ok {
			gone(t, pid)
		}
		return ok
	})
}

func TestCloseKillsEverything(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, nil)
	var pids []int
	for i := range 3 {
		run(t, w, "shell", args{"command": fmt.Sprintf("trap '' TERM; echo $$ > pid%d; sleep 60; sleep 60", i), "background": true})
		pids = append(pids, pidIn(t, w, fmt.Sprintf("pid%d", i)))
	}
	waiting := make(chan string)
	go func() { waiting <- run(t, w, "shell_output", args{"id": 1, "wait_seconds": 60}) }()
	time.Sleep(50 * time.Millisecond)
	soon(t, "Close", func() { must(t, w.Close()) })
	gone(t, pids...)
	<-waiting
	contains(t, run(t, w, "shell", args{"command": "true"}), "error:", "closed")
}

// TestShellHugeOutput prints a gigabyte (16 MiB with -short): memory stays limited, the beginning
// and the end are shown, and the rest can be read back.
func TestShellHugeOutput(t *testing.T) {
	needUnix(t)
	agenttest.CheckLeaks(t)
	size := 1 << 30
	if testing.Short() {
		size = 16 << 20
	}
	store := tools.NewMemStore()
	w := openWith(t, Config{Artifacts: store, Proc: ProcConfig{OutputBytes: 8 << 10, SpillBytes: 4 << 20}}, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	out := run(t, w, "shell", args{"command": fmt.Sprintf("echo first; yes 0123456789abcde | head -c %d; echo last", size), "timeout_seconds": 300})
	runtime.GC()
	runtime.ReadMemStats(&after)
	contains(t, out, "first\n0123456789abcde", "last\n[exit code 0", "artifact-")
	if len(out) > 10<<10 {
		t.Errorf("%d bytes shown", len(out))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	handle := out[strings.Index(out, "artifact-"):][:len("artifact-")+24]
	data, err := store.Get(context.Background(), handle)
	must(t, err)
	if len(data) != 4<<20 || !strings.HasPrefix(string(data), "first\n0123") {
		t.Errorf("%d bytes kept, beginning %.20q", len(data), data)
	}
}

// TestShellLongOutputIsKept: the omitted middle can be read back with the tool that the text names.
func TestShellLongOutputIsKept(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{OutputBytes: 1000}}, nil)
	out := run(t, w, "shell", args{"command": "seq 1 2000"})
	contains(t, out, "1\n2\n3\n", "\n2000\n[exit code 0", "left out here", "read_artifact")
	handle := out[strings.Index(out, "artifact-"):][:len("artifact-")+24]
	contains(t, run(t, w, "read_artifact", args{"handle": handle, "pattern": "^1000$"}), "1000")
}

// TestShellConcurrent runs many commands concurrently in one workspace.
func TestShellConcurrent(t *testing.T) {
	needUnix(t)
	agenttest.CheckLeaks(t)
	w := openWith(t, Config{}, nil)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			contains(t, run(t, w, "shell", args{"command": fmt.Sprintf("echo begin %d; sleep 0.0%d; echo end %d", i, i, i)}),
				fmt.Sprintf("begin %d\nend %d\n[exit code 0", i, i))
		})
	}
	wg.Wait()
}

// TestProgressIsWholeLines: a secret is not shown in two halves, which no middleware would
// recognise. A question without a line end is shown a little later.
func TestProgressIsWholeLines(t *testing.T) {
	log := newProcLog(1<<20, 1<<20)
	defer log.close()
	write := func(s string) { fmt.Fprint(log, s) }
	expect := func(want string) {
		t.Helper()
		if got := log.progress(); got != want {
			t.Errorf("progress %q, want %q", got, want)
		}
	}
	write("one\ntoken hun")
	expect("one\n")
	expect("")
	write("ter2\nthree")
	expect("token hunter2\n")
	if got := log.rest(); got != "three" {
		t.Errorf("rest %q", got)
	}
	write("Continue? ")
	for range maxHeld {
		expect("")
	}
	expect("Continue? ")
	write("x" + strings.Repeat("s", maxRecent) + "\nlast\n") // the beginning of the long line is lost
	expect("last\n")
	write(strings.Repeat("s", 3*maxRecent))
	if got := log.rest(); len(got) == 0 || len(got) > maxRecent {
		t.Errorf("a line without end: %d bytes", len(got))
	}
}

// TestShellProgress: output is shown while the command is still running.
func TestShellProgress(t *testing.T) {
	needUnix(t)
	log := newProcLog(100, 1000)
	for i := range 1000 {
		fmt.Fprintf(log, "line %d\n", i)
	}
	if p := log.progress(); !strings.HasSuffix(p, "line 999\n") || len(p) > maxRecent {
		t.Errorf("progress %d bytes: %.40q", len(p), p)
	}
	if p := log.progress(); p != "" {
		t.Errorf("told again: %q", p)
	}
	log.close()
}

// TestProcLog checks the beginning, the end and the stored whole output for every size around the
// limits.
func TestProcLog(t *testing.T) {
	ctx := context.Background()
	for _, limit := range []int{10, 11, 64} {
		for n := range 4 * limit {
			for _, piece := range []int{1, 3, limit, 10 * limit} {
				log := newProcLog(limit, 1<<20)
				text := strings.Repeat("0123456789", n/10+1)[:n]
				for rest := text; rest != ""; rest = rest[min(piece, len(rest)):] {
					log.Write([]byte(rest[:min(piece, len(rest))]))
				}
				var kept string
				got := log.take(ctx, "x", func(_ context.Context, _ string, data []byte) (string, error) {
					kept = string(data)
					return "H", nil
				})
				switch {
				case n <= limit && (got != text || kept != ""):
					t.Fatalf("limit %d, %d bytes by %d: %q, kept %q", limit, n, piece, got, kept)
				case n > limit && (kept != text || !strings.HasPrefix(got, text[:limit/2]+"\n[... ") || !strings.HasSuffix(got, "...]\n"+text[n-(limit-limit/2):])):
					t.Fatalf("limit %d, %d bytes by %d: %q, kept %q", limit, n, piece, got, kept)
				}
				if again := log.take(ctx, "x", nil); again != "" {
					t.Fatalf("told twice: %q", again)
				}
				log.close()
			}
		}
	}
}

func TestShellEffects(t *testing.T) {
	w := openWith(t, Config{}, files{"a.txt": "x", "sub/": "", ".env": "S=1"})
	must(t, os.Symlink("/etc/passwd", filepath.Join(w.Dir(), "link")))
	effects := func(name string, in args) agent.Effects {
		raw, err := json.Marshal(in)
		must(t, err)
		return agent.EffectsOf(procTool(t, w, name), agent.ToolCall{Name: name, Args: raw})
	}
	for command, readOnly := range map[string]bool{
		"cat a.txt": true, "ls -la sub": true, "cat link": false, "cat .env": false, "rm a.txt": false, "env rm -rf x": false,
		"echo x > ~/.bashrc": false, "git branch -D main": false, "./ls": false, "cat $(echo a.txt)": false, "ls & rm x": false,
		"make": false, "curl http://example.com": false, "if": false, "": false,
	} {
		if got := effects("shell", args{"command": command}).IsReadOnly(); got != readOnly {
			t.Errorf("%q: read-only %v, want %v", command, got, readOnly)
		}
	}
	if effects("shell", args{"command": "cat a.txt", "interactive": true}).IsReadOnly() {
		t.Error("an interactive command is not known to only read")
	}
	if effects("shell", args{"command": "cat a.txt", "dir": "../x"}).IsReadOnly() {
		t.Error("a directory outside is not read-only")
	}
	if e := effects("shell_input", args{"id": 3, "text": "rm -rf /"}); e.Known || len(e.Writes) != 1 || e.Writes[0] != "proc:3" {
		t.Errorf("shell_input: %+v", e)
	}
	if e := effects("shell_output", args{"id": 3}); !e.IsReadOnly() {
		t.Errorf("shell_output: %+v", e)
	}
	if e := effects("shell_kill", args{"id": 3}); e.IsReadOnly() || e.Flags&agent.EffectKill == 0 {
		t.Errorf("shell_kill: %+v", e)
	}
	for _, name := range []string{"test", "lint"} {
		if e := effects(name, args{}); e.Known || e.Flags&agent.EffectExec == 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := effects("git", args{"op": "status"}); !e.IsReadOnly() {
		t.Errorf("git: %+v", e)
	}
}

func TestDescribeShell(t *testing.T) {
	w := openWith(t, Config{}, files{"a dir/": ""})
	d := procTool(t, w, "shell").(agent.Describer).DescribeCall(agent.ToolCall{Name: "shell",
		Args: json.RawMessage(`{"command":"rm -rf x && ls\necho hi","dir":"a dir"}`)})
	if d.Title != "run: rm -rf x && ls ..." || d.Exact != "cd 'a dir' && rm -rf x && ls\necho hi" {
		t.Errorf("%q %q", d.Title, d.Exact)
	}
	contains(t, d.Detail, "parsed as:", "not read-only because:")
	contains(t, d.Where, "host, no isolation", "/a dir")
}

func BenchmarkShell(b *testing.B) {
	needUnix(b)
	w := openWith(b, Config{}, nil)
	tool := procTool(b, w, "shell")
	call := agent.ToolCall{ID: "1", Name: "shell", Args: json.RawMessage(`{"command":"true"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Call(context.Background(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProcLog(b *testing.B) {
	log := newProcLog(32<<10, 1<<20)
	defer log.close()
	p := []byte(strings.Repeat("0123456789abcde\n", 2048))
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		log.Write(p)
	}
}

// TestHintOfCommit: a commit that the sandbox does not let through tells the model to ask the user,
// and by which option the user can allow it.
//
// Evidence: coding · A commit that the sandbox refuses says which option allows it
func TestHintOfCommit(t *testing.T) {
	needUnix(t)
	needProgram(t, "git")
	t.Parallel()
	dir := t.TempDir()
	for _, line := range [][]string{{"init", "-q"}, {"config", "user.name", "n"}, {"config", "user.email", "e@example.com"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, line...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, unprotect := range [][]string{nil, {".git"}} {
		sb, err := sandbox.Local(context.Background(), sandbox.Config{Dir: dir, Unprotect: unprotect})
		if err != nil {
			t.Skipf("no isolation with mounts on this host: %v", err)
		}
		w := openAt(t, dir, Config{Proc: ProcConfig{Sandbox: sb}})
		got := run(t, w, "shell", args{"command": "git commit -q --allow-empty -m one"})
		if unprotect == nil {
			contains(t, got, "exit code 128", `Config.Unprotect: ".git"`, "ask the user")
		} else {
			contains(t, got, "exit code 0")
		}
		if unprotect != nil && strings.Contains(got, "Unprotect") {
			t.Errorf("a hint without need: %s", got)
		}
		must(t, sb.Close())
	}
}

// TestInSandbox runs the process tools in the strongest sandbox available on this host.
func TestInSandbox(t *testing.T) {
	needUnix(t)
	t.Parallel()
	dir := t.TempDir()
	files{"go.mod": "module example.com/m\n\ngo 1.21\n", "p_test.go": goPass}.write(t, dir)
	sb, err := sandbox.Local(context.Background(), sandbox.Config{Dir: dir, Floor: sandbox.TierLandlock})
	if err != nil {
		t.Skipf("no isolation on this host: %v", err)
	}
	t.Cleanup(func() { must(t, sb.Close()) })
	w := openAt(t, dir, Config{Proc: ProcConfig{Sandbox: sb, Grace: 100 * time.Millisecond}})
	contains(t, run(t, w, "shell", args{"command": "echo in > made; cat made; touch /etc/out || echo refused"}), "in\n", "refused", "exit code 0")
	if content(t, w, "made") != "in\n" {
		t.Error("the file is not in the workspace")
	}
	contains(t, run(t, w, "shell", args{"command": "sleep 60 & sleep 60", "timeout_seconds": 1, "on_timeout": "kill"}), "killed with all its children")
	contains(t, run(t, w, "shell", args{"command": "cat; echo end", "background": true, "interactive": true}), "process 1")
	contains(t, run(t, w, "shell_input", args{"id": 1, "text": "hi\n", "close": true}), "Sent 3")
	contains(t, run(t, w, "shell_output", args{"id": 1, "wait_seconds": 20, "until": "end"}), "hi\nend")
	contains(t, run(t, w, "shell", args{"command": "no-such-program"}), "127")
	d := procTool(t, w, "shell").(agent.Describer).DescribeCall(agent.ToolCall{Name: "shell", Args: json.RawMessage(`{"command":"ls"}`)})
	contains(t, d.Where, "sandbox (")
	if _, err := exec.LookPath("go"); err == nil {
		contains(t, run(t, w, "test", args{}), "PASS: 0 failed, 1 passed")
		contains(t, run(t, w, "lint", args{"paths": []string{"."}}), "go vet: 0 findings")
	}
	contains(t, run(t, w, "test", args{"framework": "cargo"}), "error:", "no project for cargo")
}
