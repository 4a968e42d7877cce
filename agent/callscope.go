package agent

import "context"

// callScope holds what a running tool can reach through its context.
type callScope struct {
	by       *invoker
	call     *call
	deadline deadline
}

type callScopeKey struct{}

func scopeFrom(ctx context.Context) *callScope {
	s, _ := ctx.Value(callScopeKey{}).(*callScope)
	return s
}

// SessionFrom returns the session of the run that a tool is called from, or nil outside a run.
func SessionFrom(ctx context.Context) *Session {
	if s := scopeFrom(ctx); s != nil {
		return s.by.session
	}
	return nil
}

// CallIDFrom returns the id of the call that the running tool executes, or "" outside a run.
func CallIDFrom(ctx context.Context) string {
	if s := scopeFrom(ctx); s != nil {
		return s.call.tc.ID
	}
	return ""
}

// Spend adds tokens and micro-dollars that a tool spent on its own model calls to the run's totals,
// where they count against its limits. Outside a run it does nothing.
func Spend(ctx context.Context, u Usage, microDollars int64) error {
	s := scopeFrom(ctx)
	if s == nil {
		return nil
	}
	s.call.bill.add(u, microDollars, false)
	return s.by.account.spend(&stepMeta{usage: u, cost: microDollars})
}
