package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Operations that a client asks of a host. All bear repetition: a command is
// known by its number, and asking again for one that runs or ran asks for its
// outcome.
const (
	opOpen   = "open"
	opExec   = "exec"
	opCancel = "cancel"
	opClose  = "close"
)

// hostRequest is one message to a host. Every one carries the lease's key and
// epoch, which the host checks first.
type hostRequest struct {
	Op    string
	Key   string
	Epoch uint64
	Spec  Spec // of opOpen

	Number  uint64   // of opExec and opCancel, from 1
	Command *Command // of opExec
	Had     uint64   // outcomes below this number have arrived and may be dropped

	Hold time.Duration // how long the host may keep the answer back, at most maxHold
}

// maxHold bounds how long a host keeps an answer back, so that a client notices
// one that is gone.
const maxHold = 5 * time.Second

func decodeRequest(b []byte) (*hostRequest, error) {
	var r hostRequest
	if err := decode(b, &r); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	err := ValidName("Key", r.Key)
	switch r.Op {
	case opOpen:
		err = errors.Join(err, r.Spec.validate())
	case opExec:
		if r.Command == nil || r.Number == 0 {
			return nil, errors.New("request: a command needs its number and its arguments")
		}
		err = errors.Join(err, r.Command.validate())
	case opCancel, opClose:
	default:
		return nil, fmt.Errorf("request: operation %.20q is not known to this program", r.Op)
	}
	if r.Epoch == 0 {
		err = errors.Join(err, errors.New("an epoch is never 0"))
	}
	r.Hold = min(max(r.Hold, 0), maxHold)
	return &r, err
}

// Codes of answers.
const (
	codeOK      = ""
	codePending = "pending" // ask again
	codeLater   = "later"   // the host cannot reach the engine; ask again
	codeStale   = "stale"   // the lease is over, or another holds it
	codeBusy    = "busy"    // no place, now
	codeRefused = "refused" // asking again is of no use
	codeFailed  = "failed"  // it could not be done
)

// hostAnswer is a host's answer.
type hostAnswer struct {
	Code      string
	Text      string             // why, for people
	Causes    []string           `json:",omitempty"` // why, for errors.Is; see causes
	Dir       string             // of opOpen
	Isolation *sandbox.Isolation // of opOpen
	Exit      *wireExit          // of opExec
}

func decodeAnswer(b []byte) (*hostAnswer, error) {
	var a hostAnswer
	if err := decode(b, &a); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return &a, nil
}

// err is the answer as an error; nil for codeOK.
func (a *hostAnswer) err() error {
	if a.Code == codeOK {
		return nil
	}
	return &caused{a.reason(), a.Causes}
}

func (a *hostAnswer) reason() error {
	switch a.Code {
	case codeStale:
		return fmt.Errorf("%w: %s", ErrLost, a.Text)
	case codeBusy:
		return fmt.Errorf("%w: %s", ErrNoHost, a.Text)
	case codeRefused:
		return fmt.Errorf("%w: %s", ErrRefused, a.Text)
	}
	return errors.New(a.Text)
}
