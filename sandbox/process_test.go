//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

func TestExecReportsHowACommandEnded(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		t.Parallel()
		sb := open(t, cfg)
		type result struct {
			Code           int
			Signal         syscall.Signal
			Stdout, Stderr string
			TimedOut       bool
		}
		for _, tt := range []struct {
			name string
			cmd  Cmd
			want result
		}{
			{"success", Cmd{Args: []string{"true"}}, result{}},
			{"status", Cmd{Args: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, result{Code: 3, Stdout: "out\n", Stderr: "err\n"}},
			{"signal", Cmd{Args: []string{"sh", "-c", "kill -9 $$"}}, result{Code: 137, Signal: syscall.SIGKILL}},
			{"timeout", Cmd{Args: []string{"sh", "-c", "echo a; exec sleep 60"}, Timeout: 3 * time.Second}, result{Code: 137, Signal: syscall.SIGKILL, Stdout: "a\n", TimedOut: true}},
			{"grace", Cmd{Args: []string{"sh", "-c", "trap 'echo bye; exit 5' TERM; echo a; sleep 60 & wait"}, Timeout: 3 * time.Second, Grace: time.Minute}, result{Code: 5, Stdout: "a\nbye\n", TimedOut: true}},
			{"merged", Cmd{Args: []string{"sh", "-c", "echo 1; echo 2 >&2; echo 3"}, MergeStderr: true}, result{Stdout: "1\n2\n3\n"}},
			{"environment", Cmd{Args: []string{"sh", "-c", "echo $A"}, Env: []string{"A=x", "A=y"}}, result{Stdout: "y\n"}},
			{"input", Cmd{Args: []string{"cat"}, Stdin: strings.NewReader("hello")}, result{Stdout: "hello"}},
			{"no input", Cmd{Args: []string{"cat"}}, result{}},
			{"input not read", Cmd{Args: []string{"true"}, Stdin: neverEnding{}}, result{}},
			{"arguments", Cmd{Args: []string{"printf", "%s|", "", "a b", "$X\n", "\xff"}}, result{Stdout: "|a b|$X\n|\xff|"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel() // two commands wait for a timeout that a busy host may need
				e := mustExec(t, sb, tt.cmd)
				got := result{e.Code, e.Signal, e.Stdout.String(), e.Stderr.String(), e.TimedOut}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Error(d)
				}
				if e.Isolation.Tier != sb.Isolation().Tier || len(e.Isolation.Walls) == 0 {
					t.Errorf("Exit does not carry the isolation: %+v", e.Isolation)
				}
				if e.Wall <= 0 {
					t.Error("no wall time")
				}
			})
		}
	})
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }

func TestExecErrors(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Dir = t.TempDir()
		sb := open(t, cfg)
		write(t, cfg.Dir, "plain", "no program")
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			cmd  Cmd
			is   error
			text string
		}{
			{"no arguments", t.Context(), Cmd{}, nil, "Cmd.Args is empty"},
			{"not found", t.Context(), Cmd{Args: []string{"no-such-program"}}, exec.ErrNotFound, "no-such-program"},
			{"no program", t.Context(), Cmd{Args: []string{"./plain"}}, os.ErrPermission, "permission denied"},
			{"no directory", t.Context(), Cmd{Args: []string{"true"}, Dir: "missing"}, os.ErrNotExist, "missing"},
			{"file as directory", t.Context(), Cmd{Args: []string{"true"}, Dir: "plain"}, syscall.ENOTDIR, "plain"},
			{"bad environment", t.Context(), Cmd{Args: []string{"true"}, Env: []string{"X"}}, nil, "KEY=value"},
			{"NUL", t.Context(), Cmd{Args: []string{"a\x00b"}}, nil, "NUL"},
			{"input twice", t.Context(), Cmd{Args: []string{"cat"}, OpenStdin: true, Stdin: os.Stdin}, nil, "exclude"},
			{"canceled before", canceled, Cmd{Args: []string{"true"}}, context.Canceled, "start"},
			{"too long", t.Context(), Cmd{Args: []string{"true", strings.Repeat("x", 17<<20)}}, syscall.E2BIG, "true"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				_, err := sb.Exec(tt.ctx, tt.cmd)
				if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "sandbox: ") {
					t.Fatalf("error %v, want one with %q", err, tt.text)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("error %v is not %v", err, tt.is)
				}
			})
		}
		// The sandbox must still work after all of these.
		if out := sh(t, sb, "echo ok"); out != "ok\n" {
			t.Errorf("afterwards: %q", out)
		}
	})
}

