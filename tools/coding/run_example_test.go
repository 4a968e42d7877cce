package coding_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// Commands run in the workspace. A command that does not end in time continues in the background
// until the workspace is closed.
func ExampleProcConfig() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ws, err := coding.Open(dir, coding.Config{Proc: coding.ProcConfig{Background: 4}})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, err := ws.Tools()
	if err != nil {
		log.Fatal(err)
	}
	reg, err := tools.NewRegistry(ts...)
	if err != nil {
		log.Fatal(err)
	}
	for _, command := range []string{"echo hello > greeting; cat greeting", "exit 3"} {
		args, _ := json.Marshal(map[string]string{"command": command})
		out := reg.Call(context.Background(), agent.ToolCall{ID: "1", Name: "shell", Args: args}).Text()
		text, _, _ := strings.Cut(out, " after ")
		fmt.Println(text)
	}
	// Output:
	// hello
	// [exit code 0
	// (no output)
	// [exit code 3
}

// A custom linter consists of a command and a pattern that matches its findings.
func ExampleLinter() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("all good\nfixme later\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	ws, err := coding.Open(dir, coding.Config{Proc: coding.ProcConfig{Linters: []coding.Linter{{
		Name: "fixme", Args: []string{"grep", "-Hn", "fixme"}, Paths: true, Extensions: []string{".txt"},
		Pattern: `^(?P<path>[^:]+):(?P<line>\d+):(?P<message>.*)$`,
	}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, err := ws.Tools()
	if err != nil {
		log.Fatal(err)
	}
	reg, err := tools.NewRegistry(ts...)
	if err != nil {
		log.Fatal(err)
	}
	out := reg.Call(context.Background(), agent.ToolCall{ID: "1", Name: "lint", Args: json.RawMessage(`{"paths":["notes.txt"]}`)}).Text()
	fmt.Println(strings.Split(out, "\n")[1])
	// Output: notes.txt:2: fixme later (fixme)
}

// recorder is a sandbox of the host's own around another: it notes what runs.
type recorder struct {
	sandbox.Sandbox
	log io.Writer
}

func (r recorder) Exec(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	exit, err := r.Sandbox.Exec(ctx, cmd)
	if err == nil {
		fmt.Fprintln(r.log, "ran", cmd.Args[0], exit.Code)
	}
	return exit, err
}

func (r recorder) Start(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Process, error) {
	fmt.Fprintln(r.log, "started", cmd.Args[len(cmd.Args)-1])
	return r.Sandbox.Start(ctx, cmd)
}

// Every program runs in the sandbox that the host gives, whatever implements it.
func ExampleProcConfig_sandbox() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	box, err := sandbox.Local(context.Background(), sandbox.Config{Dir: dir, Floor: sandbox.TierNone, Ceiling: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	ws, err := coding.Open(dir, coding.Config{Proc: coding.ProcConfig{Sandbox: recorder{box, os.Stdout}}})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, err := ws.Tools()
	if err != nil {
		log.Fatal(err)
	}
	reg, err := tools.NewRegistry(ts...)
	if err != nil {
		log.Fatal(err)
	}
	reg.Call(context.Background(), agent.ToolCall{ID: "1", Name: "shell", Args: []byte(`{"command":"echo hello"}`)})
	// Output: started echo hello
}
