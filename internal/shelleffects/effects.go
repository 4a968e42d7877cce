package shelleffects

import (
	"slices"
	"strings"
)

// Flags are effects other than reading and writing files of the workspace.
type Flags uint8

// The flags.
const (
	Deletes  Flags = 1 << iota // removes files
	Kills                      // signals processes
	Network                    // may reach the network
	Executes                   // runs a program or script whose effects are not known
	Outside                    // touches paths outside the workspace
	Secret                     // may read credentials
)

var flagNames = [...]string{"deletes", "kills", "network", "executes", "outside", "secret"}

// String lists the flags, such as "deletes|outside", or "none".
func (f Flags) String() string {
	var names []string
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "|")
}

// Effects lists what a command touches.
type Effects struct {
	// Known reports whether the lists and flags are complete. A command with Known false may do
	// anything.
	Known bool
	// Reads and Writes are slash-separated paths relative to the workspace, or absolute (or
	// starting with "~") outside it, sorted, without duplicates. A path includes everything below
	// it; "." is the whole workspace.
	Reads, Writes []string
	Flags         Flags
	// Reasons explain why a command is not read-only, in the order in which its parts appear.
	Reasons []string
}

// ReadOnly reports whether the command is understood and only reads files of the workspace.
func (e Effects) ReadOnly() bool { return e.Known && len(e.Writes) == 0 && e.Flags == 0 }

func (e *Effects) because(reason string) {
	if !slices.Contains(e.Reasons, reason) {
		e.Reasons = append(e.Reasons, reason)
	}
}

func (e *Effects) unknown(reason string) {
	e.Known = false
	e.because(reason)
}

func (e *Effects) flag(f Flags, reason string) {
	e.Flags |= f
	e.because(reason)
}

func (e *Effects) finish() {
	slices.Sort(e.Reads)
	e.Reads = slices.Compact(e.Reads)
	slices.Sort(e.Writes)
	e.Writes = slices.Compact(e.Writes)
}
