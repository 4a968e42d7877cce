package remote_test

import (
	"context"
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
