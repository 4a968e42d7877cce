package scheduler

// sessions keeps observations from earlier requests. Only the scheduler's goroutine uses it.
type sessions struct {
	byKey  map[string]*session
	acc    map[string]*acceptance // by drafter: the starting point of new sessions
	clock  int
	opened int     // number of drafters opened
	won    float64 // moving average of a request's balance at its end, in tokens
}

// session holds the data that requests with the same Key share.
type session struct {
	history history
	acc     map[string]*acceptance
	busy    bool // one of its requests is being computed
	used    int
}

// A drafter that did not pay off may pay off for other texts, so from time to time a drafter starts
// with the defaults again. The interval is a prime number, so that every drafter gets its turn at
// some time.
const retrial = 37

// maxSessions is the maximum number of sessions kept; the least recently used go first.
const maxSessions = 8

const maxCredit = 4

// credit returns the time, in tokens, that a new request may lose before any of its drafts is
// accepted.
func (t *sessions) credit() float64 { return min(max(t.won/4, 0.5), maxCredit) }

// open returns the session of a key, or nil if another request is using it.
func (t *sessions) open(key string) *session {
	if t.byKey == nil {
		t.byKey = map[string]*session{}
	}
	s := t.byKey[key]
	if s == nil {
		t.makeRoom()
		s = &session{acc: map[string]*acceptance{}}
		t.byKey[key] = s
	}
	if s.busy {
		return nil
	}
	t.clock++
	s.busy, s.used = true, t.clock
	return s
}

func (t *sessions) makeRoom() {
	if len(t.byKey) < maxSessions {
		return
	}
	oldest := ""
	var found *session
	for k, s := range t.byKey {
		if !s.busy && (found == nil || s.used < found.used) {
			oldest, found = k, s
		}
	}
	if found != nil {
		delete(t.byKey, oldest)
	}
}

// acceptanceOf returns the acceptance with which a drafter starts: that of the session if known, or
// else that of all requests, or else the defaults.
func (t *sessions) acceptanceOf(s *session, name string) acceptance {
	var a acceptance
	switch {
	case s != nil && s.acc[name] != nil:
		a = *s.acc[name]
	case t.acc[name] != nil:
		a = *t.acc[name]
	default:
		return newAcceptance()
	}
	if t.opened++; t.opened%retrial == 0 {
		return newAcceptance()
	}
	a.forget()
	return a
}

// learn stores a drafter's acceptance at the end of a request.
func (t *sessions) learn(s *session, name string, a *acceptance) {
	if t.acc == nil {
		t.acc = map[string]*acceptance{}
	}
	t.acc[name] = a
	if s != nil {
		s.acc[name] = a
	}
}

// newSpeculator collects the drafters for a request in s.spec, the most reliable first.
func (e *Engine) newSpeculator(s *sequence) {
	sp, cfg, r := &speculator{}, &e.cfg.Speculation, s.req
	s.spec = sp // set at once: if anything below panics, the session is closed with it
	if r.Key != "" {
		sp.session = e.sessions.open(r.Key)
	}
	add := func(d Drafter) {
		x := &drafting{d: d, name: nameOf(d)}
		x.scored, _ = d.(scoredDrafter)
		x.model, _ = d.(*modelDrafter)
		x.acc = e.sessions.acceptanceOf(sp.session, x.name)
		sp.drafters = append(sp.drafters, x)
	}
	if r.Constraint != nil && r.ForcedAsDrafts {
		add(forcedDrafter{s})
	}
	for _, d := range r.Drafters {
		add(d)
	}
	if s.edit != nil {
		add(s.edit)
	}
	if sp.session != nil && !cfg.NoHistory {
		add(&historyDrafter{h: &sp.session.history})
	}
	if !cfg.NoLookup {
		add(newLookupDrafter())
	}
	if cfg.Draft != nil {
		add(cfg.Draft.newDrafter(r.Sample, r.Prompt, cfg.Rejection && r.Constraint == nil))
	}
}

// close closes the drafters and stores the observations about them.
func (sp *speculator) close(e *Engine) {
	if sp.session != nil {
		sp.session.busy = false
	}
	if sp.opened && sp.worth > 0 {
		e.sessions.won += (sp.balance/sp.worth - e.sessions.won) / 4
	}
	for _, d := range sp.drafters {
		e.sessions.learn(sp.session, d.name, &d.acc)
	}
	for _, d := range sp.drafters { // third-party code last, because it may panic
		if c, ok := d.d.(interface{ Close() }); ok {
			c.Close()
		}
	}
}
