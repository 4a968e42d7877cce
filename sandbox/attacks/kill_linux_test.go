package attacks_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/internal/cgroup"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
)

// victimHost is a host that makes, uses and closes sandboxes until it is killed. Its program has a
// unique name, by which all processes that came from it are found.
type victimHost struct {
	t     *testing.T
	exe   string
	mark  string // sleep time of its commands, by which they are found
	dir   string // scratch
	cmd   *exec.Cmd
	lines chan string // "ok", or the errors it met

	complaint lockedBuffer
}

func init() {
	helpers["life-host"] = func(a []string) error {
		ctx := context.Background()
		p, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{ScratchDir: a[0]}, Warm: 1})
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			switch err := lifeOnce(ctx, p, a, i%2 == 0); {
			case err == nil:
				fmt.Println("ok")
			case errors.Is(err, sandbox.ErrClosed), strings.Contains(err.Error(), "the broker has died"):
				fmt.Println("clear:", err)
			default:
				fmt.Println("unclear:", err)
			}
		}
	}
}

// lifeOnce uses a lease of a pool, or a separate sandbox.
func lifeOnce(ctx context.Context, p *sandbox.Pool, a []string, leased bool) (err error) {
	var sb sandbox.Sandbox
	if leased {
		sb, err = p.Acquire(ctx, sandbox.Request{Snapshot: sandbox.SnapshotDir(a[1]), Domain: "d"})
	} else {
		sb, err = sandbox.Local(ctx, sandbox.Config{ScratchDir: a[0], Snapshot: sandbox.SnapshotDir(a[1])})
	}
	if err != nil {
		return err
	}
	_, err = sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "touch x /tmp/x; setsid sleep " + a[2] + " & exit 0"}})
	return errors.Join(err, sb.Close())
}

func startVictim(t *testing.T, scratch string) *victimHost {
	t.Helper()
	dir := t.TempDir()
	v := &victimHost{t: t, exe: filepath.Join(dir, "host"), mark: uniqueSleep(), dir: scratch, lines: make(chan string, 1024)}
	placeSelf(t, v.exe)
	write(t, dir, "work/f", "x")
	v.cmd = exec.Command(v.exe, scratch, filepath.Join(dir, "work"), v.mark)
	v.cmd.Env = append(os.Environ(), helperEnv+"=life-host")
	v.cmd.Stderr = &v.complaint
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.cmd.Process.Kill(); v.cmd.Wait() })
	go func() {
		defer close(v.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case v.lines <- s.Text():
			default:
			}
		}
	}()
	return v
}

// left lists the processes that run the host's program, were forked from it, or are commands of its
// sandboxes.
func (v *victimHost) left() (out []int) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		v.t.Fatal(err)
	}
	for _, p := range paths {
		pid, _ := strconv.Atoi(filepath.Base(p))
		if exe, err := os.Readlink(p + "/exe"); err == nil && strings.TrimSuffix(exe, " (deleted)") == v.exe {
			out = append(out, pid)
		} else if b, err := os.ReadFile(p + "/cmdline"); err == nil && bytes.Contains(b, []byte(v.mark)) {
			out = append(out, pid)
		}
	}
	return out
}

// find returns the PID of the host, its broker or its broker's fork server, or 0 if it does not
// exist yet.
func (v *victimHost) find(who string) int {
	if who == "host" {
		return v.cmd.Process.Pid
	}
	broker := v.child(v.cmd.Process.Pid, func(args string) bool { return strings.Contains(args, sandboxtest.BrokerArg) })
	if who == "broker" || broker == 0 {
		return broker
	}
	return v.child(broker, func(args string) bool { return !strings.Contains(args, sandboxtest.BrokerArg) })
}

// child finds a child by its arguments in our PID namespace. Of a broker's children only the fork
// server is in it.
func (v *victimHost) child(parent int, is func(args string) bool) int {
	for _, pid := range v.left() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		args, argsErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if errors.Join(err, argsErr) != nil {
			continue
		}
		if st := proctree.ParseStatus(b); st["PPid"] == strconv.Itoa(parent) && st["NSpid"] == strconv.Itoa(pid) && is(string(args)) {
			return pid
		}
	}
	return 0
}

