package router

import (
	"hash/maphash"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// conversationKey identifies a conversation by its session id, or by its first message if it has
// none.
func conversationKey(sessionID string, ms []agent.Message) uint64 {
	h := hash(fnvOffset, sessionID)
	if sessionID == "" && len(ms) > 0 {
		h = hash(h, clip(ms[0].Text()))
	}
	return h
}

// maxAutoSessions limits how many conversations are remembered at a time.
const maxAutoSessions = 4096

// autoSession holds what is known about a conversation.
type autoSession struct {
	key        uint64
	next, prev *autoSession // in order of use

	epoch    int       // number of the history's version; -1 before the first request
	episodes []episode // by purpose

	failures uint8  // of the current task
	failed   uint32 // bit set of the members that failed at it
	trouble  string // description of the last failure, for the next reason
	avoid    int    // the member that broke the last answer, counted from 1; 0 for none
	prompts  [maxArms]prompt

	run     planRun // what the messages reveal about the current task
	task    int     // index of the message where the current task begins
	scanned int     // number of messages that have been added to run
}

// episode is a stretch of a conversation with one member, for one purpose. Outcomes are learned per
// episode.
type episode struct {
	purpose  agent.Purpose
	open     bool
	member   int
	task     int // index of the message where the task begins
	in       Case
	tokens   int     // tokens of the prompt when the episode began
	expected float64 // dollars
	dollars  float64 // spent
	reason   string  // for staying with the member
	again    bool    // decide again: the member has lost its cache
}

// prompt records how much of the conversation a member has in its prompt cache.
type prompt struct {
	tokens int
	at     time.Time
}

// autoList is a ring of sessions in order of use.
type autoList struct{ root autoSession }

func (l *autoList) push(s *autoSession) {
	r := &l.root
	if r.next == nil {
		r.next, r.prev = r, r
	}
	s.prev, s.next = r.prev, r
	s.prev.next, r.prev = s, s
}

func (s *autoSession) unlink() {
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
}

// session returns the session of a conversation and makes it the most recently used.
func (a *Auto) session(key uint64) *autoSession {
	s := a.sessions[key]
	if s != nil {
		s.unlink()
	} else {
		if len(a.sessions) >= maxAutoSessions {
			old := a.order.root.next
			old.unlink()
			delete(a.sessions, old.key)
		}
		s = &autoSession{key: key, epoch: -1}
		a.sessions[key] = s
	}
	a.order.push(s)
	return s
}

// renew marks every episode to be decided again if the history was rewritten: prompt caches of the
// old history are useless.
func (s *autoSession) renew(epoch int) {
	if s.epoch == epoch {
		return
	}
	for i := range s.episodes {
		s.episodes[i].again = true
	}
	s.epoch, s.prompts, s.scanned = epoch, [maxArms]prompt{}, 0
}

// episode returns the episode for a purpose.
func (s *autoSession) episode(p agent.Purpose) *episode {
	for i := range s.episodes {
		if s.episodes[i].purpose == p {
			return &s.episodes[i]
		}
	}
	if len(s.episodes) >= maxPurposes {
		s.episodes = s.episodes[:copy(s.episodes, s.episodes[1:])]
	}
	s.episodes = append(s.episodes, episode{purpose: p})
	return &s.episodes[len(s.episodes)-1]
}

// maxPurposes limits the episodes of a conversation.
const maxPurposes = 16

// single reports whether each request of this purpose is a separate task.
func single(p agent.Purpose) bool {
	return p == agent.PurposeTitle || p == agent.PurposeSummarise
}

// look updates the state of the current task from the messages since the last look.
func (s *autoSession) look(ms []agent.Message, task int, seed maphash.Seed) {
	if s.scanned == 0 || s.task != task || s.scanned > len(ms) {
		s.run, s.scanned, s.task = planRun{}, task, task
	}
	for ; s.scanned < len(ms); s.scanned++ {
		if ms[s.scanned].Role == agent.RoleTool {
			s.run.results(ms, s.scanned, seed)
		}
	}
}

// fail records that a member failed at the current task.
func (s *autoSession) fail(member int) {
	s.failures = min(s.failures+1, maxFailures)
	s.failed |= 1 << member
}

// cached records that a member has the conversation in its prompt cache.
func (s *autoSession) cached(member, tokens int, now time.Time) {
	s.prompts[member] = prompt{max(tokens, s.prompts[member].tokens), now}
}
