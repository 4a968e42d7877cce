package scheduler

// forcedDrafter proposes the tokens that the constraint forces, for requests that want the model to
// confirm them.
type forcedDrafter struct{ s *sequence }

func (d forcedDrafter) Name() string { return "forced" }

func (d forcedDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	dst, _ = d.draftScored(tokens, max, dst)
	return dst
}

func (d forcedDrafter) draftScored(_ []int32, max int, dst []int32) ([]int32, int) {
	n := len(dst)
	dst = d.s.req.Constraint.Forced(d.s.state, dst)
	return dst[:min(len(dst), n+max)], specClasses - 1
}
