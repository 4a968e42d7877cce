package agenttest

import (
	"encoding/base64"
	"encoding/json"

	"github.com/luthier-dev/luthier/agent"
)

// dotPNG is a picture of one pixel.
var dotPNG, _ = base64.StdEncoding.DecodeString(dotBase64)

const dotBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func thinkingScenarios() []Scenario {
	const sig1, sig2 = "c2lnbmF0dXJlLTE+/w==", "EqoB+sig/two=="
	callAfter := func(evs ...WireEvent) Reply {
		return calls(append(evs, whole(0, "call_a", "lookup", `{"word":"ant"}`)...)...)
	}
	answer := func(m agent.Text) []agent.Part {
		return []agent.Part{agent.ToolResult{CallID: "call_a", Parts: []agent.Part{agent.Text{Text: "six legs "}, m}}}
	}
	foreign := one("opaque-foreign", "A part of another provider's is left out or refused, never sent.", events(WireText{"done"}), nil, func(r *agent.Request) {
		r.Messages = append([]agent.Message{agent.UserText("hello"), {Role: agent.RoleAssistant, Parts: []agent.Part{
			agent.Opaque{Provider: "somebody-else", Data: json.RawMessage(`{"type":"secret","mark":"foreign-part"}`)}, agent.Text{Text: "hello yourself"}}}}, r.Messages...)
	})
	foreign.Exchanges[0].Reply.MustNot = []string{"foreign-part"}
	foreign.Exchanges[0].Reply.Must = []string{"hello yourself"}
	foreign.Exchanges[0].Kinds, foreign.Exchanges[0].KindsOrReply = []agent.ErrorKind{agent.ErrUnsupported}, true
	reasoned := one("thinking-foreign", "Reasoning that another provider signed or encrypted is never sent.", events(WireText{"done"}), nil, func(r *agent.Request) {
		r.Messages = append([]agent.Message{agent.UserText("hello"), {Role: agent.RoleAssistant, Parts: []agent.Part{
			agent.Thinking{Text: "hm", Signature: "foreign-signature", Provider: "somebody-else"},
			agent.Thinking{Redacted: []byte("foreign-secret"), Provider: "somebody-else"}, agent.Text{Text: "hello yourself"}}}}, r.Messages...)
	})
	reasoned.Exchanges[0].Reply.MustNot = []string{"foreign-signature", "foreign-secret"}
	reasoned.Exchanges[0].Reply.Must = []string{"hello yourself"}
	return []Scenario{
		reasoned,
		one("thinking", "Reasoning comes apart from the answer.", events(WireThinking{Text: "let me "}, WireThinking{Text: "think\n"}, WireText{"42"}), needsOf(needThinking)),
		follow("thinking-replay", "Signed reasoning goes back byte for byte.", callAfter(WireThinking{Text: "I should "}, WireThinking{Text: "look it up", Signature: sig1}),
			needsOf(needTools, needThinking, needReplay), []string{"I should look it up", sig1, "six legs"}, answer),
		follow("thinking-replay-several", "Several signed parts keep their borders and their order.",
			callAfter(WireThinking{Text: "first thought", Signature: sig1}, WireThinking{Text: "second thought", Signature: sig2}),
			needsOf(needTools, needThinking, needReplay), []string{"first thought", sig1, "second thought", sig2}, answer),
		follow("thinking-replay-silent", "A signature without text goes back too.", callAfter(WireThinking{Signature: sig1}),
			needsOf(needTools, needThinking, needReplay), []string{sig1}, answer),
		follow("thinking-redacted", "Encrypted reasoning goes back byte for byte.", callAfter(WireThinking{Redacted: []byte("ZW5jcnlwdGVkL3JlYXNvbmluZw==")}),
			needsOf(needTools, needThinking, needRedacted), []string{"ZW5jcnlwdGVkL3JlYXNvbmluZw=="}, answer),
		follow("opaque-replay", "A part the contract has no type for goes back to its own provider.", callAfter(WireOpaque{Marker: "own-part-7f3a"}),
			needsOf(needTools, needOpaque), []string{"own-part-7f3a"}, answer),
		foreign,
	}
}