// TestReturnsWhenTheProcessExits checks that a background process that holds the pipes, however it
// detached itself, does not delay the result, and that earlier output is complete.
func TestReturnsWhenTheProcessExits(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		for _, script := range []string{
			"sleep 300 & echo done",
			"setsid sleep 300 & echo done",
			"nohup sleep 300 2>/dev/null & echo done",
			"(setsid sh -c 'setsid sleep 300 &' &) ; echo done",
			"(while :; do echo noise >&2; done) & echo done",
		} {
			begun := time.Now()
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}, Timeout: time.Minute})
			if took := time.Since(begun); took > time.Minute || exit.TimedOut {
				t.Errorf("%q pinned the command for %v", script, took)
			}
			if got := exit.Stdout.String(); got != "done\n" {
				t.Errorf("%q: output %q", script, got)
			}
		}
	})
}

// TestBackgroundProcessKeepsItsPipe checks that a server left in the background can write after its
// command ended: its output still has a reader, so that it does not die of SIGPIPE.
func TestBackgroundProcessKeepsItsPipe(t *testing.T) {
	sb := open(t, Config{})
	sh(t, sb, `(i=0; while [ $i -lt 3000 ]; do echo a line of some length to fill the pipe; i=$((i+1)); done; echo alive > /tmp/alive) & echo`)
	eventually(t, "the background process finishing", func() bool {
		return mustExec(t, sb, Cmd{Args: []string{"test", "-s", "/tmp/alive"}}).Success()
	})
}

// TestOutputIsComplete checks that all output of the process is returned, however late its reader
// reads it.
func TestOutputIsComplete(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, plain())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				exit, err := sb.Exec(t.Context(), Cmd{Args: []string{"sh", "-c", "sleep 300 & head -c 60000 /dev/zero"}})
				if err != nil || exit.Stdout.Total != 60000 {
					t.Errorf("%v, %v", exit, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestTimeoutKillsTheTree(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		t.Parallel()
		sb := open(t, cfg)
		for i, script := range []string{
			"sleep N",
			"sleep N & sleep N & wait",
			"setsid sleep N & sleep N",
			"(setsid sh -c 'setsid sleep N & sleep N' &) ; sleep N",
			"trap '' TERM; nohup setsid sleep N >/dev/null 2>&1 & sleep N; sleep N",
			"setsid env -i sleep N & sleep N", // marker dropped, found by ancestry
			"for i in 1 2 3 4 5 6 7 8; do (setsid sleep N &) ; done; sleep N",
		} {
			if testing.Short() && i%3 != 0 {
				continue
			}
			n := uniqueSleep()
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", strings.ReplaceAll(script, "N", n)}, Timeout: 300 * time.Millisecond})
			if !exit.TimedOut {
				t.Errorf("%q: %v", script, exit)
			}
			if left := processesWith(t, n); len(left) > 0 {
				t.Errorf("%q left %q", script, left)
			}
		}
	})
}

