package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding"
)

// ui displays events: streamed text as it is, and a card for each tool call. Colours are used on a
// terminal only.
type ui struct {
	mu     sync.Mutex
	w      io.Writer
	colour bool
	inText bool // the last line of streamed text is not ended yet
	think  bool
	cards  map[string]agent.CallDescription
}

func newUI(w io.Writer, colour bool) *ui {
	return &ui{w: w, colour: colour, cards: map[string]agent.CallDescription{}}
}

const (
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	reset  = "\x1b[0m"
)

func (u *ui) paint(style, text string) string {
	if !u.colour {
		return text
	}
	return style + text + reset
}

// plain removes what would control the terminal from text that a model or a program wrote: control
// characters, and those that reorder a line. What a person decides by is shown by agent.Visible
// instead, with everything that is removed here.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// block indents the lines after the first, so that none looks like a line of this program.
func block(text string) string { return strings.ReplaceAll(text, "\n", "\n  │ ") }

// line writes a whole line, after ending streamed text.
func (u *ui) line(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.endText()
	fmt.Fprintln(u.w, text)
}

func (u *ui) endText() {
	if u.inText {
		if u.think && u.colour {
			fmt.Fprint(u.w, reset)
		}
		fmt.Fprintln(u.w)
	}
	u.inText, u.think = false, false
}

func (u *ui) note(format string, args ...any) {
	u.line(u.paint(dim, "· "+plain(fmt.Sprintf(format, args...))))
}

func (u *ui) problem(err error) { u.line(u.paint(red, "! "+plain(err.Error()))) }

func (u *ui) prompt() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.endText()
	fmt.Fprint(u.w, u.paint(bold+cyan, "› "))
}

func (u *ui) welcome(c *luthier.Coder, s *agent.Session) {
	where := "programs run on this machine, without a sandbox"
	if c.Sandbox != nil {
		where = "programs run in a sandbox (" + c.Sandbox.Isolation().Tier.String() + ")"
	}
	u.line(u.paint(bold, "luthier coder") + " in " + agent.Visible(c.Dir()))
	u.note("%s; session %s; /help lists the commands", where, s.ID())
}

func (u *ui) recovered(s *agent.Session, rec *agent.Recovery) {
	u.note("resumed session %s with %d messages", s.ID(), len(s.Messages()))
	if rec.Torn != nil {
		u.note("its last entry was cut off by a kill and is dropped")
	}
	for _, c := range rec.Interrupted {
		u.note("%s was running when it stopped; the model is told to check", c.Name)
	}
}

func (u *ui) sessions(infos []agent.SessionInfo) {
	for _, info := range infos {
		u.line(fmt.Sprintf("%s  %s  %3d messages  %s", info.Meta.ID, info.Updated.Format(time.DateTime), info.Messages, plain(info.Title)))
	}
}

func (u *ui) remember(id string, d agent.CallDescription) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cards[id] = d
}

// event shows one event of a run.
func (u *ui) event(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.TextDelta:
		u.stream(ev.Text, false)
	case agent.ThinkingDelta:
		u.stream(ev.Text, true)
	case agent.StreamReset:
		u.note("the answer broke off; asking again")
	case agent.CallDone:
		u.card(ev)
	case agent.AskedAgain:
		u.note("%s; asking again", ev.Detail)
	case agent.RetryWait:
		u.note("%v; trying again in %s", ev.Err, ev.Delay.Round(100*time.Millisecond))
	case agent.Decided:
		if ev.Verdict.Decision != agent.Allow {
			u.note("%s was refused: %s", ev.Call.Name, plain(ev.Verdict.Reason))
		}
	case agent.Checkpointed:
		if ev.Err != nil {
			u.problem(fmt.Errorf("no checkpoint, this turn cannot be undone: %w", ev.Err))
		}
	case agent.Compacted:
		u.note("conversation compacted: %d to %d tokens", ev.Report.Before, ev.Report.After)
	case agent.Redacted:
		u.note("the server refused %d images, which were taken out of the conversation: %v", ev.Parts, ev.Err)
	case agent.Steered:
		u.note("given to the model: %s", plain(ev.Message.Text()))
	case agent.TodosChanged:
		for _, t := range ev.Todos {
			mark := map[agent.TodoStatus]string{agent.TodoDone: "✓", agent.TodoActive: "▸"}[t.Status]
			u.line(fmt.Sprintf("  %1s %s", mark, plain(t.Text)))
		}
	case agent.SubEvent:
		if d, ok := ev.Event.(agent.CallDone); ok {
			u.note("sub-agent: %s (%s)", d.Call.Name, d.Duration.Round(time.Millisecond))
		}
	case agent.Done:
		u.done(ev.Result)
	}
}

