//go:build !linux

package tree

import (
	"context"
	"time"
)

// LocalClock reports whether the times of files in dir come from this machine's clock; here that is
// not known.
func LocalClock(string) bool { return false }

// AwaitTick waits until changes of files get times after t; here they may lag behind the clock.
func AwaitTick(context.Context, time.Time) {}
