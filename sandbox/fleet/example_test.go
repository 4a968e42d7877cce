package fleet_test

import (
	"context"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// A host and a client in one process. A program must call sandbox.Init first in main, and would
// omit Floor, which is only set so that the example runs anywhere.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	engine := fleet.NewLocal(fleet.LocalConfig{})
	defer engine.Close()

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{Floor: sandbox.TierNone}})
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	host, err := fleet.NewHost(fleet.HostConfig{
		Engine: engine, Classes: []string{"sh"},
		Backend: fleet.PoolBackend(pool, map[string]sandbox.Snapshot{"empty": sandbox.SnapshotDir(dir)}),
	})
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = host.Run(ctx) }()

	client := fleet.NewClient(engine, "example")
	result, err := client.Run(ctx, &fleet.Job{ID: "build-1", Class: "sh", Snapshot: "empty",
		Command: fleet.Command{Args: []string{"sh", "-c", "echo hello; exit 3"}}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s%v\n", result.Exit.Stdout, result.Exit)
	stop()
	<-done
	// Output:
	// hello
	// exit status 3
}

// The same ID denotes the same job, which is run only once, however often it is requested.
func ExampleClient_Run() {
	ctx, stop := context.WithCancel(context.Background())
	engine := fleet.NewLocal(fleet.LocalConfig{})
	defer engine.Close()
	runs := 0
	host, err := fleet.NewHost(fleet.HostConfig{Engine: engine, Classes: []string{"any"}, Slots: 1,
		Run: func(context.Context, *fleet.Job) (*sandbox.Exit, error) { runs++; return &sandbox.Exit{}, nil }})
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = host.Run(ctx) }()
	client := fleet.NewClient(engine, "example")
	for range 3 {
		job := &fleet.Job{ID: "once", Class: "any", Command: fleet.Command{Args: []string{"true"}}}
		if _, err := client.Run(ctx, job); err != nil {
			panic(err)
		}
	}
	stop()
	<-done
	fmt.Println(runs)
	// Output: 1
}