func (u *ui) stream(text string, thinking bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if text == "" {
		return
	}
	if u.inText && u.think != thinking {
		u.endText()
	}
	if !u.inText && thinking && u.colour {
		fmt.Fprint(u.w, dim)
	}
	u.inText, u.think = true, thinking
	fmt.Fprint(u.w, plain(text))
}

// card shows a finished call: its title and time, and its diff if it has one, or else the first
// lines of its result.
func (u *ui) card(ev agent.CallDone) {
	u.mu.Lock()
	d := u.cards[ev.Call.ID]
	delete(u.cards, ev.Call.ID)
	u.mu.Unlock()
	title := d.Title
	if title == "" {
		title = ev.Call.Name
	}
	mark, style := "●", green
	if ev.Result.IsError {
		mark, style = "✗", red
	}
	u.line(u.paint(style, mark) + " " + u.paint(bold, plain(title)) + u.paint(dim, fmt.Sprintf("  %s", ev.Duration.Round(time.Millisecond))))
	if isDiff(d.Detail) && !ev.Result.IsError {
		u.diff(d.Detail)
		return
	}
	u.excerpt(ev.Result.Text(), 6)
}

func isDiff(text string) bool {
	return strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "@@ ")
}

func (u *ui) diff(text string) {
	for _, l := range strings.Split(strings.TrimRight(agent.Visible(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "---"), strings.HasPrefix(l, "+++"):
			continue
		case strings.HasPrefix(l, "+"):
			l = u.paint(green, l)
		case strings.HasPrefix(l, "-"):
			l = u.paint(red, l)
		case strings.HasPrefix(l, "@@"):
			l = u.paint(cyan, l)
		}
		u.line("  " + l)
	}
}

// excerpt shows the first lines of a text.
func (u *ui) excerpt(text string, n int) {
	lines := strings.Split(strings.TrimRight(plain(text), "\n"), "\n")
	for i, l := range lines {
		if i == n {
			u.line(u.paint(dim, fmt.Sprintf("  … %d more lines", len(lines)-n)))
			return
		}
		if rs := []rune(l); len(rs) > 160 {
			l = string(rs[:159]) + "…"
		}
		u.line(u.paint(dim, "  "+l))
	}
}

func (u *ui) permission(req *agent.PermissionRequest, v agent.Verdict, folder string) {
	title := req.Description.Title
	if title == "" {
		title = req.Call.Name + " " + string(req.Call.Args)
	}
	u.line(u.paint(yellow, "? ") + u.paint(bold, block(agent.Visible(title))))
	if isDiff(req.Description.Detail) {
		u.diff(req.Description.Detail)
	} else if whole := agent.Visible(req.Description.Exact); !strings.Contains(title, whole) {
		u.line("  │ " + block(whole)) // the title shows its beginning only
	}
	u.line(fmt.Sprintf("  %s; %s; runs in %s", block(agent.Visible(v.Reason)), agent.Visible(req.Effects.String()), agent.Visible(req.Description.Where)))
	choices := "[y] yes  [n] no  [a] always this exact call"
	if folder != "" {
		choices += "  [p] always below " + agent.Visible(folder)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	fmt.Fprint(u.w, "  "+choices+"  or say what to do instead: ")
}

func (u *ui) question(q coding.Question) {
	u.line(u.paint(yellow, "? ") + block(agent.Visible(q.Text)))
	for i, c := range q.Options {
		u.line(fmt.Sprintf("  %d. %s", i+1, block(agent.Visible(c))))
	}
	u.prompt()
}

func (u *ui) done(res *agent.Result) {
	u.mu.Lock()
	u.endText()
	u.mu.Unlock()
	cost := ""
	if res.MicroDollars > 0 {
		cost = fmt.Sprintf(", $%.4f", float64(res.MicroDollars)/1e6)
	}
	if res.Unpriced {
		cost += ", cost not known"
		if res.MicroDollars > 0 {
			cost += " of all calls"
		}
	}
	u.note("%s; %d steps, %d calls, %d tokens%s, %s", res.Detail, res.Steps, res.Calls, res.Usage.Total(), cost, res.Duration.Round(100*time.Millisecond))
}
