//go:build !unix

package postings

import "time"

var began = time.Now()

// cpuTime returns elapsed time, for want of better.
func cpuTime() time.Duration { return time.Since(began) }
