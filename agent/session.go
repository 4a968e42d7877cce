package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Session is an append-only log of one conversation with its plan, todo list, grants and
// checkpoints. Every entry is written before it is acted on, so that after a crash [OpenSession]
// can continue the session. A session is used by one run at a time; Steer, Cancel and the accessors
// may be called from any goroutine.
type Session struct {
	mu   sync.Mutex
	meta SessionMeta
	log  entryLog // nil for a session in memory
	now  func() time.Time

	live  []Message // the messages that a model is shown: the history since the last compaction
	past  []Message // the messages that compactions replaced, oldest first
	eras  []int     // where each rewritten history begins in the transcript
	epoch int

	liveSize, measured int // bytes of the first messages of live, and the number of those messages

	plan    string
	planSet bool // the plan was set since the current run began
	todos   []Todo
	grants  []Grant
	undo    []CheckpointRef // checkpoints that Undo can go back to, newest last
	redo    []CheckpointRef
	usage   Usage
	cost    int64
	guessed int64 // tokens of answers without usage; only for the limits

	note     string // note for the model at the start of the next run
	entered  bool   // a run has used this session
	planMode bool   // the last run was in plan mode

	seen map[string]bool // instruction files the model was shown

	run    *run // the active run
	steers []Message
	err    error // the first failed write; nothing is accepted after it
}

// SessionMeta identifies a session.
type SessionMeta struct {
	ID      string            `json:"id"`
	Created time.Time         `json:"created"`
	Parent  string            `json:"parent,omitempty"`    // the session this one was forked from
	ForkAt  int               `json:"fork_at,omitempty"`   // number of messages taken from the parent
	Dir     string            `json:"workspace,omitempty"` // the workspace, for listings
	Labels  map[string]string `json:"labels,omitempty"`    // for the host's own use
	Limits  SessionLimits     `json:"limits,omitzero"`     // what all runs of the session may spend together
}

// SessionLimits, of a session or of [Config], end every run of a session as soon as the session as
// a whole has spent so much: all runs together, also before it was resumed, with compactions and
// sub-agents. Zero means no limit. A run also ends at the [Limits] of its agent.
type SessionLimits struct {
	Tokens       int64 `json:"tokens,omitempty"`        // input plus output tokens
	MicroDollars int64 `json:"micro_dollars,omitempty"` // cost; every model needs a known price, as for Limits.MicroDollars
}

// CheckpointRef links a checkpoint of the workspace to a place in the conversation.
type CheckpointRef struct {
	ID      string `json:"id"`
	Message int    `json:"message"` // number of messages in the session at that time
	Label   string `json:"label,omitempty"`
}

// ErrBusy is returned when a session already has an active run.
var ErrBusy = errors.New("agent: session is in use by another run; wait for it or cancel it")

// NewSession returns an empty session kept in memory, with a random id.
func NewSession() *Session { return NewSessionWith(SessionOptions{}) }

// NewSessionWith returns an empty session kept in memory, with the given id, labels and limits.
func NewSessionWith(opts SessionOptions) *Session {
	s := &Session{now: opts.Now}
	if s.now == nil {
		s.now = time.Now
	}
	s.meta = SessionMeta{ID: opts.ID, Created: s.now().UTC(), Dir: opts.Dir, Labels: opts.Labels, Limits: opts.Limits}
	if s.meta.ID == "" {
		s.meta.ID = newSessionID(s.meta.Created)
	}
	return s
}

// newSessionID returns an id of the time and 50 random bits, in base 32.
func newSessionID(at time.Time) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b := make([]byte, 0, 32)
	b = append(at.UTC().AppendFormat(b, "20060102T150405"), '-')
	for bits, n := rand.Uint64(), 0; n < 10; n++ {
		b = append(b, digits[bits&31])
		bits >>= 5
	}
	return string(b)
}

// ID returns the session's identifier.
func (s *Session) ID() string { return s.meta.ID }

// Meta returns the metadata that identifies the session.
func (s *Session) Meta() SessionMeta { return s.meta }

// Messages returns the history that a model is shown, oldest first. The slice is a view: do not
// change it.
func (s *Session) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[:len(s.live):len(s.live)]
}

// Transcript returns every message of the session, including those that compactions replaced.
func (s *Session) Transcript() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append([]Message(nil), s.past...), s.live...)
}

// Epoch returns how many times the history was rewritten; see [Request].
func (s *Session) Epoch() int { s.mu.Lock(); defer s.mu.Unlock(); return s.epoch }

// FollowEpoch makes a session in memory that stands for one elsewhere, such as at the client of a
// server, count the same epoch. What tools remember by the epoch is then forgotten as it would be
// there.
func (s *Session) FollowEpoch(epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		s.epoch, s.seen = epoch, nil
	}
}

// Usage returns the tokens and the cost in micro-dollars of all runs of the session.
func (s *Session) Usage() (Usage, int64) { s.mu.Lock(); defer s.mu.Unlock(); return s.usage, s.cost }

