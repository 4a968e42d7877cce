package agent

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// Fork returns a new session with the state of s after the first n messages of its transcript; a
// negative n takes all of them. If a compaction had rewritten the history by then, the fork begins
// with the rewritten history. A session on disk is forked into a file in the same directory, one in
// memory in memory. Calls of the last message that have no result there receive a result that says
// that their outcome is unknown. Plan, todo list and grants are copied; checkpoints are not, since
// they belong to the workspace. The fork has spent nothing yet, and has the limits of s unless opts
// has some.
func (s *Session) Fork(n int, opts SessionOptions) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, live, err := s.standing(n)
	if err != nil {
		return nil, err
	}
	f := &Session{now: s.now, epoch: s.epoch + 1}
	if opts.Now != nil {
		f.now = opts.Now
	}
	f.meta = SessionMeta{ID: opts.ID, Created: f.now().UTC(), Parent: s.meta.ID, ForkAt: n, Dir: s.meta.Dir, Labels: opts.Labels, Limits: s.meta.Limits}
	if opts.Dir != "" {
		f.meta.Dir = opts.Dir
	}
	if opts.Limits != (SessionLimits{}) {
		f.meta.Limits = opts.Limits
	}
	if f.meta.ID == "" {
		f.meta.ID = newSessionID(f.now())
	}
	if log, ok := s.log.(*fileLog); ok {
		if err := f.createFile(filepath.Dir(log.f.Name()), opts.NoSync); err != nil {
			return nil, fmt.Errorf("agent: fork session: %w", err)
		}
	}
	if err := f.copySynced(s, live, opts.NoSync); err != nil {
		return nil, errors.Join(fmt.Errorf("agent: fork session: %w", err), f.Close())
	}
	return f, nil
}

// copySynced is copyFrom with a single sync to disk, at the end.
func (s *Session) copySynced(parent *Session, live []Message, noSync bool) error {
	log, onDisk := s.log.(*fileLog)
	if onDisk {
		log.noSync = true
	}
	if err := s.copyFrom(parent, live); err != nil {
		return err
	}
	if !onDisk || noSync {
		return nil
	}
	log.noSync = false
	return log.f.Sync()
}

// standing returns the history that a model was shown when the transcript had n messages, together
// with n. A negative n stands for the whole transcript.
func (s *Session) standing(n int) (int, []Message, error) {
	total := len(s.past) + len(s.live)
	if n < 0 || n == total {
		return total, s.live, nil
	}
	if n > total {
		return 0, nil, fmt.Errorf("agent: fork session: it has %d messages; cannot fork at %d", total, n)
	}
	begin := 0
	for _, era := range s.eras {
		if era < n {
			begin = era
		}
	}
	all := append(append([]Message(nil), s.past...), s.live...)
	return n, all[begin:n], nil
}

// copyFrom fills a new session with a history and the parent's state.
func (s *Session) copyFrom(parent *Session, live []Message) error {
	for _, m := range live {
		if m.Role == RoleTool {
			if err := s.copyResults(m); err != nil {
				return err
			}
			continue
		}
		if err := s.appendMessage(m, nil); err != nil {
			return err
		}
	}
	l := loader{s: s, forked: true}
	if err := l.repair(&Recovery{}); err != nil {
		return err
	}
	if parent.plan != "" {
		s.plan = parent.plan
		if err := s.write(&Entry{Type: EntryPlan, Plan: &s.plan}); err != nil {
			return err
		}
	}
	if len(parent.todos) > 0 {
		s.todos = append([]Todo(nil), parent.todos...)
		if err := s.write(&Entry{Type: EntryTodos, Todos: s.todos}); err != nil {
			return err
		}
	}
	for _, g := range parent.grants {
		s.grants = append(s.grants, g)
		if err := s.write(&Entry{Type: EntryGrant, Grant: &g}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) copyResults(m Message) error {
	for _, p := range m.Parts {
		r, ok := p.(ToolResult)
		if !ok {
			return fmt.Errorf("a tool message holds a %T; it may hold tool results only", p)
		}
		if err := s.write(&Entry{Type: EntryResult, Result: &r}); err != nil {
			return err
		}
	}
	return s.appendResults(m)
}

// SessionInfo describes a session on disk for a listing.
type SessionInfo struct {
	Path     string
	Meta     SessionMeta
	Updated  time.Time // modification time of the file
	Title    string    // the first line of the first user message, shortened
	Messages int       // messages in the log
	Torn     bool      // the last entry is cut off
	Err      error     // why the log cannot be read; the other fields hold what could be read
}

// ListSessions returns the sessions in dir, the most recently used first. A missing directory is
// treated as empty.
func ListSessions(dir string) ([]SessionInfo, error) {
	names, err := filepath.Glob(filepath.Join(strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[").Replace(dir), "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("agent: list sessions: %w", err)
	}
	infos := make([]SessionInfo, 0, len(names))
	for _, name := range names {
		infos = append(infos, readInfo(name))
	}
	sort.SliceStable(infos, func(i, j int) bool { return infos[i].Updated.After(infos[j].Updated) })
	return infos, nil
}

func readInfo(path string) SessionInfo {
	info := SessionInfo{Path: path}
	f, err := regular.Open(path)
	if err != nil {
		info.Err = err
		return info
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		info.Updated = st.ModTime()
	}
	for e, err := range ReadEntries(bufio.NewReader(f)) {
		if _, ok := errors.AsType[*TornError](err); ok {
			info.Torn = true
			break
		}
		if err != nil {
			info.Err = err
			break
		}
		info.take(e)
	}
	return info
}

func (info *SessionInfo) take(e *Entry) {
	switch e.Type {
	case EntrySession:
		info.Meta = *e.Meta
	case EntryMessage:
		info.Messages++
		if info.Title == "" && e.Message.Role == RoleUser {
			info.Title = title(e.Message.Text())
		}
	case EntryResults:
		info.Messages++
	}
}

// title shortens text to its first line, at most 80 characters.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rs := []rune(line); len(rs) > 80 {
		line = string(rs[:79]) + "…"
	}
	return line
}
