package agent

import "sync"

// Session is an append-only log of one conversation.
type Session struct {
	mu    sync.Mutex
	id    string
	msgs  []Message
	plan  string
	todos []Todo
}

// NewSession returns an empty session kept in memory.
func NewSession() *Session { return &Session{} }

// ID returns the session's identifier.
func (s *Session) ID() string { return s.id }

// Plan returns the session's current plan, in Markdown, or "".
func (s *Session) Plan() string { s.mu.Lock(); defer s.mu.Unlock(); return s.plan }

// SetPlan replaces the plan and records the change.
func (s *Session) SetPlan(plan string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
	return nil
}

// Todos returns a copy of the session's todo list.
func (s *Session) Todos() []Todo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Todo(nil), s.todos...)
}

// SetTodos replaces the todo list and records the change.
func (s *Session) SetTodos(todos []Todo) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.todos = append([]Todo(nil), todos...)
	return nil
}