// Append adds messages to the history, for a host that has its own messages. It fails during a run.
func (s *Session) Append(ms ...Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return ErrBusy
	}
	for _, m := range ms {
		if err := s.appendMessage(m, nil); err != nil {
			return err
		}
	}
	return nil
}

// appendMessage logs m and adds it to the history. s.mu is held.
func (s *Session) appendMessage(m Message, meta *stepMeta) error {
	m, err := fit(m)
	if err != nil {
		return err
	}
	if s.log != nil {
		e := Entry{Type: EntryMessage, Message: &m}
		if meta != nil {
			e.Usage, e.MicroDollars, e.Finish, e.Routes, e.Estimated = &meta.usage, meta.cost, meta.finish, meta.routes, meta.estimated
		}
		if err := s.write(&e); err != nil {
			return err
		}
	}
	if meta != nil {
		s.usage = s.usage.Add(meta.usage)
		s.cost += meta.cost
	}
	s.push(m)
	return nil
}

func (s *Session) push(m Message) {
	if s.live == nil {
		s.live = make([]Message, 0, 8)
	}
	s.live = append(s.live, m)
}

// appendResults closes a batch: its results, in call order, become one tool message. In a session
// on disk the results were logged one by one as the calls ended, so the entry only lists their ids.
func (s *Session) appendResults(m Message) error {
	if s.log != nil {
		ids := make([]string, len(m.Parts))
		for i, p := range m.Parts {
			ids[i] = p.(ToolResult).CallID
		}
		if err := s.write(&Entry{Type: EntryResults, Calls: ids}); err != nil {
			return err
		}
	}
	s.live = append(s.live, m)
	return nil
}

// logCall records that a call is about to run.
func (s *Session) logCall(c *ToolCall) error {
	if s.log == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(&Entry{Type: EntryCall, Call: c})
}

// logResult records a call's result when it ends.
func (s *Session) logResult(r *ToolResult) error {
	if s.log == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(&Entry{Type: EntryResult, Result: r})
}

// compacted replaces the live history. The replaced messages stay in the log and in
// [Session.Transcript].
func (s *Session) compacted(ms []Message, rep CompactionReport, meta *stepMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(&Entry{Type: EntryCompaction, Messages: ms, Report: &rep, MicroDollars: meta.cost, Routes: meta.routes}); err != nil {
		return err
	}
	s.replaceLive(ms)
	s.usage = s.usage.Add(rep.Usage)
	s.cost += meta.cost
	return nil
}

// replaceLive replaces the live history with ms.
func (s *Session) replaceLive(ms []Message) {
	s.past = append(s.past, s.live...)
	s.eras = append(s.eras, len(s.past))
	s.live = append([]Message(nil), ms...)
	s.liveSize, s.measured = 0, 0
	s.seen = nil // the instruction files that the model was shown may no longer be in the history
	s.epoch++
}

// write appends an entry to the log. s.mu is held. After a failed write the session accepts no more
// entries, since the next one would be acted on although the previous one is missing.
func (s *Session) write(e *Entry) error {
	if s.err != nil {
		return s.err
	}
	if s.log == nil {
		return nil
	}
	e.Time = s.now()
	if err := s.log.append(e); err != nil {
		if bad, ok := errors.AsType[*encodeError](err); ok {
			return fmt.Errorf("agent: session %s: %w", s.meta.ID, bad.err)
		}
		s.err = fmt.Errorf("agent: session %s: write entry: %w; free space or fix the disk, then reopen the session", s.meta.ID, err)
		return s.err
	}
	return nil
}

// Plan returns the session's current plan, in Markdown, or "".
func (s *Session) Plan() string { s.mu.Lock(); defer s.mu.Unlock(); return s.plan }

// SetPlan replaces the plan and records the change.
func (s *Session) SetPlan(plan string) error {
	s.mu.Lock()
	err := s.write(&Entry{Type: EntryPlan, Plan: &plan})
	if err == nil {
		s.plan = plan
	}
	r := s.run
	s.planSet = s.planSet || err == nil
	s.mu.Unlock()
	if r != nil && err == nil {
		r.out.post(PlanChanged{Plan: plan})
	}
	return err
}

// Todos returns a copy of the session's todo list.
func (s *Session) Todos() []Todo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Todo(nil), s.todos...)
}

// SetTodos replaces the todo list and records the change.
func (s *Session) SetTodos(todos []Todo) error {
	todos = append([]Todo(nil), todos...)
	s.mu.Lock()
	err := s.write(&Entry{Type: EntryTodos, Todos: todos})
	if err == nil {
		s.todos = todos
	}
	r := s.run
	s.mu.Unlock()
	if r != nil && err == nil {
		r.out.post(TodosChanged{Todos: todos})
	}
	return err
}

// Close releases the session's file. A session in memory needs no Close.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	if s.run != nil {
		return ErrBusy
	}
	err := s.log.close()
	if s.err == nil {
		s.err = fmt.Errorf("agent: session %s is closed; open it again", s.meta.ID)
	}
	return err
}
