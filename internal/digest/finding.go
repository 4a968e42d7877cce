package digest

// A note is a line worth keeping, in the form in which it will be written.
type note struct {
	text string
	line int // in the raw output, from 1
}

// A finding is a failed test, or an error outside of any test, with its details.
type finding struct {
	name     string // name of the failing test; empty for an error
	line     int
	strength int // certainty that this is an error; see the constants
	count    int // number of times it was seen
	traces   []*trace
	details  []note // expected and actual values
	places   []note // for a diagnostic, the places where it was reported
	fresh    bool   // the test was named again, so that the following lines are a new report
}

// A trace is an error with the frames that led to it.
type trace struct {
	message note // empty if it is not known
	frames  []note
	inner   bool // the innermost frame is the last one, as in Python's traces
	weak    bool // the message may be replaced by a better one
}

// Certainty that a line is an error.
const (
	strengthHint    = 1 // a word such as "cannot" in a line
	strengthWarning = 2
	strengthLog     = 3 // a log line of a level such as ERROR
	strengthNamed   = 5 // an exception by its class
	strengthError   = 6 // "error: …", a compiler's diagnostic
	strengthVerdict = 8 // a build tool's final message
)

// Limits on what is kept for one finding and for one output, so that memory stays small for any
// input.
const (
	mostTraces   = 8
	mostFrames   = 48
	mostDetails  = 10
	mostPlaces   = 64
	mostFindings = 4000
)

// current returns the trace to which lines currently belong.
func (f *finding) current() *trace {
	if len(f.traces) == 0 || f.fresh && len(f.traces) < mostTraces {
		f.traces = append(f.traces, &trace{})
	}
	f.fresh = false
	return f.traces[len(f.traces)-1]
}

// message records an error. It begins a new trace if the current one already has its error.
func (f *finding) message(n note) {
	t := f.current()
	if t.weak || t.message.text == "" {
		t.message, t.weak = n, false
		return
	}
	for _, t := range f.traces {
		if t.message.text == n.text && len(t.frames) == 0 {
			return
		}
	}
	if len(f.traces) == mostTraces { // replace the last one, since the newest error is the final result of the chain
		f.traces[mostTraces-1] = &trace{message: n}
		return
	}
	f.traces = append(f.traces, &trace{message: n})
}

// suggest records a possible error message, until a better one comes.
func (f *finding) suggest(n note) {
	if t := f.current(); t.message.text == "" {
		t.message, t.weak = n, true
	}
}

// unsure reports whether no error is known yet, or none for certain.
func (f *finding) unsure() bool {
	if len(f.traces) == 0 || f.fresh {
		return true
	}
	t := f.traces[len(f.traces)-1]
	return t.weak || t.message.text == ""
}

// frame adds a frame to the current trace, which keeps only the first and the last frames.
func (f *finding) frame(n note) {
	t := f.current()
	if len(t.frames) < mostFrames {
		t.frames = append(t.frames, n)
		return
	}
	copy(t.frames[mostFrames/2:], t.frames[mostFrames/2+1:])
	t.frames[mostFrames-1] = n
}

// reported reports whether the last trace is complete: it has a certain error, or an uncertain
// error and frames.
func (f *finding) reported() bool {
	if len(f.traces) == 0 {
		return false
	}
	t := f.traces[len(f.traces)-1]
	return t.message.text != "" && (!t.weak || len(t.frames) > 0)
}

// framed reports whether the current trace has frames.
func (f *finding) framed() bool {
	return len(f.traces) > 0 && !f.fresh && len(f.traces[len(f.traces)-1].frames) > 0
}

// head returns the first known error.
func (f *finding) head() note {
	for _, t := range f.traces {
		if t.message.text != "" {
			return t.message
		}
	}
	return note{}
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
