package jinja

import "time"

// Template is a parsed template. It is read-only: one may be rendered by many goroutines at once.
type Template struct {
	body []stmt
	vars []string // names the template may take from outside
	size int      // slots of the outermost frame
}

// Options bounds a rendering and sets its surroundings. The zero value is ready to use.
type Options struct {
	// Fuel is the number of steps: a statement, a call, a round of a loop or 16 bytes of text made.
	// 0 means DefaultFuel.
	Fuel int
	// MaxOutput is the size in bytes of the result and of every text made on the way. 0 means
	// DefaultMaxOutput.
	MaxOutput int
	// Now is the clock of strftime_now; the zero time means time.Now().
	Now time.Time
	// AllowMutation lets templates call append, pop, update and their like. Hugging Face forbids
	// it, which is the default; some templates written for other engines need it. The variables may
	// be changed then, so they must not be shared.
	AllowMutation bool
}

// Limits when Options does not set them. The fuel is some seconds of work, the output some million
// tokens.
const (
	DefaultFuel      = 50_000_000
	DefaultMaxOutput = 64 << 20
)
