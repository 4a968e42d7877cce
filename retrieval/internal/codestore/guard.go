package codestore

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault says that mapped bytes could not be read: the file was shortened by another program, or
// the disk failed.
var ErrFault = errors.New("codestore: a mapped segment can no longer be read; index the tree again")

// Guard calls fn and returns its error, or ErrFault when fn touched mapped bytes that are gone. It
// holds for the calling goroutine only: each one that reads sections needs its own. It costs some
// 20 ns.
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
