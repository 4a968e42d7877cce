package sandbox

import "sync/atomic"

// hooked records that the host called Init. It is the one package variable: a
// fact of the process, without which starting a copy of the program would run
// the host's own main again.
var hooked atomic.Bool

// Init must be the first call in the main of a program that opens sandboxes, and
// in the TestMain of a test that does. In the program itself it only notes that
// it was called. In the copy of the program that supervises a sandbox, it does
// that and never returns.
func Init() {
	if name := stage(); name != "" {
		runStage(name)
	}
	hooked.Store(true)
}
