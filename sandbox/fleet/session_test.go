package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func openSession(t *testing.T, e fleet.Engine, req fleet.Request) *fleet.Session {
	t.Helper()
	req.Class = "c"
	s, err := fleet.NewClient(e, "test").Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func sh(script string) sandbox.Cmd {
	return sandbox.Cmd{Args: []string{"sh", "-c", script}, Timeout: time.Minute}
}

func TestSession(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Places: 2})
		present(t, e, 1)
		s := openSession(t, e, fleet.Request{Key: "k"})
		if s.Dir() == "" || s.Isolation().Tier != sandbox.TierNone || s.Lease().Host != "h1" {
			t.Errorf("dir %q, tier %v, lease %+v", s.Dir(), s.Isolation().Tier, s.Lease())
		}
		cmd := sh("cat > f; echo $X; exit 4")
		cmd.Stdin, cmd.Env = strings.NewReader("hello"), []string{"X=y"}
		exit, err := s.Exec(t.Context(), cmd)
		if err != nil || exit.Code != 4 || exit.Stdout.String() != "y\n" {
			t.Fatalf("%+v, %v", exit, err)
		}
		var wg sync.WaitGroup
		for range 8 { // the commands of a session see each other's files
			wg.Go(func() {
				if exit, err := s.Exec(t.Context(), sh("cat f")); err != nil || exit.Stdout.String() != "hello" {
					t.Errorf("%+v, %v", exit, err)
				}
			})
		}
		wg.Wait()
		if _, err := fleet.NewClient(e, "x").Open(t.Context(), fleet.Request{Key: "k", Spec: fleet.Spec{Class: "c"}}); !errors.Is(err, fleet.ErrHeld) {
			t.Errorf("the same key again: %v, want ErrHeld", err)
		}
		if _, err := s.Exec(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("a program that is not there: %v, want exec.ErrNotFound", err)
		}
		if _, err := s.Exec(t.Context(), sandbox.Cmd{Args: []string{"x"}, OnOutput: func(sandbox.Stream, []byte) {}}); err == nil {
			t.Error("a callback was accepted")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Exec(t.Context(), sh("true")); !errors.Is(err, fleet.ErrClosed) {
			t.Errorf("Exec after Close: %v, want ErrClosed", err)
		}
		eventually(t, "the host has no session left", func() bool { return h.Status().Leased == 0 })
		openSession(t, e, fleet.Request{Key: "k"})
		if _, err := fleet.NewClient(e, "x").Open(t.Context(), fleet.Request{Spec: fleet.Spec{Class: "c", Snapshot: "none"}}); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("a snapshot that is not there: %v, want ErrRefused", err)
		}
		if _, err := fleet.NewClient(e, "x").Open(t.Context(), fleet.Request{Spec: fleet.Spec{Class: "d"}}); !errors.Is(err, fleet.ErrNoHost) {
			t.Errorf("a class nobody serves: %v, want ErrNoHost", err)
		}
	})
}

func TestSessionCommandCanceled(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t)})
		present(t, e, 1)
		s := openSession(t, e, fleet.Request{})
		ctx, cancel := context.WithCancel(t.Context())
		begun := filepath.Join(t.TempDir(), "begun")
		go func() {
			defer cancel()
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(begun); err == nil {
					return
				}
			}
		}()
		exit, err := s.Exec(ctx, sh("echo begun; touch "+begun+"; sleep 1000"))
		if !errors.Is(err, context.Canceled) || exit == nil || !exit.Canceled || exit.Stdout.String() != "begun\n" {
			t.Errorf("%+v, %v", exit, err)
		}
		if exit, err := s.Exec(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}, Timeout: 50 * time.Millisecond}); err != nil || !exit.TimedOut {
			t.Errorf("%+v, %v", exit, err)
		}
	})
}

