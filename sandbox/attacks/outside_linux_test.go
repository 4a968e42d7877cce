package attacks_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestBrokerStaysOutside checks that the broker's first thread, which ends only with the broker,
// never enters a sandbox: it would keep the mounts of a closed one alive.
func TestBrokerStaysOutside(t *testing.T) {
	open(t, sandbox.Config{})
	for range 20 {
		sb := open(t, sandbox.Config{Dir: t.TempDir()})
		p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil { // done by a broker thread that enters the sandbox
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
