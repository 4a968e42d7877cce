package fleet_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// TestLeasedSandbox: a session is a sandbox for those who need one, with the tools next to it.
// Commands of both kinds run in the box, and Kill ends one.
//
// Evidence: remote · A lease of the fleet is a sandbox with tools
func TestLeasedSandbox(t *testing.T) {
	e := fleet.NewLocal(fleet.LocalConfig{})
	t.Cleanup(func() { e.Close() })
	host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Tools: openTools})
	present(t, e, 1)
	box := openSession(t, e, fleet.Request{}).Sandbox()
	with, ok := sandbox.As[remote.WithTools](box)
	if !ok {
		t.Fatal("no tools")
	}
	args, err := json.Marshal(toolArgs{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with.ToolCaller().Call(t.Context(), remote.ToolRequest{Name: "append", Args: args}, remote.ToolHandlers{}); err != nil {
		t.Fatal(err)
	}
	if exit, err := box.Exec(t.Context(), sh("cat log; echo err >&2")); err != nil || exit.Stdout.String() != "one\n" || exit.Stderr.String() != "err\n" {
		t.Errorf("%v, %v", exit, err)
	}
	var out strings.Builder
	exit, err := box.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "cat; echo out; echo err >&2; exit 3"}, Stdin: strings.NewReader("in\n"), MergeStderr: true,
		OnOutput: func(_ sandbox.Stream, b []byte) { out.Write(b) }})
	if err != nil || exit.Code != 3 || !strings.HasPrefix(out.String(), "in\n") || !strings.Contains(out.String(), "err\n") {
		t.Errorf("a command whose output is followed: %v, %v: %q", exit, err, out.String())
	}
	p, err := box.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Success() || time.Since(begun) > time.Minute {
		t.Errorf("killed: %v, %v", exit, err)
	}
	if _, err := box.Start(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
}
