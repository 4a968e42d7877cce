package agenttest

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// calls appends the end of a reply that waits for tool results to a list of events.
func calls(evs ...WireEvent) Reply {
	return Reply{Events: append(evs, WireUsage{smallUsage}, WireFinish{agent.FinishTools})}
}

// whole returns a complete call as two events.
func whole(index int, id, name, args string) []WireEvent {
	return []WireEvent{WireCallStart{index, id, name}, WireCallArgs{Index: index, Args: args}}
}

func toolScenarios() []Scenario {
	tool := func(name, about string, reply Reply, more ...need) Scenario {
		return one(name, about, reply, append(needsOf(needTools), more...), withTools)
	}
	big, _ := json.Marshal(map[string]string{"word": strings.Repeat("long \"word\" é ", 40_000)})
	return append([]Scenario{
		tool("tool-call", "A call's arguments are joined from its pieces.",
			calls(WireCallStart{0, "call_a", "lookup"}, WireCallArgs{Index: 0, Args: `{"wo`}, WireCallArgs{Index: 0, Args: `rd":"x`}, WireCallArgs{Index: 0, Args: `"}`})),
		tool("tool-calls-interleaved", "Pieces of parallel calls go to their own call.",
			calls(WireText{"I look both up."}, WireCallStart{0, "call_a", "lookup"}, WireCallArgs{Index: 0, Args: `{"word":`}, WireCallStart{1, "call_b", "lookup"},
				WireCallArgs{Index: 1, Args: `{"word"`}, WireCallArgs{Index: 0, Args: `"ant"`}, WireCallArgs{Index: 1, Args: `:"bee"}`}, WireCallStart{2, "call_c", "now"},
				WireCallArgs{Index: 0, Args: `}`}, WireCallArgs{Index: 2, Args: `{}`}), needStreaming, needParallel),
		tool("tool-calls-parallel", "Parallel calls come out in order.",
			calls(append(append(whole(0, "call_a", "lookup", `{"word":"ant"}`), whole(1, "call_b", "lookup", `{"word":"bee"}`)...), whole(2, "call_c", "now", `{}`)...)...), needParallel),
		tool("tool-call-repeated-fields", "Id, name and type that are sent again with every piece are not a new call and not appended.",
			calls(WireCallStart{0, "call_a", "lookup"}, WireCallArgs{0, `{"word"`, true}, WireCallArgs{0, `:"a"`, true}, WireCallArgs{0, `}`, true},
				WireCallStart{1, "call_b", "lookup"}, WireCallArgs{1, `{"word":"b"}`, true}), needParallel),
		tool("tool-call-no-arguments", "A call without arguments has the empty object.", calls(WireCallStart{0, "call_a", "now"})),
		tool("tool-call-empty-pieces", "Empty pieces of arguments change nothing.",
			calls(WireCallStart{0, "call_a", "now"}, WireCallArgs{Index: 0}, WireCallArgs{Index: 0, Args: "{}"}, WireCallArgs{Index: 0})),
		tool("tool-call-split-escapes", "Arguments cut inside escapes and surrogate pairs are joined byte for byte.",
			calls(WireCallStart{0, "call_a", "lookup"}, WireCallArgs{Index: 0, Args: `{"word":"a\`}, WireCallArgs{Index: 0, Args: `"b\u00`}, WireCallArgs{Index: 0, Args: `e9\ud83d`}, WireCallArgs{Index: 0, Args: `\ude00 ` + "\u2028 👩🏽"}, WireCallArgs{Index: 0, Args: "\u200d🔧\"}"})),
		{
			Name: "tool-call-dribble", About: "Arguments whose characters are cut between reads are joined byte for byte.", needs: needsOf(needTools),
			Exchanges: []Exchange{{Request: ask("tool-call-dribble", withTools), Reply: func() Reply {
				r := calls(whole(0, "call_a", "lookup", `{"word":"Grüße 世界 🧰 \u00e9"}`)...)
				r.Dribble = 1
				return r
			}()}},
		},
		tool("tool-call-large", "Arguments of half a megabyte arrive whole.", calls(whole(0, "call_a", "lookup", string(big))...)),
		tool("tool-call-bad-json", "Arguments that are not JSON are handed on as they are: mending them is not the model's business.",
			calls(whole(0, "call_a", "lookup", `{"word": 'x', }`)...)),
		tool("text-then-tools", "Text before a call stays before it.",
			calls(append([]WireEvent{WireText{"Let me "}, WireText{"see."}}, whole(0, "call_a", "lookup", `{"word":"a"}`)...)...)),
	}, resultScenarios()...)
}

