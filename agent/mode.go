package agent

// mode says where nothing may be changed: in plan mode, and in a sub-agent whose tool says that it
// only reads.
type mode struct {
	plan     bool
	readOnly bool
}

// lookOnly tells the model what to do instead.
const lookOnly = "Look around with the tools you have, then answer."

// verdict refuses a call that may change things where the mode forbids that.
func (m mode) verdict(e *Effects) Verdict {
	switch {
	case changesNothing(e):
	case m.plan:
		return Verdict{Rule: "Plan mode", Reason: "the call may change things"}
	case m.readOnly:
		return Verdict{Rule: "Read-only sub-agent", Reason: "the call may change things"}
	}
	return Verdict{Decision: Allow}
}

// enter notes the mode of a run; a change of mode or of tools rewrites the head of later requests.
func (s *Session) enter(plan, toolsChanged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if toolsChanged || (s.entered && s.planMode != plan) {
		s.epoch++
	}
	s.entered, s.planMode = true, plan
}