// TestKilledAnywhere kills a host, its broker or its fork server at many moments of their lives. If
// the host is killed, nothing may be left of it. If its broker or fork server is killed, the host
// must get a clear error and go on.
//
// Evidence: sandbox · Nothing outlives a killed host
func TestKilledAnywhere(t *testing.T) {
	tier.Normal(t)
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user does not see what program a first process runs")
	}
	open(t, sandbox.Config{}) // skips if the tier is not available
	kept := t.TempDir()
	mounts := strings.Count(read(t, "/proc/self/mountinfo"), "\n")
	points := tier.Pick(6, scaled(36), scaled(300))
	var mu sync.Mutex
	var slowest time.Duration
	var all sync.WaitGroup
	room := make(chan struct{}, 6) // most of the time they wait
	for i := range points {
		who := []string{"host", "broker", "fork server"}[i%3]
		// The start takes the first of these milliseconds; after that sandboxes follow each other,
		// so that the exact moment no longer matters.
		delay := time.Duration(i) * 5 * time.Millisecond
		if i%2 == 1 {
			delay = time.Duration(rand.Int64N(int64(200 * time.Millisecond)))
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			t.Run(fmt.Sprintf("%s after %v", who, delay), func(t *testing.T) {
				v := startVictim(t, kept)
				eventually(t, "birth of the "+who, func() bool { return v.find(who) != 0 })
				time.Sleep(delay)
				v.killed(who)
				took := v.goneAfter()
				mu.Lock()
				defer mu.Unlock()
				slowest = max(slowest, took)
			})
		})
	}
	all.Wait()
	t.Logf("the last process of a killed host was gone after %v", slowest)
	if n := strings.Count(read(t, "/proc/self/mountinfo"), "\n"); n != mounts {
		t.Errorf("%d mounts, had %d", n, mounts)
	}
	open(t, sandbox.Config{Dir: t.TempDir(), ScratchDir: kept}) // its broker sweeps this directory
	eventually(t, "removal of the files", func() bool {
		left, err := filepath.Glob(kept + "/" + scratch.Prefix + "*/" + scratch.Lock)
		return err == nil && len(left) == 1
	})
	// If the host was killed before it had locked its directory, the directory counts as abandoned
	// only after a while.
	if _, err := scratch.Sweep(kept, time.Now().Add(2*time.Hour)); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(kept + "/*"); len(left) != 1 || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
	if n, err := cgroup.Sweep(); n > 0 || err != nil {
		t.Errorf("%d control groups were left, %v", n, err)
	}
}

// killed kills one of the host's processes and checks whether the host goes on.
func (v *victimHost) killed(who string) {
	v.t.Helper()
	pid := 0
	for limit := time.Now().Add(time.Minute); pid == 0; time.Sleep(time.Millisecond) { // one may have just ended by itself before its successor starts
		if pid = v.find(who); pid == 0 && time.Now().After(limit) {
			v.t.Fatalf("nobody to kill among\n%sthe host said %q", v.describe(v.left()), v.complaint.String())
		}
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		v.t.Fatal(err)
	}
	if who == "host" {
		v.cmd.Wait()
		return
	}
	for len(v.lines) > 0 { // from before the kill
		v.hear(<-v.lines)
	}
	// The first "ok" may date from before the kill, and the error of a warm sandbox comes late.
	for ok := 0; ok < 3; {
		select {
		case line, more := <-v.lines:
			if !more {
				v.t.Fatalf("the host died with its %s", who)
			}
			if v.hear(line); line == "ok" {
				ok++
			}
		case <-time.After(time.Minute):
			v.t.Fatalf("the host hangs without its %s", who)
		}
	}
	v.cmd.Process.Kill()
	v.cmd.Wait()
}

