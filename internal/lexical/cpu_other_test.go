//go:build !unix

package lexical

import "time"

var began = time.Now()

// cpuTime returns elapsed time, for want of better.
func cpuTime() time.Duration { return time.Since(began) }
