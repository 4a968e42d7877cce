package agent

import "context"

// callScope is what the loop lets a running tool reach through its context.
type callScope struct {
	session *Session
	callID  string
	emit    func(Event)
	spend   func(u Usage, microDollars int64)
}

type callScopeKey struct{}

func scopeFrom(ctx context.Context) *callScope {
	s, _ := ctx.Value(callScopeKey{}).(*callScope)
	return s
}

// SessionFrom returns the session of the run that a tool is called from, or nil outside a run.
func SessionFrom(ctx context.Context) *Session {
	if s := scopeFrom(ctx); s != nil {
		return s.session
	}
	return nil
}

// CallIDFrom returns the id of the call that a tool runs as, or "" outside a run.
func CallIDFrom(ctx context.Context) string {
	if s := scopeFrom(ctx); s != nil {
		return s.callID
	}
	return ""
}

// Progress sends output of a running tool to the run's events as [CallProgress]. Outside a run it does nothing.
func Progress(ctx context.Context, text string) {
	if s := scopeFrom(ctx); s != nil && s.emit != nil {
		s.emit(CallProgress{CallID: s.callID, Text: text})
	}
}
