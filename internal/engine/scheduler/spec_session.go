package scheduler

// sessions keeps what was learnt in earlier requests. Only the scheduler's goroutine uses it.
type sessions struct {
	byKey  map[string]*session
	acc    map[string]*acceptance // by drafter: where new sessions start
	clock  int
	opened int     // drafters opened
	won    float64 // moving average of a request's balance at its end, in tokens
}

// session is what requests with one Key share.
type session struct {
	history history
	acc     map[string]*acceptance
	busy    bool // a request of it is being computed
	used    int
}

// A drafter that did not pay may pay for other texts: now and then one starts with the defaults
// again. The number is prime, so that it is each one's turn some time.
const retrial = 37

// maxSessions bounds the histories that are kept; those unused the longest go first.
const maxSessions = 8

const maxCredit = 4

// credit is how many tokens' time a new request may lose before any of its drafts was accepted.
func (t *sessions) credit() float64 { return min(max(t.won/4, 0.5), maxCredit) }

// open returns the session of a key, or nil if another request has it.
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

// acceptanceOf returns what a drafter starts with: what the session knows, else all requests, else
// the defaults.
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

// learn keeps what a request's drafter ended with.
func (t *sessions) learn(s *session, name string, a *acceptance) {
	if t.acc == nil {
		t.acc = map[string]*acceptance{}
	}
	t.acc[name] = a
	if s != nil {
		s.acc[name] = a
	}
}

// newSpeculator gathers the drafters for a request in s.spec, those with the best reasons first.
func (e *Engine) newSpeculator(s *sequence) {
	sp, cfg, r := &speculator{}, &e.cfg.Speculation, s.req
	s.spec = sp // at once: whatever panics below, the session is closed with it
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

// close ends the drafters and keeps what was learnt.
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
	for _, d := range sp.drafters { // foreign code last: it may panic
		if c, ok := d.d.(interface{ Close() }); ok {
			c.Close()
		}
	}
}
