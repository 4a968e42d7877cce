package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

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
