package jinja

import "time"

// Template is a parsed template. It is read-only, so many goroutines may render it at once.
type Template struct {
	body []stmt
	vars []string // names that may come from outside the template
	size int      // slots of the outermost frame
}

// Options sets the limits and the environment of a rendering. The zero value is ready to use.
type Options struct {
	// Fuel is the number of steps allowed: a statement, a call, an iteration of a loop or 16 bytes
	// of produced text is one step, a macro's call is eight. 0 means DefaultFuel.
	Fuel int
	// MaxOutput is the maximum size in bytes of the result and of every intermediate text. 0 means
	// DefaultMaxOutput.
	MaxOutput int
	// Now is the clock of strftime_now; the zero time means time.Now().
	Now time.Time
	// AllowMutation lets templates call append, pop, update and similar methods. Like Hugging Face,
	// the default forbids this; some templates for other engines need it. The variables may then be
	// changed, so they must not be shared.
	AllowMutation bool
}

// The limits used if Options does not set them. The fuel is enough for some seconds of work, and
// the output for some million tokens.
const (
	DefaultFuel      = 50_000_000
	DefaultMaxOutput = 64 << 20
)
