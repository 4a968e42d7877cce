package agent

import "context"

// callScope holds what a running tool can reach through its context.
type callScope struct {
	ToolScope
	by       *invoker // of the run; nil outside a run
	call     *call    // of the run
	deadline deadline
}

type callScopeKey struct{}

func scopeFrom(ctx context.Context) *callScope {
	s, _ := ctx.Value(callScopeKey{}).(*callScope)
	return s
}

// runScope returns the scope of a call that a run makes, or nil outside a run.
func runScope(ctx context.Context) *callScope {
	if s := scopeFrom(ctx); s != nil && s.by != nil {
		return s
	}
	return nil
}

// ToolScope holds the values that a tool can reach through its context outside a run; see
// [ToolContext].
type ToolScope struct {
	Session  *Session          // what [SessionFrom] returns; nil is none
	CallID   string            // what [CallIDFrom] returns
	Progress func(text string) // receives what the tool sends with [Progress]; nil drops it
}

// ToolContext returns a context for a host that calls a tool itself, without a run, such as a
// server that offers tools to others. The tool finds there what it would find in a run.
func ToolContext(ctx context.Context, s ToolScope) context.Context {
	return context.WithValue(ctx, callScopeKey{}, &callScope{ToolScope: s})
}

// SessionFrom returns the session of the run that a tool is called from, or nil outside a run; see
// also [ToolContext].
func SessionFrom(ctx context.Context) *Session {
	if s := scopeFrom(ctx); s != nil {
		return s.Session
	}
	return nil
}

// CallIDFrom returns the id of the call that the running tool executes, or "" outside a run; see
// also [ToolContext].
func CallIDFrom(ctx context.Context) string {
	if s := scopeFrom(ctx); s != nil {
		return s.CallID
	}
	return ""
}

// Spend adds tokens and micro-dollars that a tool spent on its own model calls to the run's totals,
// where they count against its limits. Outside a run it does nothing.
func Spend(ctx context.Context, u Usage, microDollars int64) error {
	s := runScope(ctx)
	if s == nil {
		return nil
	}
	s.call.bill.add(u, microDollars, false)
	return s.by.account.spend(&stepMeta{usage: u, cost: microDollars})
}
