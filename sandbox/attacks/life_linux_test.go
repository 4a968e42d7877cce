package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestAttackLife runs attacks that try to outlive their command. That the death of the host or of
// the supervisor ends everything, and that an interrupted start leaves nothing behind, is tested by
// TestHostDeathEndsEverything, TestSupervisorDeath and TestCancelDuringStart.
//
// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackLife(t *testing.T) {
	t.Parallel()
	runAttacks(t, "life")
}

// outlives returns an attack that tries to keep running when its command is ended. In script, $1 is
// the time that its processes sleep, by which they are found; count of them must run before the
// command is ended.
func outlives(name, does string, count int, script string, end func(b *bed, stop func(), p *sandbox.Process)) attack {
	return attack{name: name, does: does, alone: true, play: func(b *bed) { b.outlive(script, count, end) }, bit: func(b *bed) string {
		left := processesWith(b.t, b.state["mark"].(string))
		for _, p := range left { // left by the control run
			var pid int
			if _, err := fmt.Sscanf(p, "%d:", &pid); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if len(left) > 0 {
			return fmt.Sprintf("%d processes live on: %v", len(left), left)
		}
		return ""
	}}
}

// Ways to end a command.
func byCancel(b *bed, stop func(), p *sandbox.Process) {
	stop()
	if _, err := p.Wait(); !errors.Is(err, context.Canceled) {
		b.t.Errorf("Wait: %v", err)
	}
}

func byKill(b *bed, _ func(), p *sandbox.Process) {
	if err := p.Kill(); err != nil {
		b.t.Errorf("Kill: %v", err)
	}
}

func byClose(b *bed, _ func(), p *sandbox.Process) {
	if err := b.sb.Close(); err != nil {
		b.t.Errorf("Close: %v", err)
	}
	_, _ = p.Wait()
}

// outlive starts the script, ends it halfway and records its mark.
func (b *bed) outlive(script string, count int, end func(*bed, func(), *sandbox.Process)) {
	mark := uniqueSleep()
	b.state["mark"] = mark
	args := []string{"sh", "-c", script, "sh", mark}
	begun := func() bool { return sleepers(b.t, mark) >= count }
	if b.sb == nil {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.SysProcAttr = b.dir, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			b.t.Fatal(err)
		}
		eventually(b.t, "start", begun)
		_ = cmd.Process.Kill() // what a host without a sandbox would do
		_ = cmd.Wait()
		return
	}
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	p, err := b.sb.Start(ctx, sandbox.Cmd{Args: args, Dir: b.dir})
	if err != nil {
		b.t.Fatal(err)
	}
	eventually(b.t, "start", begun)
	end(b, stop, p)
	b.ending = "ok"
}

// sleepers counts the processes that sleep for the time mark.
func sleepers(t testing.TB, mark string) int {
	n := 0
	for _, p := range processesWith(t, mark) {
		if strings.Contains(p, ": sleep ") {
			n++
		}
	}
	return n
}

func init() {
	attacks["life"] = append([]attack{
		outlives("session", "leaves its session", 2, `setsid sleep $1 & sleep $1`, byCancel),
		outlives("session, closed", "leaves its session before the sandbox closes", 2, `setsid sleep $1 & sleep $1`, byClose),
		outlives("double fork", "is nobody's child any more", 2, `(setsid sh -c '(sleep $1 &) & exit' sh $1 &); sleep $1`, byCancel),
		outlives("no environment", "drops its environment, session, parent and directory before the sandbox closes", 2,
			`(cd / && env -i PATH=$PATH setsid sh -c '(sleep $1 &) & exit' sh $1 &); sleep $1`, byClose),
		outlives("stopped", "stops itself and its children", 2, `sleep $1 & (setsid sleep $1 &); sleep 0.5; kill -STOP $!; kill -STOP $$; wait`, byCancel),
		outlives("deaf", "ignores every signal that can be ignored", 2, `trap '' TERM HUP INT QUIT USR1 PIPE; setsid sleep $1 & sleep $1`, byKill),
		outlives("closed output", "closes its files and lives on", 2, `setsid sleep $1 <&- >&- 2>&- & sleep $1`, byCancel),
		outlives("held output", "keeps the output open in the background", 2, `setsid sleep $1 & (sleep $1 &) ; exit 0`, func(b *bed, _ func(), p *sandbox.Process) {
			if exit, err := p.Wait(); err != nil || !exit.Success() { // does not wait for the end of the pipe
				b.t.Errorf("Wait: %v %v", exit, err)
			}
			byClose(b, nil, p)
		}),
		{name: "lease at its end", does: "computes on when its lease has ended", play: leaseEnds, bit: func(b *bed) string {
			if n := len(processesWith(b.t, b.state["mark"].(string))); n > 0 {
				return fmt.Sprintf("%d processes live on", n)
			}
			return ""
		}},
		{name: "another sandbox", does: "goes for the files and the sockets of another sandbox of this host", play: twoSandboxes, bit: func(b *bed) string {
			why, _ := b.state["met"].(string)
			return why
		}},
	}, leftovers()...)
}

// leaseEnds uses a lease of a pool for a short while; the control keeps it.
func leaseEnds(b *bed) {
	p, err := sandbox.NewPool(sandbox.PoolConfig{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.undo = append(b.undo, func() { p.Close() })
	r := sandbox.Request{Snapshot: sandbox.SnapshotDir(b.dir), Domain: "attack"}
	if b.sb != nil {
		r.Hold = time.Second
	}
	sb, err := p.Acquire(b.t.Context(), r)
	if err != nil {
		b.t.Skipf("no lease: %v", err)
	}
	b.state["mark"] = uniqueSleep()
	c, err := sb.Start(b.t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "setsid sleep $1 & sleep $1", "sh", b.state["mark"].(string)}})
	if err != nil {
		return // the host is so busy that the lease has already ended
	}
	if b.sb == nil {
		eventually(b.t, "start", func() bool { return sleepers(b.t, b.state["mark"].(string)) >= 2 })
		return
	}
	<-c.Done()
	eventually(b.t, "end of the lease", func() bool {
		_, err := sb.Exec(b.t.Context(), sandbox.Cmd{Args: []string{"true"}})
		return errors.Is(err, sandbox.ErrClosed)
	})
	// Close returns once everything is gone.
	if err := sb.Close(); err != nil {
		b.t.Error(err)
	}
}

// twoSandboxes has a second sandbox look for what the first one's command offers; in the control
// both are the same sandbox.
func twoSandboxes(b *bed) {
	dirs := [2]string{b.t.TempDir(), b.t.TempDir()}
	first := open(b.t, sandbox.Config{Dir: dirs[0], ReadOnly: []string{self(b.t)}})
	second := first
	if b.sb != nil {
		second = open(b.t, sandbox.Config{Dir: dirs[1], ReadOnly: []string{self(b.t)}})
	}
	mark := uniqueSleep()
	p, err := first.Start(b.t.Context(), sandbox.Cmd{Args: []string{self(b.t), mark}, Env: []string{helperEnv + "=offer", "MARK=" + b.secret}})
	if err != nil {
		b.t.Fatal(err)
	}
	eventually(b.t, "offer", func() bool { return there(dirs[0]+"/ready") != "" })
	exit := mustExec(b.t, second, sandbox.Cmd{Args: []string{self(b.t), mark, dirs[0], b.secret}, Env: []string{helperEnv + "=take-offer"}})
	if exit.Code == 0 {
		b.state["met"] = "they met: " + exit.Stdout.String()
	}
	b.told, b.ending = exit.Stderr.String(), "ok"
	if err := p.Kill(); err != nil {
		b.t.Error(err)
	}
}