// TestLostAnswers checks that a command whose answer is lost is asked for again, not run again.
func TestLostAnswers(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		host(t, fleet.HostConfig{ID: "h1", Engine: newFlaky(e, 1), Backend: boxes(t)})
		present(t, e, 1)
		s := openSession(t, newFlaky(e, 2), fleet.Request{})
		for i := range 40 {
			exit, err := s.Exec(t.Context(), sh("echo x >> log; wc -l < log"))
			if err != nil || strings.TrimSpace(exit.Stdout.String()) != fmt.Sprint(i+1) {
				t.Fatalf("command %d: %+v, %v", i, exit, err)
			}
		}
	})
}

// stall is an engine whose lease holder cannot renew, as if it were stopped or cut off.
type stall struct{ fleet.Engine }

func (s stall) Renew(ctx context.Context, _ fleet.Lease) (fleet.Lease, error) {
	<-ctx.Done()
	return fleet.Lease{}, errFlaky
}

// TestExpiredLeaseMidCommand checks that commands end when their lease expires, and that the old
// holder is refused when another client has the lease.
func TestExpiredLeaseMidCommand(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t)})
		present(t, e, 1)
		s := openSession(t, stall{e}, fleet.Request{Key: "k", TTL: time.Second})
		old := s.Lease()
		_, err := s.Exec(t.Context(), sh("sleep 1000"))
		if !errors.Is(err, fleet.ErrLost) {
			t.Errorf("a command whose lease expired: %v, want ErrLost", err)
		}
		<-s.Lost()
		eventually(t, "the host ended the sandbox", func() bool { return h.Stats().Expired == 1 && h.Status().Leased == 0 })

		next := openSession(t, e, fleet.Request{Key: "k"})
		if next.Lease().Epoch <= old.Epoch {
			t.Errorf("epoch %d after %d", next.Lease().Epoch, old.Epoch)
		}
		for what, epoch := range map[string]uint64{"old": old.Epoch, "future": next.Lease().Epoch + 1} {
			a := fleet.AskHost(t, e, "h1", "k", epoch, "touch", "mine")
			if !strings.Contains(a, `"Code":"stale"`) {
				t.Errorf("command of an %s epoch: %s", what, a)
			}
		}
		if exit, err := next.Exec(t.Context(), sh("ls")); err != nil || exit.Stdout.String() != "" {
			t.Errorf("%+v, %v; nothing must have been run", exit, err)
		}
	})
}

// TestPlacesAreBounded checks that requests beyond a host's places wait, and are served when a
// place is returned.
func TestPlacesAreBounded(t *testing.T) {
	e := fleet.NewLocal(fleet.LocalConfig{})
	defer e.Close()
	h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Places: 1, Waiting: 1})
	present(t, e, 1)
	first := openSession(t, e, fleet.Request{})
	second := make(chan *fleet.Session)
	go func() {
		s, err := fleet.NewClient(e, "test").Open(t.Context(), fleet.Request{Spec: fleet.Spec{Class: "c"}})
		if err != nil {
			t.Error(err)
		}
		second <- s
	}()
	eventually(t, "one waits", func() bool { return h.Status().Waiting == 1 })
	if _, err := fleet.NewClient(e, "test").Open(t.Context(), fleet.Request{Spec: fleet.Spec{Class: "c"}}); !errors.Is(err, fleet.ErrNoHost) {
		t.Errorf("a third: %v, want ErrNoHost", err)
	}
	first.Close()
	s := <-second
	defer s.Close()
	if exit, err := s.Exec(t.Context(), sh("echo hi")); err != nil || exit.Stdout.String() != "hi\n" {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestNextHost checks that hosts that are full or gone are skipped.
func TestNextHost(t *testing.T) {
	e := fleet.NewLocal(fleet.LocalConfig{Presence: time.Hour})
	defer e.Close()
	for i := range 3 { // these hosts were announced, and then died
		if err := e.Announce(t.Context(), fleet.HostStatus{ID: fmt.Sprintf("dead%d", i), Classes: []string{"c"}, Places: 100}); err != nil {
			t.Fatal(err)
		}
	}
	host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t)})
	present(t, e, 4)
	if s := openSession(t, e, fleet.Request{}); s.Lease().Host != "h1" {
		t.Errorf("opened on %s", s.Lease().Host)
	}
}
