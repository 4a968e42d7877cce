package sandbox

import "sync/atomic"

// hooked records that the host called Init. It is a package variable because it is a fact of the
// process: without the call, starting a copy of the program would run the host's own main again.
var hooked atomic.Bool

// Init must be the first call in the main of a program that opens sandboxes, and in the TestMain of
// a test that does. In the program itself it only records the call. In a copy of the program that
// makes or supervises sandboxes, it does that work and never returns.
func Init() {
	if name := stage(); name != "" {
		runStage(name)
	}
	hooked.Store(true)
}
