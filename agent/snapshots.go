package agent

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// snapshots takes one checkpoint per turn, before the turn's first write.
type snapshots struct {
	store   Checkpointer // nil for none
	session *Session
	out     *mailbox
	logger  *slog.Logger

	turn atomic.Int64 // counts turns from 0

	mu    sync.Mutex // held while a checkpoint is taken; guards taken
	taken int64      // turns up to this number have their checkpoint
}

// newTurn makes the next write take a new checkpoint. It does not wait for the snapshot of an
// abandoned call.
func (s *snapshots) newTurn() { s.turn.Add(1) }

// take takes the turn's checkpoint unless it exists already. A failure is reported but does not
// stop the work.
func (s *snapshots) take(ctx context.Context) {
	if s.store == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turn.Load() + 1
	if s.taken >= turn {
		return
	}
	s.taken = turn
	id, err := s.store.Snapshot(ctx, s.session.turnLabel())
	if err == nil {
		err = s.session.addCheckpoint(id)
	}
	if err != nil && s.logger != nil {
		s.logger.Warn("agent: checkpoint failed; this turn cannot be undone", "err", err)
	}
	s.out.post(Checkpointed{ID: id, Err: err})
}
