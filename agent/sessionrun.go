package agent

// attach makes r the session's active run.
func (s *Session) attach(r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.run != nil {
		return ErrBusy
	}
	s.run, s.planSet = r, false
	return nil
}

// detach ends r's use of the session; if another run has begun since, that run keeps the session.
func (s *Session) detach(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == r {
		s.run = nil
	}
}

func (s *Session) hasSteers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steers) > 0
}

func (s *Session) planWasSet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.planSet
}
