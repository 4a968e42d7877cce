package digest

// A note is a line worth keeping, as it will be written.
type note struct {
	text string
	line int // in the raw output, from 1
}

// A finding is a test that failed, or an error outside of any test, with what is known of it.
type finding struct {
	name     string // of the failing test; empty for an error
	line     int
	strength int    // how sure it is that this is an error: see the constants
	count    int    // how often it was seen
	messages []note // the error itself first
	frames   []note // in the order of the output
	inner    bool   // the innermost frame is the last one, as Python writes them
	details  []note // expected and got
	places   []note // of a diagnostic: where it was reported
	weak     bool   // its first message may give way to a better one
}

// How sure a line is an error.
const (
	strengthHint    = 1 // a word such as "cannot" in a line
	strengthWarning = 2
	strengthLog     = 3 // a log line of a level such as ERROR
	strengthNamed   = 5 // an exception by its class
	strengthError   = 6 // "error: …", a compiler's diagnostic
	strengthVerdict = 8 // a build tool's last word
)

// Bounds on what is kept of one finding and of one output, so that memory stays small whatever the input.
const (
	mostMessages = 6
	mostFrames   = 48
	mostDetails  = 10
	mostPlaces   = 64
	mostFindings = 4000
)

func (f *finding) message(n note) {
	if f.weak && len(f.messages) > 0 {
		f.messages[0] = n
		f.weak = false
		return
	}
	for _, m := range f.messages {
		if m.text == n.text {
			return
		}
	}
	if len(f.messages) < mostMessages {
		f.messages = append(f.messages, n)
	}
}

// frame keeps the first and the last frames of a trace.
func (f *finding) frame(n note) {
	if len(f.frames) < mostFrames {
		f.frames = append(f.frames, n)
		return
	}
	copy(f.frames[mostFrames/2:], f.frames[mostFrames/2+1:])
	f.frames[mostFrames-1] = n
}

func (f *finding) detail(n note) {
	if len(f.details) < mostDetails {
		f.details = append(f.details, n)
	}
}

func (f *finding) place(n note) {
	for _, p := range f.places {
		if p.text == n.text {
			return
		}
	}
	if len(f.places) < mostPlaces {
		f.places = append(f.places, n)
	}
}
