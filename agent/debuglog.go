package agent

import (
	"context"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// debugLog writes the events of a run to the host's logger at debug level, one record each. The
// pieces of a streaming answer are left out, since its message follows, and the events of
// sub-agents, which log themselves. A nil debugLog writes nothing.
type debugLog struct {
	ctx context.Context
	l   *slog.Logger
}

// newDebugLog returns nil if nobody reads debug records.
func newDebugLog(ctx context.Context, l *slog.Logger, session string) *debugLog {
	if l == nil || !l.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return &debugLog{ctx, l.With("session", session)}
}

// begin logs the beginning of a run.
func (d *debugLog) begin(model string, s *Session) {
	if d != nil {
		d.write("run begins", slog.String("model", model), slog.Int("messages", len(s.Messages())))
	}
}

func (d *debugLog) write(what string, attrs ...slog.Attr) {
	d.l.LogAttrs(d.ctx, slog.LevelDebug, "agent: "+what, attrs...)
}

// event logs an event.
func (d *debugLog) event(ev Event) {
	if d == nil {
		return
	}
	switch ev := ev.(type) {
	case StepStart:
		d.write("step", slog.Int("step", ev.Step))
	case MessageAdded:
		d.message("message", ev.Message)
	case Steered:
		d.message("message during the run", ev.Message)
	case CallStart:
		d.write("call starts", callAttrs(ev.Call, slog.String("args", beginning(string(ev.Call.Args))), slog.String("effects", ev.Effects.String()))...)
	case CallDone:
		text := ev.Result.Text()
		d.write("call done", callAttrs(ev.Call, slog.Duration("took", ev.Duration), slog.Bool("failed", ev.Result.IsError), slog.Int("bytes", len(text)), slog.String("text", beginning(text)))...)
	case Decided:
		d.write("decision", callAttrs(ev.Call, slog.String("decision", ev.Verdict.Decision.String()), slog.String("rule", ev.Verdict.Rule), slog.String("reason", ev.Verdict.Reason))...)
	case Usage:
		d.write("usage", usageAttr(ev))
	case Finish:
		d.write("answer ends", slog.String("reason", string(ev.Reason)))
	case Done:
		d.done(ev.Result)
	default:
		d.rare(ev)
	}
}

// rare logs the events that few runs have.
func (d *debugLog) rare(ev Event) {
	switch ev := ev.(type) {
	case RetryWait:
		d.write("retry", slog.Int("attempt", ev.Attempt), slog.Duration("delay", ev.Delay), errAttr(ev.Err))
	case Charged:
		d.write("failed call is charged", usageAttr(ev.Usage), slog.Int64("micro_dollars", ev.MicroDollars), slog.Bool("estimated", ev.Estimated), errAttr(ev.Err))
	case AskedAgain:
		d.write("asked again", slog.Int("attempt", ev.Attempt), slog.String("detail", beginning(ev.Detail)))
	case StreamReset:
		d.write("answer is void")
	case Reminded:
		d.write("reminder", slog.String("text", beginning(ev.Text)))
	case Compacted:
		d.write("compacted", slog.Int("before", ev.Report.Before), slog.Int("after", ev.Report.After), slog.Int("pruned", ev.Report.Pruned), slog.Bool("summary", ev.Report.Summary))
	case Redacted:
		d.write("pictures taken out", slog.Int("parts", ev.Parts), errAttr(ev.Err))
	case Checkpointed:
		d.write("checkpoint", slog.String("id", ev.ID), errAttr(ev.Err))
	case PlanChanged:
		d.write("plan", slog.String("text", beginning(ev.Plan)))
	case TodosChanged:
		d.write("todos", slog.Int("count", len(ev.Todos)))
	case Routing:
		d.write("route", routeAttrs(ev)...)
	case Routed:
		d.write("route ended", append(routeAttrs(ev.Routing), usageAttr(ev.Usage), slog.Int64("micro_dollars", ev.MicroDollars), slog.Duration("took", ev.Duration), slog.Bool("kept", ev.Kept), errAttr(ev.Err))...)
	}
}

func (d *debugLog) message(what string, m Message) {
	d.write(what, slog.String("role", string(m.Role)), slog.Int("calls", len(m.Calls())), slog.String("text", beginning(m.Text())))
}

func (d *debugLog) done(r *Result) {
	d.write("run ends", slog.String("stop", string(r.Stop)), slog.String("detail", r.Detail), slog.Int("steps", r.Steps), slog.Int("calls", r.Calls),
		usageAttr(r.Usage), slog.Int64("micro_dollars", r.MicroDollars), slog.Duration("took", r.Duration), errAttr(r.Err))
}

func callAttrs(c ToolCall, more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("tool", c.Name), slog.String("call", c.ID)}, more...)
}

func routeAttrs(r Routing) []slog.Attr {
	return []slog.Attr{slog.Int64("id", r.ID), slog.String("router", r.Router), slog.String("model", r.Model), slog.String("reason", r.Reason), slog.Int("attempt", r.Attempt)}
}

func usageAttr(u Usage) slog.Attr {
	return slog.Group("usage", slog.Int64("input", u.Input), slog.Int64("cached", u.CachedInput), slog.Int64("output", u.Output))
}

func errAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{} // handlers leave it out
	}
	return slog.String("err", errorText(err))
}

// beginning returns at most 200 bytes of a text.
func beginning(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.ToValidUTF8(s[:cut], "\uFFFD") + "…"
}
