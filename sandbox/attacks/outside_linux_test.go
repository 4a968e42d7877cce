package attacks_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// The broker's first thread, which ends only with the broker, never goes into a
// sandbox: it would hold a dead one's mounts.
func TestBrokerStaysOutside(t *testing.T) {
	open(t, sandbox.Config{})
	for range 20 {
		sb := open(t, sandbox.Config{Dir: t.TempDir()})
		p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil { // by a thread of the broker's that goes in
			t.Fatal(err)
		}
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, broker := range brokerPIDs(t, os.Getpid()) {
		own, err := os.Readlink("/proc/self/ns/mnt")
		is, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", broker))
		if err != nil || err2 != nil || os.Geteuid() == 0 && is != own {
			t.Errorf("the broker is among the mounts %s, the host %s; %v, %v", is, own, err, err2)
		}
	}
}
