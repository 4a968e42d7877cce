package compaction

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Ledger holds the facts that a conversation established, gathered from its messages by code: it
// needs no model, the same messages produce the same ledger, and it can be parsed back from its
// text.
type Ledger struct {
	Files    []LedgerFile
	Commands []LedgerCommand
	Failing  []string     // tests that failed in the last test run
	Todo     []agent.Todo // the todo list as last set
	Earlier  []string     // handles of the text that earlier compactions left out
}

// LedgerFile is a file that was read or changed.
type LedgerFile struct {
	Path    string
	Changed int      // number of changes
	Read    []string // ranges of lines, "all" for the whole, oldest first
	Hash    string   // hash of what was read last
}

// LedgerCommand is a command line that was run.
type LedgerCommand struct {
	Line   string
	Runs   int
	Exit   string // how the last run ended: an exit code, "failed", or "" if unknown
	Result string // the last run's result in one line
	Handle string // handle of its full output
}

// Limits of a ledger: it is for the next model call, not an archive.
const (
	ledgerFiles    = 60
	ledgerCommands = 40
	ledgerRanges   = 6
	ledgerFailing  = 30
)

// NewLedger gathers the ledger of a conversation. It includes ledgers that earlier compactions left
// in the conversation.
func NewLedger(msgs []agent.Message) *Ledger {
	c := New(Config{})
	return c.ledger(c.survey(msgs), len(msgs))
}

// ledger gathers what the first n messages of a history established.
func (c *Compactor) ledger(h *history, n int) *Ledger {
	l := &Ledger{}
	next := 0
	for i, m := range h.msgs[:n] {
		if m.Role == agent.RoleUser && isFold(m) {
			l.take(parseLedger(m.Text()))
		}
		for ; next < len(h.cells) && h.cells[next].msg <= i; next++ {
			cl := &h.cells[next]
			if cl.what != cellResult {
				continue
			}
			r, ok := h.msgs[cl.msg].Parts[cl.part].(agent.ToolResult)
			if ok {
				l.add(&cl.act, &r)
			}
		}
		if m.Role == agent.RoleAssistant {
			l.todos(m.Calls())
		}
	}
	l.bound()
	return l
}

// add records a result.
func (l *Ledger) add(a *action, r *agent.ToolResult) {
	text := r.Text()
	if a.kind == kindRead && !r.IsError && a.path != "" {
		f := l.file(a.path)
		f.read(a.span())
		if !isStub(text) {
			sum := sha256.Sum256([]byte(text))
			f.Hash = hex.EncodeToString(sum[:4])
		}
	}
	if !r.IsError {
		for _, w := range a.writes {
			l.file(w).Changed++
		}
	}
	if a.kind == kindCommand || a.kind == kindOther && a.command != "" {
		l.ran(a, r, text)
	}
}

func (l *Ledger) ran(a *action, r *agent.ToolResult, text string) {
	line := firstWords(strings.Join(strings.Fields(a.command), " "), 120)
	if line == "" {
		line = a.tool
	}
	i := slices.IndexFunc(l.Commands, func(c LedgerCommand) bool { return c.Line == line })
	cmd := LedgerCommand{Line: line}
	wasBad := false
	if i >= 0 {
		cmd = l.Commands[i]
		wasBad = cmd.Exit != "" && cmd.Exit != "0"
		l.Commands = slices.Delete(l.Commands, i, i+1)
	}
	cmd.Runs++
	cmd.Exit, cmd.Handle, cmd.Result = "", wholeOf(text), ""
	code, known := exitCode(text)
	switch {
	case known:
		cmd.Exit = fmt.Sprint(code)
	case r.IsError:
		cmd.Exit = "failed"
	}
	result, failing := resultLine(a, text, code)
	cmd.Result = result
	l.Commands = append(l.Commands, cmd)
	switch good := known && code == 0; {
	case good && wasBad:
		l.Failing = nil // tests that failed before now pass
	case !good && len(failing) > 0:
		l.Failing = failing
	}
}