func (v *victimHost) hear(line string) {
	v.t.Helper()
	if strings.HasPrefix(line, "unclear") {
		v.t.Error(line)
	}
}

// describe lists processes with what they wait for.
func (v *victimHost) describe(pids []int) string {
	var out strings.Builder
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/", pid)
		args, _ := os.ReadFile(dir + "cmdline")
		stack, _ := os.ReadFile(dir + "stack")
		status, _ := os.ReadFile(dir + "status")
		st := proctree.ParseStatus(status)
		fmt.Fprintf(&out, "%d: %q, parent %s, state %s, numbers %s\n%s", pid, args, st["PPid"], st["State"], st["NSpid"], stack)
	}
	return out.String()
}

// goneAfter waits until no process of a killed host runs, and returns how long that took.
func (v *victimHost) goneAfter() time.Duration {
	v.t.Helper()
	begun := time.Now()
	for left := v.left(); len(left) > 0; left = v.left() {
		if time.Since(begun) > time.Minute {
			v.t.Fatalf("processes %v are left:\n%s", left, v.describe(left))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(begun)
}

// TestKillFindsWhoHides checks that a process that dropped its environment, its session and its
// parent ends with its command if it can be distinguished from other commands' processes, and that
// those are left alone.
func TestKillFindsWhoHides(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	hider := func(n string) string { // its parent ends, which leaves it an orphan
		return "(setsid env -i setsid sh -c 'sleep " + n + " & exec true' &); sleep 0.2"
	}
	for _, tt := range []struct {
		name   string
		before string // earlier commands: run to the end, or left in the background with %s as what stays
		ends   bool
	}{
		{"alone", "true", true},
		{"beside a server of an earlier command", "setsid sleep %s >/dev/null 2>&1 & exit 0", true},
		{"beside an earlier one that hides", hider("%s"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sb := open(t, inDir(t, walled(t, sandbox.TierNamespaces)))
			stays, hides := uniqueSleep(), uniqueSleep()
			sh(t, sb, strings.ReplaceAll(tt.before, "%s", stays))
			was := strings.Count(tt.before, "%s")
			eventually(t, "settling of what stays", func() bool { return len(processesWith(t, stays)) == was && orphaned(t, stays) })
			p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", hider(hides) + "; sleep 1000"}})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "hiding", func() bool { return len(processesWith(t, hides)) == 1 })
			eventually(t, "loss of its parent", func() bool { return orphaned(t, hides) })
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			if left := processesWith(t, hides); (len(left) == 0) != tt.ends {
				t.Errorf("killed, and %q is left", left)
			}
			if now := len(processesWith(t, stays)); now != was {
				t.Errorf("of an earlier command's %d processes %d are left", was, now)
			}
		})
	}
}

// orphaned reports whether the process with the argument is a child of an init process.
func orphaned(t *testing.T, arg string) bool {
	t.Helper()
	for _, p := range processesWith(t, arg) {
		b, _ := os.ReadFile("/proc/" + strings.SplitN(p, ":", 2)[0] + "/status")
		parent, _ := os.ReadFile("/proc/" + proctree.ParseStatus(b)["PPid"] + "/status")
		if !strings.HasSuffix(proctree.ParseStatus(parent)["NSpid"], "\t1") {
			return false
		}
	}
	return true
}

// TestStartsDuringKills checks that commands that start while another is killed are not taken for
// processes of the killed one.
func TestStartsDuringKills(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, inDir(t, walled(t, sandbox.TierNamespaces)))
	for range 60 {
		p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		killed := make(chan error, 1)
		go func() { killed <- p.Kill() }()
		time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond))))
		for range 2 {
			if exit := mustExec(t, sb, sandbox.Cmd{Args: []string{"true"}}); !exit.Success() {
				t.Errorf("a command that did no harm: %v", exit)
			}
		}
		if err := <-killed; err != nil {
			t.Error(err)
		}
	}
}

// lockedBuffer may be read while a program writes to it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
