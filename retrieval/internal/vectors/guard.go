package vectors

import (
	"errors"
	"runtime/debug"
)

// errCut says that mapped memory was gone: another program made the file shorter.
var errCut = errors.New("the file was cut short while it was open; delete it and start again")

// guarded calls fn, which reads mapped memory. Without it a file that is cut short would end the
// process.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if _, ok := v.(interface{ Addr() uintptr }); !ok { // what a fault of memory is known by
			panic(v)
		}
		err = errCut
	}()
	return fn()
}
