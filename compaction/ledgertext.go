package compaction

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// The text format of a ledger: one section per kind of fact and one line per fact; an arrow
// separates the fact from its details.
const (
	ledgerBegin = "<ledger>"
	ledgerEnd   = "</ledger>"
	arrow       = " ⇒ "
)

var ledgerSections = [...]string{"Files:", "Commands, the latest last:", "Failing tests:", "Todo:", "Left out earlier:"}

const (
	secFiles = iota
	secCommands
	secFailing
	secTodo
	secEarlier
)

// String returns the ledger as text for a model, "" for an empty one.
func (l *Ledger) String() string { return l.within(1 << 30) }

// within returns the text in at most about room bytes. The oldest files that were only read and the
// oldest commands are dropped first.
func (l *Ledger) within(room int) string {
	for {
		s := l.text()
		if len(s) <= room {
			return s
		}
		small := *l
		switch reads := l.onlyRead(); {
		case len(reads) > 0 && len(reads)*2 >= len(l.Commands):
			small.Files = without(l.Files, reads[:(len(reads)+1)/2])
		case len(l.Commands) > 0:
			small.Commands = l.Commands[(len(l.Commands)+1)/2:]
		case len(l.Earlier) > 1:
			small.Earlier = l.Earlier[len(l.Earlier)-1:]
		case len(l.Failing) > 0:
			small.Failing = l.Failing[:len(l.Failing)/2]
		case len(l.Todo) > 0:
			small.Todo = l.Todo[:len(l.Todo)/2]
		case len(l.Files) > 0:
			small.Files = l.Files[(len(l.Files)+1)/2:]
		case len(l.Earlier) > 0:
			small.Earlier = nil
		default:
			return ""
		}
		l = &small
	}
}

func (l *Ledger) onlyRead() []int {
	var out []int
	for i, f := range l.Files {
		if f.Changed == 0 {
			out = append(out, i)
		}
	}
	return out
}

func without(fs []LedgerFile, drop []int) []LedgerFile {
	var out []LedgerFile
	for i, f := range fs {
		if len(drop) > 0 && drop[0] == i {
			drop = drop[1:]
			continue
		}
		out = append(out, f)
	}
	return out
}

func (l *Ledger) text() string {
	var b strings.Builder
	section := func(n int, lines []string) {
		if len(lines) > 0 {
			b.WriteString(ledgerSections[n] + "\n")
			for _, s := range lines {
				b.WriteString("- " + s + "\n")
			}
		}
	}
	var lines [len(ledgerSections)][]string
	for _, f := range l.Files {
		lines[secFiles] = append(lines[secFiles], f.line())
	}
	for _, c := range l.Commands {
		lines[secCommands] = append(lines[secCommands], c.line())
	}
	lines[secFailing] = oneLines(l.Failing)
	for _, t := range l.Todo {
		lines[secTodo] = append(lines[secTodo], todoMarks[t.Status]+" "+oneLine(t.Text))
	}
	lines[secEarlier] = oneLines(l.Earlier)
	for i := range lines {
		section(i, lines[i])
	}
	if b.Len() == 0 {
		return ""
	}
	return ledgerBegin + "\n" + b.String() + ledgerEnd
}

var todoMarks = map[agent.TodoStatus]string{agent.TodoPending: "[ ]", agent.TodoActive: "[>]", agent.TodoDone: "[x]"}

func (f *LedgerFile) line() string {
	var said []string
	if f.Changed > 0 {
		said = append(said, fmt.Sprintf("changed %d×", f.Changed))
	}
	if len(f.Read) > 0 {
		s := "read " + strings.Join(f.Read, " ")
		if f.Hash != "" {
			s += " #" + f.Hash
		}
		said = append(said, s)
	}
	return oneLine(f.Path) + arrow + strings.Join(said, ", ")
}

func (c *LedgerCommand) line() string {
	said := fmt.Sprintf("%d×", c.Runs)
	if c.Exit != "" {
		said += ", exit " + c.Exit
	}
	if c.Handle != "" {
		said += ", " + c.Handle
	}
	if c.Result != "" {
		said += ": " + c.Result
	}
	return oneLine(c.Line) + arrow + oneLine(said)
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, arrow, " => ")), " ")
}

func oneLines(ss []string) []string {
	var out []string
	for _, s := range ss {
		if s = oneLine(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// parseLedger reads back the ledger in a text. It skips what it cannot read.
func parseLedger(text string) *Ledger {
	l := &Ledger{}
	_, rest, ok := strings.Cut(text, ledgerBegin+"\n")
	if !ok {
		return l
	}
	rest, _, _ = strings.Cut(rest, "\n"+ledgerEnd)
	sec := -1
	for line := range strings.SplitSeq(rest, "\n") {
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			sec = sectionOf(line)
			continue
		}
		l.parse(sec, item)
	}
	return l
}

func sectionOf(line string) int {
	for i, s := range ledgerSections {
		if line == s {
			return i
		}
	}
	return -1
}

func (l *Ledger) parse(sec int, item string) {
	i := strings.LastIndex(item, arrow)
	switch {
	case sec == secFailing:
		l.Failing = append(l.Failing, item)
	case sec == secEarlier:
		l.Earlier = append(l.Earlier, item)
	case sec == secTodo:
		for status, mark := range todoMarks {
			if text, ok := strings.CutPrefix(item, mark+" "); ok {
				l.Todo = append(l.Todo, agent.Todo{Text: text, Status: status})
			}
		}
	case i < 0:
	case sec == secFiles:
		l.Files = append(l.Files, parseFile(item[:i], item[i+len(arrow):]))
	case sec == secCommands:
		l.Commands = append(l.Commands, parseCommand(item[:i], item[i+len(arrow):]))
	}
}

func parseFile(path, said string) LedgerFile {
	f := LedgerFile{Path: path}
	if rest, ok := strings.CutPrefix(said, "changed "); ok {
		n, tail, _ := strings.Cut(rest, "×")
		f.Changed, _ = strconv.Atoi(n)
		said = strings.TrimPrefix(tail, ", ")
	}
	if rest, ok := strings.CutPrefix(said, "read "); ok {
		for _, s := range strings.Fields(rest) {
			if h, ok := strings.CutPrefix(s, "#"); ok {
				f.Hash = h
			} else {
				f.Read = append(f.Read, s)
			}
		}
	}
	return f
}

func parseCommand(line, said string) LedgerCommand {
	c := LedgerCommand{Line: line}
	n, rest, _ := strings.Cut(said, "×")
	c.Runs, _ = strconv.Atoi(n)
	head, result, _ := strings.Cut(rest, ": ")
	c.Result = result
	for s := range strings.SplitSeq(head, ", ") {
		if code, ok := strings.CutPrefix(s, "exit "); ok {
			c.Exit = code
		} else if h := artifact.Find(s); h != "" {
			c.Handle = h
		}
	}
	return c
}
