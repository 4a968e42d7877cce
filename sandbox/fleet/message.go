package fleet

import (
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Operations that a client requests of a host. All can be repeated safely: a command is identified
// by its number, and a repeated request for a command that runs or has run asks for the command's
// outcome.
const (
	opOpen   = "open"
	opExec   = "exec"
	opTool   = "tool"
	opCancel = "cancel"
	opClose  = "close"
)

// hostRequest is one message to a host. Each contains the lease's key and epoch, which the host
// checks first.
type hostRequest struct {
	Op    string
	Key   string
	Epoch uint64
	Spec  Spec // set for opOpen

	Number  uint64       // set for opExec, opTool and opCancel, from 1
	Command *Command     // set for opExec
	Tool    *toolRequest `json:",omitempty"` // set for opTool
	Had     uint64       // outcomes below this number have arrived and may be dropped

	Hold time.Duration // how long the host may delay the answer, at most maxHold
}

// maxHold limits how long a host delays an answer, so that a client notices a dead host.
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
	case opTool:
		if r.Number == 0 {
			return nil, errors.New("request: tools need a number")
		}
		err = errors.Join(err, r.Tool.validate())
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

// The codes of answers.
const (
	codeOK      = ""
	codePending = "pending" // ask again
	codeLater   = "later"   // the host cannot reach the engine; ask again
	codeStale   = "stale"   // the lease has ended, or somebody else holds it
	codeBusy    = "busy"    // no place at the moment
	codeRefused = "refused" // asking again is useless
	codeFailed  = "failed"  // the operation failed
)

// hostAnswer is a host's answer.
type hostAnswer struct {
	Code      string
	Text      string             // the reason, for people
	Causes    []string           `json:",omitempty"` // the reason, for errors.Is; see causes
	Dir       string             // set for opOpen
	Isolation *sandbox.Isolation // set for opOpen
	Exit      *wireExit          // set for opExec
	Tool      *toolAnswer        `json:",omitempty"` // set for opTool
}

func decodeAnswer(b []byte) (*hostAnswer, error) {
	var a hostAnswer
	if err := decode(b, &a); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return &a, nil
}

// err returns the answer as an error, or nil for codeOK.
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
