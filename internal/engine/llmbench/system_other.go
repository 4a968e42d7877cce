//go:build !linux

package main

import "errors"

// cpuTime returns 0, since the processor time is unknown.
func cpuTime() int64 { return 0 }

func dropCache(string) error {
	return errors.New("this system's page cache cannot be told to forget a file")
}

func residentMiB() (now, peak int) { return 0, 0 }

func resetPeak() {}
