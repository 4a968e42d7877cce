//go:build !unix

package obeyed

import "testing"

func fifo(t testing.TB, path string) { t.Skip("no FIFOs here") }