// todos records the list that the last call of a todo tool set.
func (l *Ledger) todos(calls []agent.ToolCall) {
	for _, call := range calls {
		if kindOfTool(strings.ToLower(call.Name)) != kindPlan {
			continue
		}
		var in struct {
			Todos []struct{ Text, Content, Status string } `json:"todos"`
		}
		if json.Unmarshal(call.Args, &in) != nil || in.Todos == nil {
			continue
		}
		l.Todo = nil
		for _, t := range in.Todos {
			l.Todo = append(l.Todo, agent.Todo{Text: firstWords(firstOf(t.Text, t.Content), 200), Status: agent.TodoStatus(t.Status)})
		}
	}
}

func (l *Ledger) file(p string) *LedgerFile {
	p = cutAt(p, 200)
	i := slices.IndexFunc(l.Files, func(f LedgerFile) bool { return f.Path == p })
	f := LedgerFile{Path: p}
	if i >= 0 {
		f = l.Files[i]
		l.Files = slices.Delete(l.Files, i, i+1)
	}
	l.Files = append(l.Files, f) // the file used last comes last
	return &l.Files[len(l.Files)-1]
}

func (f *LedgerFile) read(span string) {
	if span == "0-" {
		span = "all"
	}
	f.Read = append(slices.DeleteFunc(f.Read, func(s string) bool { return s == span }), span)
	if len(f.Read) > ledgerRanges {
		f.Read = f.Read[len(f.Read)-ledgerRanges:]
	}
}

// take merges an earlier ledger, whose facts are older.
func (l *Ledger) take(old *Ledger) {
	for _, o := range old.Files {
		f := l.file(o.Path)
		f.Changed += o.Changed
		for _, s := range o.Read {
			f.read(s)
		}
		f.Hash = firstOf(o.Hash, f.Hash)
	}
	for _, o := range old.Commands {
		l.Commands = append(slices.DeleteFunc(l.Commands, func(c LedgerCommand) bool { return c.Line == o.Line }), o)
	}
	if old.Failing != nil {
		l.Failing = old.Failing
	}
	if old.Todo != nil {
		l.Todo = old.Todo
	}
	for _, h := range old.Earlier {
		if !slices.Contains(l.Earlier, h) {
			l.Earlier = append(l.Earlier, h)
		}
	}
}

// bound drops the oldest entries beyond the limits; files that were changed are dropped last.
func (l *Ledger) bound() {
	for i := 0; len(l.Files) > ledgerFiles && i < len(l.Files); {
		if l.Files[i].Changed == 0 {
			l.Files = slices.Delete(l.Files, i, i+1)
		} else {
			i++
		}
	}
	if n := len(l.Files) - ledgerFiles; n > 0 {
		l.Files = l.Files[n:]
	}
	if n := len(l.Commands) - ledgerCommands; n > 0 {
		l.Commands = l.Commands[n:]
	}
	l.Failing = l.Failing[:min(len(l.Failing), ledgerFailing)]
	if n := len(l.Earlier) - 8; n > 0 { // each names the ones before it
		l.Earlier = l.Earlier[n:]
	}
}

// Missing returns the lines of the ledger that a summary does not mention: changed files, failed
// commands, failing tests, open todos.
func (l *Ledger) Missing(summary string) []string {
	var out []string
	for _, f := range l.Files {
		if f.Changed > 0 && !strings.Contains(summary, f.Path) && !strings.Contains(summary, f.Path[strings.LastIndexByte(f.Path, '/')+1:]) {
			out = append(out, f.line())
		}
	}
	for _, c := range l.Commands {
		if c.Exit != "" && c.Exit != "0" && !strings.Contains(summary, c.Line) {
			out = append(out, c.line())
		}
	}
	for _, name := range l.Failing {
		if !strings.Contains(summary, name) {
			out = append(out, name)
		}
	}
	for _, t := range l.Todo {
		if t.Status != agent.TodoDone && !strings.Contains(summary, t.Text) {
			out = append(out, t.Text)
		}
	}
	return out
}
