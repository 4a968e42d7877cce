package agent

import "errors"

// CancelPoint is the point at which a run stops after [Session.Cancel].
type CancelPoint uint8

// The points at which a run can be cancelled.
const (
	CancelNow        CancelPoint = iota // at once: the stream is aborted, and running tools are cancelled and waited for
	CancelAfterModel                    // when the model's current answer is complete; its calls that have not begun do not run
	CancelAfterTools                    // when the current calls have ended
)

var (
	errCanceled = errors.New("agent: the run was cancelled")
	errLeft     = errors.New("agent: the event loop was left")
	errWall     = errors.New("agent: the run's time limit was reached")
)

// Steer injects a user message into the session's active run: calls of the current batch that have
// not begun are answered as skipped, and the model reads the message before its next step. Without
// an active run the message waits for the next one.
func (s *Session) Steer(parts ...Part) {
	if len(parts) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steers = append(s.steers, Message{Role: RoleUser, Parts: parts})
	if r := s.run; r != nil {
		r.batch.steer() // under both locks: see takeSteers
	}
}

// Cancel asks the session's active run to stop at a point; it does not wait. The run ends with
// [StopCanceled]. Without an active run it does nothing.
func (s *Session) Cancel(at CancelPoint) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return
	}
	if at == CancelNow {
		r.cancel(errCanceled)
	}
	r.batch.cancel(at)
}

// takeSteers moves the injected messages to the history and returns them.
func (r *run) takeSteers() ([]Message, error) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := s.steers
	s.steers = nil
	r.batch.resume() // under the same lock as the messages, so that a message that was taken cannot skip the calls of the next batch
	for _, m := range ms {
		if err := s.appendMessage(m, nil); err != nil {
			return nil, err
		}
	}
	return ms, nil
}
