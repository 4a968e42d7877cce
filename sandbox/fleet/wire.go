package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// MaxMessage is the largest size of an encoded job, result or command in bytes. It is a NATS
// server's default limit, minus room for headers.
const MaxMessage = 1<<20 - 4<<10

// ErrTooLarge means that a job, result or command does not fit in a message.
var ErrTooLarge = errors.New("message is too large")

// ErrMalformed means that a stored result cannot be read by this program.
var ErrMalformed = errors.New("malformed result")

// wireVersion is part of every message. A reader that does not know the version refuses the message
// instead of guessing what a field means.
const wireVersion = 1

// envelope is the form of every message: the version and one body.
type envelope[T any] struct {
	V    int `json:"v"`
	Body T   `json:"b"`
}

func encode[T any](body T) ([]byte, error) {
	b, err := json.Marshal(envelope[T]{wireVersion, body})
	if err != nil {
		return nil, err
	}
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(b), MaxMessage)
	}
	return b, nil
}

func decode[T any](b []byte, body *T) error {
	if len(b) > MaxMessage {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(b), MaxMessage)
	}
	var e envelope[T]
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	if e.V != wireVersion {
		return fmt.Errorf("message of version %d, this program reads version %d", e.V, wireVersion)
	}
	*body = e.Body
	return nil
}

// EncodeJob returns the job in the form that engines store.
func EncodeJob(j *Job) ([]byte, error) {
	if err := j.validate(); err != nil {
		return nil, err
	}
	return encode(j)
}

// DecodeJob is the inverse of EncodeJob. It rejects all data that EncodeJob would not have written.
func DecodeJob(b []byte) (*Job, error) {
	var j Job
	if err := decode(b, &j); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	if err := j.validate(); err != nil {
		return nil, err
	}
	return &j, nil
}

// EncodeResult returns the result in the form that engines store.
func EncodeResult(r *Result) ([]byte, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	return encode(wireResult{r.Job, r.Host, r.Run, r.Attempt, toWire(r.Exit), r.Failure})
}

// DecodeResult is the inverse of EncodeResult.
func DecodeResult(b []byte) (*Result, error) {
	var w wireResult
	if err := decode(b, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r := &Result{w.Job, w.Host, w.Run, w.Attempt, w.Exit.exit(), w.Failure}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return r, nil
}

func (r *Result) validate() error {
	if (r.Exit == nil) == (r.Failure == "") {
		return errors.New("Result needs exactly one of Exit and Failure")
	}
	if r.Exit != nil && r.Exit.Isolation.Tier != 0 {
		if _, err := sandbox.ParseTier(r.Exit.Isolation.Tier.String()); err != nil {
			return err
		}
	}
	return errors.Join(ValidName("Result.Job", r.Job), ValidName("Result.Host", r.Host))
}

type wireResult struct {
	Job, Host, Run string
	Attempt        int
	Exit           *wireExit
	Failure        string
}

// wireExit is a sandbox.Exit without the fields that have no meaning on other machines.
type wireExit struct {
	Code               int
	Signal             int
	TimedOut, Canceled bool
	Stdout, Stderr     wireOutput
	Wall, User, System time.Duration
	MaxRSS             int64
	Isolation          *sandbox.Isolation // nil for a runner that does not report it
	Exceeded           string             `json:",omitempty"`
	Denials            []sandbox.Denial   `json:",omitempty"`
	Hint               string             `json:",omitempty"`
}

type wireOutput struct {
	Head, Tail []byte
	Total      int64
}

func toWire(e *sandbox.Exit) *wireExit {
	if e == nil {
		return nil
	}
	out := func(o sandbox.Output) wireOutput { return wireOutput{o.Head, o.Tail, o.Total} }
	var iso *sandbox.Isolation
	if e.Isolation.Tier != 0 {
		iso = &e.Isolation
	}
	return &wireExit{e.Code, int(e.Signal), e.TimedOut, e.Canceled, out(e.Stdout), out(e.Stderr),
		e.Wall, e.User, e.System, e.MaxRSS, iso, e.Exceeded, e.Denials, e.Hint}
}

func (w *wireExit) exit() *sandbox.Exit {
	if w == nil {
		return nil
	}
	out := func(o wireOutput) sandbox.Output {
		// If the total were below the number of bytes present, Omitted would be negative.
		return sandbox.Output{Head: o.Head, Tail: o.Tail, Total: max(o.Total, int64(len(o.Head)+len(o.Tail)))}
	}
	var iso sandbox.Isolation
	if w.Isolation != nil {
		iso = *w.Isolation
	}
	return &sandbox.Exit{Code: w.Code, Signal: syscall.Signal(w.Signal), TimedOut: w.TimedOut, Canceled: w.Canceled,
		Stdout: out(w.Stdout), Stderr: out(w.Stderr), Wall: w.Wall, User: w.User, System: w.System,
		MaxRSS: w.MaxRSS, Isolation: iso, Exceeded: w.Exceeded, Denials: w.Denials, Hint: w.Hint}
}

// DecodeHost reads the status that a host announces.
func DecodeHost(b []byte) (HostStatus, error) {
	var s HostStatus
	if err := decode(b, &s); err != nil {
		return s, fmt.Errorf("host: %w", err)
	}
	if s.Slots < 0 || s.Jobs < 0 || s.Places < 0 || s.Leased < 0 || s.Waiting < 0 {
		return s, errors.New("host: a number is negative")
	}
	return s, ValidName("HostStatus.ID", s.ID)
}
