package router

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
)

// Outcome reports how well the current task of a conversation was done: 1 for well, 0 for not at
// all. The conversation is named by its SessionID. The router learns from it; after a failure, the
// next request of the conversation goes to another member. If there is a State, it is saved at
// once. Outcome returns an error if there was no request in the conversation since its last
// outcome.
func (a *Auto) Outcome(ctx context.Context, sessionID string, good float64) error {
	if !a.settle(conversationKey(sessionID, nil), good) {
		return fmt.Errorf("router: outcome: nothing is open in the conversation %q; say how a task went once, after it was worked on in this process", sessionID)
	}
	return a.Save(ctx)
}

// Save merges the observations into the State, if there is one. [Auto.Outcome] saves by itself;
// observations from conversations alone are saved with the next outcome or by Save.
func (a *Auto) Save(ctx context.Context) error {
	if a.cfg.State == "" {
		return nil
	}
	return a.bandit.Merge(ctx, a.cfg.State)
}

// Verified wraps a check of finished work, in the form that [agent.Config.Verify] takes, so that
// the router learns from its findings.
func (a *Auto) Verified(check func(ctx context.Context, s *agent.Session) (string, error)) func(ctx context.Context, s *agent.Session) (string, error) {
	return func(ctx context.Context, s *agent.Session) (string, error) {
		feedback, err := check(ctx, s)
		if err != nil {
			return feedback, err
		}
		good := 1.0
		if feedback != "" {
			good = 0
		}
		if a.settle(conversationKey(s.ID(), s.Messages()), good) {
			err = a.Save(ctx)
		}
		return feedback, err
	}
}

// settle closes the open episodes of a conversation and reports whether there were any.
func (a *Auto) settle(key uint64, good float64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[key]
	if s == nil {
		return false
	}
	found := false
	for i := range s.episodes {
		e := &s.episodes[i]
		if !e.open || single(e.purpose) {
			continue
		}
		found = true
		if good < 0.5 {
			s.fail(e.member)
			s.trouble = a.members[e.member].Name + " failed"
		}
		a.close(e, good)
	}
	if good >= 0.5 && found {
		s.failures, s.failed, s.trouble = 0, 0, ""
	}
	s.run = planRun{}
	return found
}

// close records the outcome of an episode and ends the episode.
func (a *Auto) close(e *episode, good float64) {
	a.bandit.Observe(e.in, e.member, good, e.expected, e.dollars)
	*e = episode{purpose: e.purpose}
}

// Learned returns what the router has learned about its members in a case, for people to read: the
// estimate of each member by name.
func (a *Auto) Learned(c Case) map[string]Estimate {
	out := make(map[string]Estimate, len(a.members))
	for i, m := range a.members {
		out[m.Name] = a.bandit.Estimate(c, Offer{Arm: i, Dollars: labourOf(agent.Purpose(c.Purpose)).expect(m.Price, 0)})
	}
	return out
}
