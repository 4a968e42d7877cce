package agent

// mode says whether changes are forbidden: in plan mode, and in a sub-agent whose tool is declared
// read-only.
type mode struct {
	plan     bool
	readOnly bool
}

// lookOnly is the advice to the model after a refusal.
const lookOnly = "Look around with the tools you have, then answer."

// verdict refuses a call that may change things if the mode forbids changes.
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

// enter records the mode of a run. A change of mode or of tools rewrites the beginning of later
// requests.
func (s *Session) enter(plan, toolsChanged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if toolsChanged || (s.entered && s.planMode != plan) {
		s.epoch++
	}
	s.entered, s.planMode = true, plan
}
