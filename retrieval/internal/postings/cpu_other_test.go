//go:build !unix

package postings

import "time"

var began = time.Now()

// cpuTime returns elapsed time, because processor time is not available here.
func cpuTime() time.Duration { return time.Since(began) }
