package codestore

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault means that mapped bytes could not be read: another program truncated the file, or the
// disk failed.
var ErrFault = errors.New("codestore: a mapped segment can no longer be read; index the tree again")

// Guard calls fn and returns its error, or ErrFault if fn accessed mapped bytes that no longer
// exist. It covers only the calling goroutine: each goroutine that reads sections needs its own
// Guard. It costs about 20 ns.
func Guard(fn func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		switch p := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("%w (address %#x)", ErrFault, p.Addr())
		default:
			panic(p)
		}
	}()
	return fn()
}
