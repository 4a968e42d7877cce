package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// rlAsk configures the prompts of a round.
type rlAsk struct {
	prompts, group int
	each           int     // prompts per package
	whole          float64 // share of the prompts whose report has all candidates
	slots          int
	temperature    float64
}

func (a *rlAsk) flags(f *flag.FlagSet) {
	f.IntVar(&a.prompts, "prompts", 64, "prompts of a round")
	f.IntVar(&a.group, "group", 8, "answers to each prompt")
	f.IntVar(&a.each, "per-package", 8, "prompts from one package in a round: each package is built once")
	f.Float64Var(&a.whole, "package", 0.4, "part of the prompts in which the model chooses among a package's functions")
	f.IntVar(&a.slots, "slots", 16, "answers that are computed at once")
	f.Float64Var(&a.temperature, "temperature", 1, "of sampling")
}

// A prompt is a state of a repair, with its sampled answers.
type prompt struct {
	task   *verify.Task
	scope  string // "function": the right function is the only candidate; "package": all functions are candidates
	state  repair.State
	shown  int // number of the function that is shown; 0 if none
	right  int // number of the function with the fault
	others int // number of other candidates

	function []string // lines of the function that is shown

	answers []answer
}

// buggy reports whether the function with the fault is shown.
func (p *prompt) buggy() bool { return p.shown == p.right }

// readPackages reads the tasks whose module path contains the text in the parameter only, and
// groups them by package. A task that is in several files is used once. Tasks whose tests hang are
// left out, because running them takes too long.
func readPackages(files, only string) ([][]*verify.Task, error) {
	var out [][]*verify.Task
	index, seen := map[string]int{}, map[string]bool{}
	for _, path := range strings.Split(files, ",") {
		err := verify.ReadTasks(path, func(t *verify.Task) error {
			if seen[t.ID] || t.Ended == "timeout" || !strings.Contains(t.Module, only) {
				return nil
			}
			seen[t.ID] = true
			key := t.Module + " " + t.Pkg
			i, ok := index[key]
			if !ok {
				i = len(out)
				index[key], out = i, append(out, nil)
			}
			out[i] = append(out[i], t)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no tasks in %s", files)
	}
	return out, nil
}

// draw chooses the prompts of a round: random packages, and several tasks from each, so that few
// packages have to be built.
func (r *rl) draw(rng *rand.Rand) []*prompt {
	var out []*prompt
	room := r.trainer.Model().Shape().Context - maxAnswer
	for _, i := range rng.Perm(len(r.tasks)) {
		tasks, took := r.tasks[i], 0
		for _, j := range rng.Perm(len(tasks)) {
			if took == r.ask.each || len(out) == r.ask.prompts {
				break
			}
			p := newPrompt(tasks[j], r.ask.whole, rng, r.tok.Count)
			if len(r.tok.Encode(p.state.Prompt(), true)) <= room {
				out, took = append(out, p), took+1
			}
		}
	}
	return out
}

// newPrompt draws a state of a task's repair: either the right function is shown, or another
// function, or none yet.
func newPrompt(t *verify.Task, whole float64, rng *rand.Rand, count func(string) int) *prompt {
	p := &prompt{task: t, scope: "function", right: 1, shown: 1, others: 1}
	names, shown := []string{t.Function.Name}, t.Shown()
	if t.Buggy >= 0 && len(t.Ranking) > 1 && rng.Float64() < whole {
		names = nil
		for _, r := range t.Ranking {
			names = append(names, r.Name)
		}
		p.scope, p.right, p.shown, p.others = "package", t.Buggy+1, t.Buggy+1, len(names)
		switch rng.IntN(3) {
		case 0:
			p.shown = 0
		case 1:
			i := cleanOnes(t, rng)[0]
			p.shown, shown = i+1, t.Ranking[i]
		}
	}
	p.state.Report = t.Report(names)
	if p.shown > 0 {
		p.function = strings.Split(shown.Text, "\n")
		text, ok := "", false
		if p.buggy() {
			text, ok = shown.ReadLine(t.Line, p.state.Report, p.shown, count)
		}
		if !ok {
			text = shown.ReadBeside(p.state.Report, p.shown, count)
		}
		p.state.Function = text
	}
	return p
}

const maxAnswer = 160 // tokens

// request returns the prompt as an agent would send it: the calls that led to the state and the
// tools available next.
func (p *prompt) request() *agent.Request {
	req := &agent.Request{MaxOutput: maxAnswer, Extra: map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")}}
	req.Messages = []agent.Message{agent.UserText("Fix the failing tests.")}
	add := func(name, args, result string) {
		id := fmt.Sprintf("call%05d", len(req.Messages)/2)
		req.Messages = append(req.Messages, callMessage(id, name, args), resultMessage(id, result))
	}
	add(repair.ToolRun, `{}`, p.state.Report)
	if p.shown > 0 {
		add(repair.ToolRead, fmt.Sprintf(`{"%s":%d}`, repair.ArgNumber, p.shown), p.state.Function)
	}
	number := fmt.Sprintf(`"%s":{"type":"integer","minimum":1,"maximum":%d}`, repair.ArgNumber, p.others)
	line := fmt.Sprintf(`"%s":{"type":"integer","minimum":1,"maximum":%d}`, repair.ArgLine, max(1, len(p.function)))
	text := fmt.Sprintf(`"%s":{"type":"string","pattern":"^[^\\n]*$"}`, repair.ArgText)
	req.Tools = []agent.ToolSpec{
		{Name: repair.ToolRead, Schema: schemaOf(number, repair.ArgNumber)},
		{Name: repair.ToolEdit, Schema: schemaOf(line+","+text, repair.ArgLine, repair.ArgText)},
	}
	switch {
	case p.shown == 0:
		req.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeNamed, Name: repair.ToolRead}
	case p.others == 1:
		req.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeNamed, Name: repair.ToolEdit}
	default:
		req.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeRequired}
		req.Extra["avoid_calls"] = json.RawMessage(fmt.Sprintf(`[{"name":"%s","arguments":{"%s":%d}}]`, repair.ToolRead, repair.ArgNumber, p.shown))
	}
	return req
}

func schemaOf(properties string, required ...string) json.RawMessage {
	names, _ := json.Marshal(required) // only strings
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `,"additionalProperties":false}`)
}

func callMessage(id, name, args string) agent.Message {
	return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}}}
}

func resultMessage(id, text string) agent.Message {
	return agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: text}}}}}
}
