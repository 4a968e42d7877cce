package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// The floor is lowered here so that the example runs on any host; a program that
// runs a model's commands leaves it as it is.
func ExampleLocal() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sb, err := sandbox.Local(context.Background(), sandbox.Config{Dir: dir, Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	exit, err := sb.Exec(context.Background(), sandbox.Cmd{
		Args:    []string{"sh", "-c", "echo hello; exit 3"},
		Timeout: time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(exit.Stdout)
	fmt.Println(exit)
	// Output:
	// hello
	// exit status 3
}

// Commands change a private view of a snapshot; the changes can be listed.
func ExampleSnapshotDir() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("original\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	if _, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "echo changed > a.txt; echo new > b.txt"}}); err != nil {
		log.Fatal(err)
	}
	changes, err := sb.(sandbox.Differ).Changes(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		fmt.Println(c.Kind, c.Path)
	}
	b, _ := os.ReadFile(filepath.Join(dir, "a.txt"))
	fmt.Print("outside: ", string(b))
	// Output:
	// modified a.txt
	// added b.txt
	// outside: original
}

// A command can be started, fed and watched while it runs.
func ExampleProcess() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	sb, err := sandbox.Local(ctx, sandbox.Config{Dir: dir, Floor: sandbox.TierNone})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	p, err := sb.Start(ctx, sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(p, "one line")
	p.CloseStdin()
	exit, err := p.Wait()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %d bytes\n", exit.Stdout.Head, exit.Stdout.Total)
	// Output:
	// "one line\n" 9 bytes
}

// A pool keeps sandboxes ready and shares them between tenants. Sandboxes of one trust domain are
// cleaned and used again, which needs no new start.
func ExamplePool_Acquire() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	pool, err := sandbox.NewPool(sandbox.PoolConfig{
		Config: sandbox.Config{Floor: sandbox.TierNone}, // so that this runs anywhere
		Max:    8, Warm: 1, WarmMax: 4,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	for _, user := range []string{"ann", "bob", "ann"} {
		sb, err := pool.Acquire(context.Background(), sandbox.Request{
			Snapshot: sandbox.SnapshotDir(dir),
			Tenant:   user, Domain: user,
			Deadline: time.Now().Add(time.Minute),
		})
		var full *sandbox.QueueFullError
		if errors.As(err, &full) {
			fmt.Println("try again later:", full.Queued, "wait already")
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		exit, err := sb.Exec(context.Background(), sandbox.Cmd{Args: []string{"echo", "hello", user}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(exit.Stdout)
		sb.Close()
	}
	// Output:
	// hello ann
	// hello bob
	// hello ann
}