// twoCalls returns the first answer of the scenarios that send results back.
func twoCalls() Reply {
	return calls(append(whole(0, "call_a", "lookup", `{"word":"ant"}`), whole(1, "call_b", "now", `{}`)...)...)
}

// then builds the second request: the first request, its answer, and a message with the results.
func then(first func([]*agent.Response) *agent.Request, results ...agent.Part) func([]*agent.Response) *agent.Request {
	return func(answers []*agent.Response) *agent.Request {
		req := first(nil)
		req.Messages = append(req.Messages, answers[0].Message, agent.Message{Role: agent.RoleTool, Parts: results})
		return req
	}
}

// follow returns a scenario of two exchanges: a first answer, and the texts that the server must
// find in the second request.
func follow(name, about string, first Reply, needs []need, must []string, results func(mark agent.Text) []agent.Part, edit ...func(*agent.Request)) Scenario {
	begin := ask(name, append([]func(*agent.Request){withTools}, edit...)...)
	second := events(WireText{"done"})
	second.Must = must
	return Scenario{Name: name, About: about, needs: needs, Exchanges: []Exchange{
		{Request: begin, Reply: first},
		{Request: then(begin, results(agent.Text{Text: Marker(name, 2)})...), Reply: second},
	}}
}

func resultScenarios() []Scenario {
	ok := func(id string, parts ...agent.Part) agent.Part { return agent.ToolResult{CallID: id, Parts: parts} }
	return []Scenario{
		follow("tool-results", "Several results in one message all reach the model, under the ids of their calls.", twoCalls(), needsOf(needTools, needParallel),
			[]string{"call_a", "call_b", "result of ant: \"six legs\"", "result of now: noon"},
			func(m agent.Text) []agent.Part {
				return []agent.Part{ok("call_a", agent.Text{Text: "result of ant: \"six legs\""}), ok("call_b", agent.Text{Text: "result of now: noon "}, m)}
			}),
		follow("tool-result-error", "A failed call's text reaches the model.", twoCalls(), needsOf(needTools, needParallel),
			[]string{"no such word: try another", "noon"},
			func(m agent.Text) []agent.Part {
				return []agent.Part{agent.ToolResult{CallID: "call_a", IsError: true, Parts: []agent.Part{agent.Text{Text: "no such word: try another"}}}, ok("call_b", agent.Text{Text: "noon"}, m)}
			}),
		follow("tool-result-empty", "A call that gave nothing back still has its result.", twoCalls(), needsOf(needTools, needParallel),
			[]string{"call_a", "call_b"},
			func(m agent.Text) []agent.Part { return []agent.Part{ok("call_a"), ok("call_b", m)} }),
		follow("tool-result-image", "An image in a tool result reaches the model.", twoCalls(), needsOf(needTools, needParallel, needToolImages),
			[]string{"a picture:", "noon", dotBase64},
			func(m agent.Text) []agent.Part {
				return []agent.Part{ok("call_a", agent.Text{Text: "a picture:"}, agent.Image{MediaType: "image/png", Data: dotPNG}), ok("call_b", agent.Text{Text: "noon"}, m)}
			}),
		follow("tool-arguments-replay", "Arguments that were not JSON are sent back so that the provider takes them, with the model's own words.",
			calls(whole(0, "call_a", "lookup", `{"word": "ant", oops`)...), needsOf(needTools), []string{"oops", "bad arguments"},
			func(m agent.Text) []agent.Part {
				return []agent.Part{agent.ToolResult{CallID: "call_a", IsError: true, Parts: []agent.Part{agent.Text{Text: "bad arguments "}, m}}}
			}),
	}
}
