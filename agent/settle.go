package agent

// phase says how much of the current response is in the history.
type phase uint8

const (
	phaseNone     phase = iota // nothing is open
	phaseStreams               // the response is streaming: calls may have begun that no message holds yet
	phaseAnswered              // its message is in the history, the results of its calls are not
)

// settle leaves a history in which every call that began has its result, when the run is torn down in the middle of a
// step because the consumer or a callback panicked. In every other case the loop has done so itself. A failure to write
// is kept by the session.
func (r *run) settle() {
	r.waitCalls()
	if r.phase == phaseStreams && r.hasBegun() {
		r.res.Steps++
		if r.keepResponse(r.salvage()) != nil {
			return
		}
	}
	if r.phase == phaseAnswered && len(r.batch) > 0 {
		_, _ = r.finishBatch()
	}
}