func requestScenarios() []Scenario {
	must := func(s Scenario, texts ...string) Scenario {
		s.Exchanges[0].Reply.Must = texts
		return s
	}
	seen := events(WireText{"seen"})
	output := &agent.OutputSchema{Name: "verdict", Schema: json.RawMessage(`{"type":"object","properties":{"structured_field_9":{"type":"boolean"}},"required":["structured_field_9"],"additionalProperties":false}`)}
	return append(choiceScenarios(),
		must(one("system", "The system prompt reaches the model.", seen, nil, func(r *agent.Request) { r.System = "You are a \"careful\"\nluthier." }), "You are a \"careful\"\nluthier."),
		must(one("history", "Earlier turns reach the model.", seen, nil, func(r *agent.Request) {
			r.Messages = append([]agent.Message{agent.UserText("first question"), {Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: "first "}, agent.Text{Text: "answer"}}}}, r.Messages...)
		}), "first question", "answer"),
		must(one("user-parts", "Every text part of a message reaches the model.", seen, nil, func(r *agent.Request) {
			r.Messages[0].Parts = append([]agent.Part{agent.Text{Text: "part one"}, agent.Text{Text: "part two"}}, r.Messages[0].Parts...)
		}), "part one", "part two"),
		must(one("tools-offered", "Names, descriptions and schemas of tools reach the model.", seen, needsOf(needTools), withTools),
			"lookup", "Looks a word up, in \"any\" language.", "the word", "now"),
		must(one("image", "An image reaches the model.", seen, needsOf(needImages), func(r *agent.Request) {
			r.Messages[0].Parts = append([]agent.Part{agent.Image{MediaType: "image/png", Data: dotPNG}}, r.Messages[0].Parts...)
		}), dotBase64),
		must(one("image-url", "An image's address reaches the model.", seen, needsOf(needImageURLs), func(r *agent.Request) {
			r.Messages[0].Parts = append([]agent.Part{agent.Image{URL: "https://example.com/a.png?x=1&y=2"}}, r.Messages[0].Parts...)
		}), "https://example.com/a.png?x=1&y=2"),
		must(one("stop", "Stop texts reach the model.", seen, needsOf(needStop), func(r *agent.Request) { r.Stop = []string{"STOP-HERE", "</end>"} }), "STOP-HERE", "</end>"),
		must(one("output", "The schema of structured output reaches the model, and its JSON comes back.", events(WireText{`{"structured_`}, WireText{`field_9":true}`}), needsOf(needOutput),
			func(r *agent.Request) { r.Output = output }), "structured_field_9"),
	)
}

// choiceScenarios returns the scenarios of tool choice. They only require that the wire format's
// own check passes and that the answer arrives: the form of a mode in a request differs too much
// between formats to be recognised by its text. The named mode is the exception.
func choiceScenarios() []Scenario {
	var all []Scenario
	for _, c := range []struct {
		name   string
		choice agent.ToolChoice
		reply  Reply
	}{
		{"choice-auto", agent.ToolChoice{}, events(WireText{"as you like"})},
		{"choice-none", agent.ToolChoice{Mode: agent.ToolModeNone}, events(WireText{"no tools"})},
		{"choice-required", agent.ToolChoice{Mode: agent.ToolModeRequired}, calls(whole(0, "call_a", "now", `{}`)...)},
		{"choice-named", agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "now"}, calls(whole(0, "call_a", "now", `{}`)...)},
	} {
		all = append(all, one(c.name, "The tool choice is sent; see WireChecker.", c.reply, needsOf(needTools, needToolChoice), withTools, func(r *agent.Request) { r.ToolChoice = c.choice }))
	}
	return all
}

func lifeScenarios() []Scenario {
	start := []WireEvent{WireText{"one "}, WireText{"two "}, WireText{"three "}}
	stall := Reply{Events: append(start, WireStall{})}
	endless := Reply{Events: append(start, WireStall{})}
	life := func(name, about string, reply Reply, d driver) Scenario {
		return Scenario{Name: name, About: about, drive: d, Exchanges: []Exchange{{Request: ask(name), Reply: reply}}}
	}
	return []Scenario{
		life("cancel", "A cancelled stream returns at once with the context's error and leaves no goroutine.", stall, driveCancel),
		life("cancel-early", "A request that is cancelled before the first byte returns at once.", Reply{Events: []WireEvent{WireStall{}}}, driveCancelEarly),
		life("canceled-before", "A context that had already ended sends nothing and is an error.", stall, driveCanceledBefore),
		life("deadline", "A deadline in mid-stream is an error, not a short answer.", stall, driveDeadline),
		life("break", "A consumer that stops early is not called again, and nothing is left running.", endless, driveBreak),
		life("twice", "A second stream of the same request gives the same answer.", events(WireText{"again and "}, WireText{"again"}), driveTwice),
		life("concurrent", "One model serves many requests at once.", events(WireText{"a"}, WireWait{5 * ms}, WireText{"b"}), driveConcurrent),
	}
}
