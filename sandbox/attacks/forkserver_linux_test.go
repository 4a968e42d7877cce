package attacks_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestNurseryDeath checks that killing a fork server costs no sandbox: existing ones go on, and the
// next are made by another fork server, even if it is killed while many are being made.
func TestNurseryDeath(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's broker is another's child")
	}
	standing := open(t, sandbox.Config{})
	n := uniqueSleep()
	p, err := standing.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", n}})
	if err != nil {
		t.Fatal(err)
	}
	before := stands(t)
	last := before.forkServer
	for range 5 {
		done := make(chan error, 4)
		for range cap(done) {
			go func() {
				sb, err := sandbox.Local(t.Context(), sandbox.Config{Dir: t.TempDir()})
				if err == nil {
					_, err = sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}})
					sb.Close()
				}
				done <- err
			}()
		}
		if err := unix.Kill(last, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Errorf("a sandbox made meanwhile: %v", err)
			}
		}
		// Up to four sandboxes may have been made before it was found dead.
		open(t, sandbox.Config{}).Close()
		now := stands(t)
		if now.forkServer == last || now.broker != before.broker {
			t.Fatalf("broker %d, fork server %d; they were %d and %d", now.broker, now.forkServer, before.broker, last)
		}
		last = now.forkServer
	}
	if left := processesWith(t, n); len(left) != 1 {
		t.Errorf("of what ran before %q is left", left)
	}
	sh(t, standing, "true")
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	eventually(t, "end of all children but the fork server and a sandbox", func() bool {
		now := stands(t)
		return now.children <= before.children && now.descriptors[1] <= before.descriptors[1]+1
	})
}
