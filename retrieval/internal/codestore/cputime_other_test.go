//go:build !unix

package codestore

import "time"

func cpuTime() time.Duration { return 0 }