// TestKillIsOfOneCommand checks that killing one command leaves the sandbox's other commands alone.
func TestKillIsOfOneCommand(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		a, b := uniqueSleep(), uniqueSleep()
		start := func(n string) *Process {
			p, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", "setsid sleep " + n + " & sleep " + n}})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "start", func() bool { return len(processesWith(t, n)) >= 2 })
			return p
		}
		first, second := start(a), start(b)
		if err := first.Kill(); err != nil {
			t.Fatal(err)
		}
		if left := processesWith(t, a); len(left) > 0 {
			t.Errorf("killed, but left %q", left)
		}
		if left := processesWith(t, b); len(left) < 2 {
			t.Errorf("the other command lost processes, left %q", left)
		}
		if err := second.Kill(); err != nil {
			t.Fatal(err)
		}
		if exit, err := second.Wait(); err != nil || exit.Signal != syscall.SIGKILL {
			t.Errorf("%v, %v", exit, err)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Dir = t.TempDir()
		n := uniqueSleep()
		sb := open(t, cfg)
		p, err := sb.Start(t.Context(), Cmd{Args: []string{"sleep", n}})
		if err != nil {
			t.Fatal(err)
		}
		sh(t, sb, "setsid sleep "+n+" & nohup sleep "+n+" >/dev/null 2>&1 & echo")
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		if left := processesWith(t, n); len(left) > 0 {
			t.Errorf("Close left %q", left)
		}
		select {
		case <-p.Done():
		default:
			t.Error("Close returned before the running command was done")
		}
		if _, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
			t.Errorf("Exec after Close: %v", err)
		}
		if err := sb.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// TestCancelAtRandomPoints checks that cancellation at any moment, from before the start to after
// the end, leaves no process.
func TestCancelAtRandomPoints(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		t.Parallel()
		sb := open(t, cfg)
		n := uniqueSleep()
		for i := range tier.Pick(8, 60, 600) {
			ctx, cancel := context.WithCancel(t.Context())
			delay := time.Duration(rand.IntN(8000)) * time.Microsecond
			time.AfterFunc(delay, cancel)
			exit, err := sb.Exec(ctx, Cmd{Args: []string{"sh", "-c", fmt.Sprintf("(setsid sleep %s &); sleep %s & sleep %s", n, n, n)}})
			if err == nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("round %d after %v: %v, %v", i, delay, exit, err)
			}
			if exit != nil && !exit.Canceled {
				t.Errorf("round %d: exit does not say it was canceled: %v", i, exit)
			}
			cancel()
		}
		if left := processesWith(t, n); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
}

func TestInputAndSignals(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		var mu sync.Mutex
		var seen bytes.Buffer
		p, err := sb.Start(t.Context(), Cmd{
			Args: []string{"sh", "-c", `trap 'echo usr' USR1; while read l; do echo "got $l"; done; echo end`}, OpenStdin: true,
			OnOutput: func(s Stream, b []byte) {
				mu.Lock()
				defer mu.Unlock()
				seen.Write(b)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		has := func(want string) func() bool {
			return func() bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(seen.String(), want)
			}
		}
		if _, err := io.WriteString(p, "one\n"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "echo of one", has("got one\n"))
		if out, _ := p.Output(); out.String() != "got one\n" {
			t.Errorf("Output while running: %q", out)
		}
		if err := p.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the signal", has("usr\n"))
		if p.PID() <= 0 {
			t.Errorf("pid %d", p.PID())
		}
		if err := p.CloseStdin(); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || !exit.Success() {
			t.Fatalf("%v, %v", exit, err)
		}
		if !has("end\n")() {
			t.Errorf("callback saw %q", seen.String())
		}
		if _, err := p.Write([]byte("late")); err == nil {
			t.Error("Write after the end succeeded")
		}
		if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Signal after the end: %v", err)
		}
	})
}

// TestFileAsInput checks that a file is copied to the command, and remains the caller's.
func TestFileAsInput(t *testing.T) {
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		dir := t.TempDir()
		write(t, dir, "in", "from a file")
		f, err := os.Open(dir + "/in")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := mustExec(t, sb, Cmd{Args: []string{"cat"}, Stdin: f}).Stdout.String(); got != "from a file" {
			t.Errorf("got %q", got)
		}
		if _, err := f.Seek(0, 0); err != nil {
			t.Errorf("the caller's file was closed: %v", err)
		}
	})
}
