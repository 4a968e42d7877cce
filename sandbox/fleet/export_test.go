package fleet

import "testing"

// AskHost sends a command to a host as a lease holder would, with any epoch, and returns the raw
// answer.
func AskHost(t testing.TB, e Engine, host, key string, epoch uint64, args ...string) string {
	t.Helper()
	b, err := encode(&hostRequest{Op: opExec, Key: key, Epoch: epoch, Number: 1000, Command: &Command{Args: args}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = e.Call(t.Context(), host, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
