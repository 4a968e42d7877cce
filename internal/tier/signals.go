package tier

import (
	"os"
	"os/signal"
)

// interruptible makes child processes end at an interrupt, as usual. A shell that starts the tests
// in the background has them ignore it, children inherit that, and a test that interrupts one would
// wait for ever.
func interruptible() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a caught signal is not inherited
	}
}
