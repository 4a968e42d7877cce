package tier

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestChildrenCanBeInterrupted runs this test again by a shell that ignores interrupts.
func TestChildrenCanBeInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	const again = "LUTHIER_TEST_INTERRUPT"
	if os.Getenv(again) != "" {
		if err := exec.Command("sh", "-c", "kill -INT $$; sleep 0.1").Run(); err == nil {
			t.Error("a child ignores interrupts")
		}
		return
	}
	cmd := exec.Command("sh", "-c", `trap '' INT; "$0" -test.run='^TestChildrenCanBeInterrupted$'`, os.Args[0])
	cmd.Env = append(os.Environ(), again+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
