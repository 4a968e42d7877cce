package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// A sandbox on a server is used like one on this machine. The floor is lowered
// here so that the example runs on any host.
func ExampleOpen() {
	state, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(state)
	srv, err := remote.NewServer(remote.Config{
		Dir:     state,
		Tenants: []remote.Tenant{{Name: "ci", Token: "a long random token"}},
		Sandbox: sandbox.Config{Floor: sandbox.TierNone},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	listener := httptest.NewServer(srv)
	defer listener.Close()

	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	sb, err := remote.Open(ctx, remote.Options{URL: listener.URL, Token: "a long random token", Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "cat a.txt; echo changed > a.txt"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(exit.Stdout)
	changes, err := sb.Changes(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		fmt.Println(c.Kind, c.Path)
	}
	// Output:
	// hello
	// modified a.txt
}

// counter is a toolbox with one tool, which counts the files of its sandbox.
type counter struct{ sb sandbox.Sandbox }

func (c counter) Specs(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`[{"name":"count","description":"counts the files"}]`), nil
}

func (c counter) Call(ctx context.Context, _ remote.ToolRequest, out remote.ToolOutput) (json.RawMessage, error) {
	out.Progress("counting")
	exit, err := c.sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "find . -type f | wc -l"}})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(exit.Stdout.String()), nil
}

func (c counter) Close() error { return nil }

// Tools run next to the sandbox. A host implements remote.Toolbox; the client calls it by name.
func ExampleTools() {
	state, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(state)
	srv, err := remote.NewServer(remote.Config{
		Dir:     state,
		Tenants: []remote.Tenant{{Name: "ci", Token: "a long random token"}},
		Sandbox: sandbox.Config{Floor: sandbox.TierNone},
		Tools:   func(_ context.Context, sb sandbox.Sandbox) (remote.Toolbox, error) { return counter{sb}, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	listener := httptest.NewServer(srv)
	defer listener.Close()

	ctx := context.Background()
	sb, err := remote.Open(ctx, remote.Options{URL: listener.URL, Token: "a long random token"})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	if _, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"touch", "a", "b"}}); err != nil {
		log.Fatal(err)
	}
	result, err := sb.Tools().Call(ctx, remote.ToolRequest{Name: "count"}, remote.ToolHandlers{
		Progress: func(text string) { fmt.Println(text) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", result)
	// Output:
	// counting
	// 2
}
