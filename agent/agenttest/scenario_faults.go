package agenttest

import (
	"time"

	"github.com/luthier-dev/luthier/agent"
)

const ms = time.Millisecond

// soon is the distance into the future of the HTTP date in a Retry-After header.
const soon = 30 * time.Second

// httpDateSoon is the placeholder for that date in a header.
const httpDateSoon = "{date}"

func finishScenarios() []Scenario {
	var all []Scenario
	for _, f := range []struct {
		name   string
		reason agent.FinishReason
	}{{"finish-stop", agent.FinishStop}, {"finish-length", agent.FinishLength}} {
		all = append(all, one(f.name, "The reason \""+string(f.reason)+"\" is told.",
			Reply{Events: []WireEvent{WireText{"so far"}, WireUsage{smallUsage}, WireFinish{f.reason}}}, nil))
	}
	filter := one("finish-filter", "A withheld answer is told: as content_filter or refusal, or as a content_filter error.",
		Reply{Events: []WireEvent{WireText{"so far"}, WireUsage{smallUsage}, WireFinish{agent.FinishFilter}}}, nil)
	filter.Exchanges[0].KindsOrReply = true
	filter.Exchanges[0].Kinds = []agent.ErrorKind{agent.ErrFilter}
	return append(all, filter)
}

// broken returns a scenario whose only exchange must fail.
func broken(name, about string, reply Reply, needs []need, kinds ...agent.ErrorKind) Scenario {
	s := one(name, about, reply, needs)
	s.Exchanges[0].Kinds = kinds
	return s
}

func faultScenarios() []Scenario {
	half := []WireEvent{WireText{"half "}, WireText{"an answer"}}
	with := func(evs ...WireEvent) Reply { return Reply{Events: append(append([]WireEvent(nil), half...), evs...)} }
	cut := []agent.ErrorKind{agent.ErrIncomplete, agent.ErrNetwork, agent.ErrServer}
	cutCall := broken("cut-in-call", "A stream that ends inside a call's arguments is an error.",
		Reply{Events: []WireEvent{WireCallStart{0, "call_a", "lookup"}, WireCallArgs{Index: 0, Args: `{"word":"tru`}, WireCut{}}}, needsOf(needTools), cut...)
	cutCall.Exchanges[0].Request = ask("cut-in-call", withTools)
	return []Scenario{
		broken("error-mid-stream", "An error object in the stream is an error, with the provider's words.", with(WireFailure{Failure{FailServer, "the engine stalled"}}), nil,
			agent.ErrServer, agent.ErrOverloaded),
		broken("overloaded-mid-stream", "An overload in the stream can be retried.", with(WireFailure{Failure{FailOverloaded, "overloaded, come back"}}), nil,
			agent.ErrOverloaded, agent.ErrServer),
		broken("rate-limit-mid-stream", "A rate limit in the stream is one.", with(WireFailure{Failure{FailRateLimit, "too many tokens per minute"}}), needsOf(needErrors),
			agent.ErrRateLimit),
		broken("context-length-mid-stream", "A full context that is only told in the stream is one.", Reply{Events: []WireEvent{WireFailure{Failure{FailContextLength, ""}}}}, needsOf(needErrors),
			agent.ErrContextLength),
		broken("cut", "A stream that ends in good order but without a finish is an error, never a short answer.", with(WireCut{}), nil, cut...),
		broken("cut-at-start", "A stream without a single event is an error.", Reply{Events: []WireEvent{WireCut{}}}, nil, cut...),
		cutCall,
		broken("reset", "A connection that breaks is an error.", with(WireReset{}), nil, cut...),
		broken("garbage", "An event that is not JSON is an error: something was lost.", with(WireGarbage{}, WireText{"!"}, WireUsage{smallUsage}, WireFinish{agent.FinishStop}), nil, cut...),
	}
}

func httpScenarios() []Scenario {
	fail := func(status int, code, message string) Reply {
		return Reply{Status: status, Failure: Failure{code, message}}
	}
	retry := func(value string) Reply {
		r := fail(429, FailRateLimit, "slow down")
		r.Header = map[string]string{"Retry-After": value}
		return r
	}
	page := fail(502, FailServer, "")
	page.HTML = true
	huge := fail(500, FailServer, "huge")
	huge.Padding = 64 << 20
	typed := needsOf(needErrors)
	waits := func(s Scenario, low, high time.Duration) Scenario {
		s.drive = driveRetryAfter(low, high)
		return s
	}
	return []Scenario{
		waits(broken("http-429-seconds", "Retry-After in seconds is told.", retry("7"), typed, agent.ErrRateLimit), 7*time.Second, 7*time.Second),
		waits(broken("http-429-date", "Retry-After as a date is told.", retry(httpDateSoon), typed, agent.ErrRateLimit), soon-10*time.Second, soon),
		waits(broken("http-429-plain", "Without Retry-After none is invented, and nothing is retried inside.", fail(429, FailRateLimit, "slow down"), typed, agent.ErrRateLimit), 0, 0),
		broken("http-400-context", "A prompt that is too long is told apart from other refusals.", fail(400, FailContextLength, ""), typed, agent.ErrContextLength),
		broken("http-400", "A refused request is one, with the provider's words.", fail(400, FailInvalid, "the tool list is odd"), typed, agent.ErrInvalid),
		broken("http-401", "A wrong key is told.", fail(401, FailAuth, "wrong key"), typed, agent.ErrAuth),
		broken("http-403", "A forbidden model is told.", fail(403, FailAuth, "not allowed"), typed, agent.ErrAuth),
		broken("http-404", "An unknown model is told.", fail(404, FailNotFound, "no such model"), typed, agent.ErrInvalid),
		broken("http-500", "A server's fault can be retried.", fail(500, FailServer, "internal error"), typed, agent.ErrServer),
		broken("http-503", "A server out of capacity can be retried.", fail(503, FailOverloaded, "overloaded"), typed, agent.ErrOverloaded),
		broken("http-529", "A server out of capacity can be retried, whatever its status.", fail(529, FailOverloaded, "overloaded"), typed, agent.ErrOverloaded),
		broken("http-html", "A proxy's HTML page is an error with its status.", page, typed, agent.ErrServer, agent.ErrOverloaded, agent.ErrNetwork),
		{Name: "http-huge", About: "An error body without end is not read without end.", needs: typed, drive: driveHuge,
			Exchanges: []Exchange{{Request: ask("http-huge"), Reply: huge, Kinds: []agent.ErrorKind{agent.ErrServer}}}},
	}
}
