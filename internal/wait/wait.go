// Package wait waits for a duration or until a context ends, and reads how long a server asks to
// wait.
package wait

import (
	"context"
	"time"
)

// For returns nil after d, or the cause of ctx's end if that comes first.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
