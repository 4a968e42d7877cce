package agent

import (
	"fmt"
)

// loader rebuilds a session from its entries.
type loader struct {
	s       *Session
	started []ToolCall            // calls logged as begun since the last message or batch end
	results map[string]ToolResult // results logged since
	forked  bool                  // the history is a copy of part of another session's
}

func (l *loader) apply(e *Entry) error {
	s := l.s
	if (e.Type == EntrySession) != (s.meta.ID == "") {
		return fmt.Errorf("the log must begin with one session entry and have no other; found %q", e.Type)
	}
	switch e.Type {
	case EntrySession:
		if !sessionID.MatchString(e.Meta.ID) {
			return fmt.Errorf("session id %q is not valid", e.Meta.ID)
		}
		s.meta = *e.Meta
	case EntryMessage:
		if e.Message.Role != RoleAssistant { // a new turn: pending results are no longer needed
			l.started, l.results, s.note = nil, nil, ""
		}
		s.live = append(s.live, *e.Message)
		if e.Usage != nil {
			s.usage = s.usage.Add(*e.Usage)
			s.cost += e.MicroDollars
		}
		if e.Message.Role == RoleAssistant && e.Usage != nil && *e.Usage == (Usage{}) {
			s.guessed += s.estimate()
		}
	case EntryCall:
		l.begin(*e.Call)
	case EntryResult:
		l.addResult(*e.Result)
	case EntryResults:
		return l.addResults(e.Calls)
	case EntryCompaction:
		s.replaceLive(e.Messages)
		if e.Report != nil {
			s.usage = s.usage.Add(e.Report.Usage)
		}
		s.cost += e.MicroDollars
	case EntryRedaction:
		live, err := redacted(s.live, e.Redactions)
		if err != nil {
			return err
		}
		s.setRedacted(live)
	case EntrySpend:
		if e.Usage != nil {
			s.usage = s.usage.Add(*e.Usage)
		}
		s.cost += e.MicroDollars
	default:
		l.applyState(e)
	}
	return nil
}

// applyState applies the entries that hold state other than the conversation.
func (l *loader) applyState(e *Entry) {
	s := l.s
	switch e.Type {
	case EntryPlan:
		s.plan = *e.Plan
	case EntryTodos:
		s.todos = e.Todos
	case EntryGrant:
		s.grants = append(s.grants, *e.Grant)
	case EntryCheckpoint:
		s.undo, s.redo = append(s.undo, *e.Checkpoint), nil
	case EntryUndo:
		s.undo, s.redo = moveRef(s.undo, s.redo, *e.Checkpoint)
		s.note = restoreNote(e.Type, e.Checkpoint.Label)
	case EntryRedo:
		s.redo, s.undo = moveRef(s.redo, s.undo, *e.Checkpoint)
		s.note = restoreNote(e.Type, e.Checkpoint.Label)
	}
}

// begin records a call that began; a call that middleware ran again counts once.
func (l *loader) begin(c ToolCall) {
	for i := range l.started {
		if l.started[i].ID == c.ID {
			l.started[i] = c
			return
		}
	}
	l.started = append(l.started, c)
}

func (l *loader) addResult(r ToolResult) {
	if l.results == nil {
		l.results = map[string]ToolResult{}
	}
	l.results[r.CallID] = r
}

// addResults joins the logged results into the tool message that was sent.
func (l *loader) addResults(ids []string) error {
	m := Message{Role: RoleTool, Parts: make([]Part, len(ids))}
	for i, id := range ids {
		r, ok := l.results[id]
		if !ok {
			return fmt.Errorf("the result of call %q is missing from the log", id)
		}
		m.Parts[i] = r
	}
	l.s.live = append(l.s.live, m)
	l.started, l.results = nil, nil
	return nil
}

// repair adds a result to every call of an unfinished turn, and logs the results that it adds.
func (l *loader) repair(rec *Recovery) error {
	s := l.s
	open := openCalls(s.live)
	if open == nil && len(l.started) > 0 {
		// The process was killed while the model was streaming: the message was not written yet,
		// but some of its calls had begun.
		m := Message{Role: RoleAssistant}
		for _, c := range l.started {
			m.Parts = append(m.Parts, c)
		}
		if err := s.appendMessage(m, nil); err != nil {
			return err
		}
		open = l.started
	}
	if len(open) == 0 {
		return nil
	}
	begun := map[string]bool{}
	for _, c := range l.started {
		begun[c.ID] = true
	}
	m := Message{Role: RoleTool}
	for _, c := range open {
		r, ok := l.results[c.ID]
		if !ok {
			r = l.missing(c, begun[c.ID], rec)
			if err := s.write(&Entry{Type: EntryResult, Result: &r}); err != nil {
				return err
			}
		}
		m.Parts = append(m.Parts, r)
	}
	return s.appendResults(m)
}

// missing returns the result for a call that has none because the process was killed.
func (l *loader) missing(c ToolCall, begun bool, rec *Recovery) ToolResult {
	text := "The process ended before this call began: it did nothing. Call it again if it is still needed."
	if l.forked {
		text = "The conversation was forked before this call had a result here: it may or may not have taken effect. Check the state before calling it again."
	} else if begun {
		rec.Interrupted = append(rec.Interrupted, c)
		text = "The process ended while this call ran: it may or may not have taken effect. Check the state before calling it again."
	} else {
		rec.Skipped = append(rec.Skipped, c)
	}
	return ToolResult{CallID: c.ID, Parts: []Part{Text{Text: text}}, IsError: true}
}

// openCalls returns the calls of the last message if no tool message follows it.
func openCalls(ms []Message) []ToolCall {
	if len(ms) == 0 || ms[len(ms)-1].Role != RoleAssistant {
		return nil
	}
	return ms[len(ms)-1].Calls()
}

// moveRef removes the last reference of from and appends ref to to.
func moveRef(from, to []CheckpointRef, ref CheckpointRef) (newFrom, newTo []CheckpointRef) {
	if len(from) > 0 {
		from = from[:len(from)-1]
	}
	return from, append(to, ref)
}
