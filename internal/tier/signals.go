package tier

import (
	"os"
	"os/signal"
)

// interruptible lets an interrupt end child processes. A shell that starts the tests in the
// background makes them ignore interrupts, and children inherit that.
func interruptible() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a caught signal is not inherited
	}
}
