package vectors

import (
	"errors"
	"runtime/debug"
)

// errCut means that mapped memory was gone: another program truncated the file.
var errCut = errors.New("the file was cut short while it was open; delete it and start again")

// guarded calls fn, which reads mapped memory, and turns a memory fault into an error. Otherwise a
// truncated file would crash the process.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if _, ok := v.(interface{ Addr() uintptr }); !ok { // memory faults are recognised by this method
			panic(v)
		}
		err = errCut
	}()
	return fn()
}
