package agenttest

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// ask returns a builder of the scenario's first request.
func ask(name string, edit ...func(*agent.Request)) func([]*agent.Response) *agent.Request {
	return func([]*agent.Response) *agent.Request {
		req := &agent.Request{Messages: []agent.Message{agent.UserText(Marker(name, 1))}}
		for _, e := range edit {
			e(req)
		}
		return req
	}
}

// one returns a scenario of one exchange.
func one(name, about string, reply Reply, needs []need, edit ...func(*agent.Request)) Scenario {
	return Scenario{Name: name, About: about, needs: needs,
		Exchanges: []Exchange{{Request: ask(name, edit...), Reply: reply}}}
}

// events appends the usual end of a reply to a list of events.
func events(evs ...WireEvent) Reply {
	return Reply{Events: append(evs, WireUsage{smallUsage}, WireFinish{agent.FinishStop})}
}

var smallUsage = agent.Usage{Input: 11, Output: 7}

// withTools adds two tools to the request.
func withTools(r *agent.Request) {
	r.Tools = []agent.ToolSpec{
		{Name: "lookup", Description: "Looks a word up, in \"any\" language.", Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string","description":"the word"}},"required":["word"],"additionalProperties":false}`)},
		{Name: "now", Description: "Tells the time."},
	}
}

func needsOf(ns ...need) []need { return ns }

const manyScripts = "Grüße, 世界 — 🧰👩🏽‍🔧 \"quoted\" \\back\\slash\\ \t tab \u2028 line\nnew <html> & 'x' \x7f end"

func textScenarios() []Scenario {
	return []Scenario{
		one("text", "Pieces of text arrive in order and whole.", events(WireText{"Hel"}, WireText{"lo, "}, WireText{"world"}), nil),
		one("text-scripts", "Text of many scripts survives, escaped as the format escapes it.", events(WireText{manyScripts}, WireText{manyScripts}), nil),
		{
			Name: "text-dribble", About: "Bytes that arrive one at a time make the same text as whole events.",
			Exchanges: []Exchange{{Request: ask("text-dribble"), Reply: func() Reply {
				r := events(WireText{manyScripts}, WireText{" and more"})
				r.Dribble = 1
				return r
			}()}},
		},
		one("text-whitespace", "Spaces and newlines at the edges of pieces are kept.", events(WireText{" \n"}, WireText{"a "}, WireText{" b"}, WireText{"\n\n"}), nil),
		one("text-empty", "An answer without any text is a complete answer.", events(), nil),
		one("text-long-line", "One event over 1 MiB is read.", events(WireText{strings.Repeat("0123456789abcdef", 80<<10)}, WireText{"end"}), nil),
		one("empty-events", "Comments, pings, empty choices and empty deltas change nothing.", events(WireEmpty{}, WireText{"a"}, WireEmpty{}, WireText{"b"}, WireEmpty{}), nil),
		one("slow", "A slow stream is not a dead one.", events(WireText{"a"}, WireWait{120 * ms}, WireText{"b"}, WireWait{80 * ms}), nil),
		one("usage", "Tokens are counted, and known before Finish.", events(WireText{"a"}), needsOf(needUsage)),
		one("usage-reasoning", "Reasoning tokens are part of the output tokens.",
			Reply{Events: []WireEvent{WireText{"a"}, WireUsage{agent.Usage{Input: 5, Output: 90, Reasoning: 80}}, WireFinish{agent.FinishStop}}}, needsOf(needUsage, needThinking)),
		one("usage-cache-read", "Tokens read from the cache are part of the input tokens.",
			Reply{Events: []WireEvent{WireText{"a"}, WireUsage{agent.Usage{Input: 5000, CachedInput: 4096, Output: 3}}, WireFinish{agent.FinishStop}}}, needsOf(needUsage, needCache)),
		one("usage-cache-write", "Tokens written to the cache are part of the input tokens.",
			Reply{Events: []WireEvent{WireText{"a"}, WireUsage{agent.Usage{Input: 5000, CachedInput: 1024, CacheWrite: 2048, Output: 3}}, WireFinish{agent.FinishStop}}}, needsOf(needUsage, needCache, needCacheWrite)),
	}
}
