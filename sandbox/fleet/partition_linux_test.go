package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

var jobCount = flag.Int("fleet.jobs", 600, "jobs of the tests with hosts that die and links that fail")

// worldEnv marks the process whose network namespace contains a whole test: the server and a
// bridge. Each host is a process in a separate namespace, connected by a virtual cable.
const worldEnv = "LUTHIER_FLEET_WORLD"

// inWorld runs the calling test again in a new network namespace, and returns true there.
func inWorld(t *testing.T) bool {
	if os.Getenv(worldEnv) != "" {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-fleet.jobs=%d", *jobCount))
	cmd.Env = append(os.Environ(), worldEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("no network namespace can be made here: %v", err)
	case err != nil:
		t.Errorf("in its own network: %v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

// world is a server and hosts connected by virtual cables.
type world struct {
	t      *testing.T
	bridge netlink.Link
	server *fleet.Server
	engine fleet.Engine
	hosts  []*hostProcess
}

type hostProcess struct {
	id    string
	cmd   *exec.Cmd
	cable netlink.Link
	stdin io.Closer
	out   bytes.Buffer
	once  sync.Once
}

const worldToken = "secret of this test"

func newWorld(t *testing.T, hosts int) *world {
	w := &world{t: t}
	var err error
	if w.bridge, err = setUpBridge("10.77.0.1/24"); err != nil {
		t.Skipf("no bridge can be made here: %v", err)
	}
	w.server = embedded(t, fleet.ServerConfig{Listen: "10.77.0.1:4222", Token: worldToken, NoSync: true})
	w.engine = connect(t, fleet.NATSConfig{Server: w.server, AckWait: 3 * time.Second, Presence: 3 * time.Second})
	for i := range hosts {
		w.start(fmt.Sprintf("h%d", i+1), fmt.Sprintf("10.77.0.%d/24", 10+i))
	}
	present(t, w.engine, hosts)
	return w
}

func (w *world) start(id, addr string) {
	h := &hostProcess{id: id, cmd: exec.Command("/proc/self/exe")}
	h.cmd.Env = append(os.Environ(), roleEnv+"=host", "FLEET_ID="+id, "FLEET_ADDR="+addr, "FLEET_URL=nats://10.77.0.1:4222", "FLEET_TOKEN="+worldToken, "TMPDIR="+w.t.TempDir())
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	h.cmd.Stdout, h.cmd.Stderr = &h.out, os.Stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	h.stdin = in
	if err := h.cmd.Start(); err != nil {
		w.t.Skipf("no network namespace for a host: %v", err)
	}
	w.t.Cleanup(func() { h.kill() })
	if h.cable, err = plug(w.bridge, id, h.cmd.Process.Pid); err != nil {
		w.t.Skipf("no cable to host %s: %v", id, err)
	}
	w.hosts = append(w.hosts, h)
}

func (h *hostProcess) kill() {
	_ = h.cmd.Process.Kill()
	h.once.Do(func() { _ = h.cmd.Wait() })
}

// stop shuts a host down in an orderly way and returns its stats.
func (h *hostProcess) stop(t *testing.T) (s fleet.HostStats) {
	t.Helper()
	h.stdin.Close()
	h.once.Do(func() {
		if err := h.cmd.Wait(); err != nil {
			t.Errorf("host %s: %v", h.id, err)
		}
	})
	if err := json.Unmarshal(h.out.Bytes(), &s); err != nil {
		t.Errorf("host %s said %q", h.id, h.out.String())
	}
	return s
}

func (w *world) cut(h *hostProcess, d time.Duration) {
	if err := netlink.LinkSetDown(h.cable); err != nil {
		w.t.Error(err)
	}
	time.Sleep(d)
	if err := netlink.LinkSetUp(h.cable); err != nil {
		w.t.Error(err)
	}
}

// work submits jobs, calls trouble when a fifth of them is done, and checks that each has exactly
// one result, which is never replaced.
func (w *world) work(jobs int, trouble func()) {
	t := w.t
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := fleet.NewClient(w.engine, "test")
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < jobs; i += 4 {
				if err := c.Submit(ctx, job(fmt.Sprintf("j%d", i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	began := time.Now()
	first := map[string]string{}
	for r, err := range c.Results(ctx) {
		if err != nil {
			t.Fatalf("%d of %d jobs done: %v", len(first), jobs, err)
		}
		if _, again := first[r.Job]; again || r.Exit == nil || r.Exit.Stdout.String() != r.Job {
			t.Errorf("result of %s: again %v, %+v", r.Job, again, r)
		}
		first[r.Job] = fmt.Sprint(r.Host, r.Attempt)
		if len(first) == jobs/5 {
			wg.Go(trouble)
		}
		if len(first) == jobs {
			break
		}
	}
	wg.Wait()
	took := time.Since(began)
	attempts := 0
	left := jobs
	for r, err := range c.Results(ctx) { // read the stored results once more
		if err != nil {
			t.Fatalf("%d results missing: %v", left, err)
		}
		if got := fmt.Sprint(r.Host, r.Attempt); got != first[r.Job] {
			t.Errorf("%s was done by %s and now by %s", r.Job, first[r.Job], got)
		}
		attempts += r.Attempt - 1
		if left--; left == 0 {
			break
		}
	}
	t.Logf("%d of %d jobs done in %v, each counted once; %d of the counted were second or later attempts", len(first), jobs, took.Round(time.Millisecond), attempts)
}

// Evidence: remote · A fleet finishes its jobs if hosts die
func TestOneHostKilledAndOneCutOff(t *testing.T) {
	if !inWorld(t) {
		return
	}
	w := newWorld(t, 3)
	w.work(*jobCount, func() {
		w.hosts[0].kill()
		w.cut(w.hosts[1], 3*time.Second)
	})
	for _, h := range w.hosts[1:] {
		t.Logf("host %s: %+v", h.id, h.stop(t))
	}
}

func TestStoppedProcess(t *testing.T) {
	if !inWorld(t) {
		return
	}
	w := newWorld(t, 2)
	w.work(*jobCount/2, func() {
		_ = w.hosts[0].cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second) // longer than AckWait: its jobs are delivered to the other host
		_ = w.hosts[0].cmd.Process.Signal(syscall.SIGCONT)
	})
	for _, h := range w.hosts {
		t.Logf("host %s: %+v", h.id, h.stop(t))
	}
}

// TestLeaseOfHostCutOff checks that a host that is cut off ends the sandbox of a lease that it can
// no longer verify, although the client still renews the lease.
func TestLeaseOfHostCutOff(t *testing.T) {
	if !inWorld(t) {
		return
	}
	w := newWorld(t, 1)
	s, err := fleet.NewClient(w.engine, "test").Open(t.Context(), fleet.Request{TTL: 5 * time.Second, Spec: fleet.Spec{Class: "h1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
		ended <- err
	}()
	w.cut(w.hosts[0], time.Second) // shorter than the lease, so nothing happens
	if exit, err := s.Exec(t.Context(), sandbox.Cmd{Args: []string{"echo", "still here"}}); err != nil || strings.TrimSpace(exit.Stdout.String()) != "still here" {
		t.Fatalf("after a short cut: %+v, %v", exit, err)
	}
	w.cut(w.hosts[0], 12*time.Second)
	select {
	case err := <-ended:
		if !errors.Is(err, fleet.ErrLost) {
			t.Errorf("the command ended with %v, want ErrLost", err)
		}
	case <-time.After(time.Minute):
		t.Error("the command goes on")
	}
	if st := w.hosts[0].stop(t); st.Expired != 1 {
		t.Errorf("host: %+v, want 1 expired", st)
	}
}
