package moe_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/router/moe"
)

// every is one answer of all that a grammar allows.
type every struct {
	tokens []int32
	text   string
	score  float64
}

// enumerate finds all answers to a request by trying every allowed token at every position.
func enumerate(t *testing.T, m *moe.Model, req *agent.Request) []every {
	t.Helper()
	c, err := moe.Constraint(m, req)
	if err != nil {
		t.Fatal(err)
	}
	_, prompt, err := moe.Rendered(m, req)
	if err != nil {
		t.Fatal(err)
	}
	ends := moe.EndTokens(m)
	var all []every
	var walk func(state int32, tokens []int32, score float64)
	walk = func(state int32, tokens []int32, score float64) {
		if forced := c.Forced(state, nil); len(forced) > 0 {
			for _, id := range forced {
				state, _ = c.Next(state, id)
			}
			walk(state, append(tokens[:len(tokens):len(tokens)], forced...), score)
			return
		}
		allowed := members(c, state)
		ending := slices.ContainsFunc(allowed, func(id int32) bool { return slices.Contains(ends, id) })
		if rest := slices.DeleteFunc(slices.Clone(allowed), func(id int32) bool { return slices.Contains(ends, id) }); ending && len(rest) == 0 {
			all = append(all, every{tokens, m.Detokenize(tokens), score})
			return
		}
		if len(allowed) == 1 {
			state, _ = c.Next(state, allowed[0])
			walk(state, append(tokens[:len(tokens):len(tokens)], allowed[0]), score)
			return
		}
		rows, err := m.Logits(t.Context(), append(prompt[:len(prompt):len(prompt)], tokens...))
		if err != nil {
			t.Fatal(err)
		}
		row := rows[len(rows)-1]
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(float64(v))
		}
		for _, id := range allowed {
			p := score + float64(row[id]) - math.Log(sum)
			if slices.Contains(ends, id) {
				all = append(all, every{tokens, m.Detokenize(tokens), p})
				continue
			}
			next, _ := c.Next(state, id)
			walk(next, append(tokens[:len(tokens):len(tokens)], id), p)
		}
	}
	walk(c.Start(), nil, 0)
	slices.SortStableFunc(all, func(x, y every) int { return cmp.Compare(y.score, x.score) })
	return all
}

// members lists the tokens that a constraint allows.
func members(c scheduler.Constraint, state int32) (ids []int32) {
	words := make([]uint64, 4096)
	c.Mask(state, words)
	for i, word := range words {
		for ; word != 0; word &= word - 1 {
			ids = append(ids, int32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return ids
}

func extra(pairs ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return out
}

// TestBeamFindsTheLikeliest compares the answer of a wide beam with the likeliest of all answers
// that a grammar allows, found by enumeration, for many prompts. A narrow beam must never find a
// better one. The log-probabilities of the reported tokens must add up to that of the answer.
//
// Evidence: engine · A beam finds the likeliest answer
func TestBeamFindsTheLikeliest(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{KV: moe.KVF32})
	src, _ := json.Marshal(`root ::= ("no" | "yes" | [ab]{1,3}) ("?" | " not" | " " [cd])`)
	better, prompts := 0, 20
	if testing.Short() {
		prompts = 6 // enough to include one for which greedy decoding fails
	}
	for i := range prompts {
		req := ask(fmt.Sprint("question ", i))
		req.MaxOutput = 0
		req.Extra = extra("grammar", string(src))
		want := enumerate(t, m, req)
		if len(want) < 50 {
			t.Fatalf("only %d answers", len(want))
		}
		for _, width := range []string{"1", "32"} {
			req.Extra["beam"] = json.RawMessage(width)
			text, score, usage := beamed(t, m, req)
			if score > want[0].score+1e-3 {
				t.Errorf("prompt %d, width %s: %q has %v, but the best of all %v", i, width, text, score, want[0].score)
			}
			if width == "1" {
				if score < want[0].score-1e-3 {
					better++
				}
				continue
			}
			if text != want[0].text || math.Abs(score-want[0].score) > 1e-3 {
				t.Errorf("prompt %d: beam gave %q (%v), the likeliest is %q (%v)", i, text, score, want[0].text, want[0].score)
			}
			if usage.Output != int64(len(want[0].tokens)+1) { // plus one for the end token
				t.Errorf("prompt %d: usage %+v of %d tokens", i, usage, len(want[0].tokens))
			}
		}
	}
	if better == 0 {
		t.Error("the likeliest token was always that of the likeliest answer: the test shows nothing")
	}
}

// beamed sends a request and sums the log-probabilities that the trace reports.
func beamed(t *testing.T, m *moe.Model, req *agent.Request) (string, float64, agent.Usage) {
	t.Helper()
	score := 0.0
	trace := &agent.TokenTrace{Top: 2, Token: func(tok agent.Token) {
		score += tok.LogProb
		if len(tok.Top) > 2 {
			t.Errorf("%d alternatives", len(tok.Top))
		}
	}}
	resp, err := agent.Generate(agent.WithTokenTrace(t.Context(), trace), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Message.Text(), score, resp.Usage
}

var door = agent.ToolSpec{Name: "door", Description: "Moves a door.", Schema: json.RawMessage(
	`{"type":"object","properties":{"how":{"type":"string","enum":["open","shut","lock"]},"n":{"type":"integer","minimum":1,"maximum":3}},"required":["how","n"],"additionalProperties":false}`)}

// doorCalls is a grammar for calls of the tool door without thoughts before them. It allows nine
// calls.
const doorCalls = `root ::= "<tool_call>\n<function=door>\n<parameter=how>\n" ("open" | "shut" | "lock") "\n</parameter>\n<parameter=n>\n" [1-3] "\n</parameter>\n</function>\n</tool_call>"`

// callRequest requests one call of the tool door.
func callRequest(text string) *agent.Request {
	req := ask(text)
	src, _ := json.Marshal(doorCalls)
	req.MaxOutput, req.Tools, req.Extra = 0, []agent.ToolSpec{door}, extra("grammar", string(src))
	return req
}

// nextCall requests a call that is not in the list, and appends the call to the list.
func nextCall(t *testing.T, m *moe.Model, req *agent.Request, list *[]json.RawMessage) (string, error) {
	t.Helper()
	raw, err := json.Marshal(*list)
	if err != nil {
		t.Fatal(err)
	}
	req.Extra["avoid_calls"] = raw
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil {
		return "", err
	}
	calls := resp.Message.Calls()
	if len(calls) != 1 || resp.Finish != agent.FinishTools {
		t.Fatalf("calls %v, finish %q", calls, resp.Finish)
	}
	*list = append(*list, json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, calls[0].Name, calls[0].Args)))
	return canonical(t, calls[0].Args), nil
}

func canonical(t *testing.T, args json.RawMessage) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(args, &v); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %v", v["how"], v["n"])
}

// TestAvoidedCallsFromTheLikeliestDown excludes one call after the other: each answer must be the
// likeliest of the remaining ones, found by enumeration, until none is left and the error says so.
//
// Evidence: engine · Calls that were tried can be excluded
func TestAvoidedCallsFromTheLikeliestDown(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{KV: moe.KVF32, Format: "qwen3-coder-xml"})
	for i := range 5 {
		req := callRequest(fmt.Sprint("door number ", i))
		var want []string
		for _, e := range enumerate(t, m, req) {
			how, n := between(e.text, "<parameter=how>\n", "\n</parameter>"), between(e.text, "<parameter=n>\n", "\n</parameter>")
			if call := how + " " + n; !slices.Contains(want, call) {
				want = append(want, call)
			}
		}
		if len(want) != 9 {
			t.Fatalf("%d calls: %q", len(want), want)
		}
		req.Extra["beam"] = json.RawMessage("32")
		var list []json.RawMessage
		var got []string
		for range want {
			call, err := nextCall(t, m, req, &list)
			if err != nil {
				t.Fatalf("prompt %d after %q: %v", i, got, err)
			}
			got = append(got, call)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("prompt %d: order (-likeliest +got):\n%s", i, d)
		}
		_, err := nextCall(t, m, req, &list)
		refused(t, err, agent.ErrInvalid, "avoid_calls")
		if !errors.Is(err, moe.ErrAvoided) || !strings.Contains(err.Error(), "every answer that is possible") {
			t.Errorf("error %v", err)
		}
	}
}

func between(text, open, shut string) string {
	_, text, _ = strings.Cut(text, open)
	text, _, _ = strings.Cut(text, shut)
	return text
}

// TestAvoidedCallsWithoutBeam excludes all nine calls one after the other, greedily and at a
// temperature. An answer whose call is not in the list must stay the same.
//
// Evidence: engine · Calls that were tried can be excluded
func TestAvoidedCallsWithoutBeam(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{Format: "qwen3-coder-xml"})
	for _, temperature := range []float64{0, 1} {
		req := callRequest("a door")
		seed := int64(7)
		req.Temperature, req.Seed = &temperature, &seed
		plain, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		first := canonical(t, plain.Message.Calls()[0].Args)
		list := []json.RawMessage{[]byte(`{"name":"gate"}`)}
		seen := map[string]bool{}
		for n := range 9 {
			call, err := nextCall(t, m, req, &list)
			if err != nil {
				t.Fatalf("temperature %v: call %d: %v", temperature, n, err)
			}
			if n == 0 && call != first {
				t.Errorf("temperature %v: %q with a list that does not matter, %q without", temperature, call, first)
			}
			if seen[call] {
				t.Errorf("temperature %v: %q was made again", temperature, call)
			}
			seen[call] = true
		}
		_, err = nextCall(t, m, req, &list)
		refused(t, err, agent.ErrInvalid, "avoid_calls")
	}
}

// TestAvoidedCallsAreCompared lists the first choice in many spellings: each must count as the same
// call. A call with different arguments must not.
func TestAvoidedCallsAreCompared(t *testing.T) {
	m := load(t, moe.Config{Format: "qwen3-coder-xml"})
	req := callRequest("a door")
	req.Extra["beam"] = json.RawMessage("4")
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	var args struct {
		How string
		N   int
	}
	if err := json.Unmarshal(resp.Message.Calls()[0].Args, &args); err != nil {
		t.Fatal(err)
	}
	first := canonical(t, resp.Message.Calls()[0].Args)
	escaped := fmt.Sprintf(`\u%04x%s`, args.How[0], args.How[1:])
	for _, c := range []struct {
		arguments string
		same      bool
	}{
		{fmt.Sprintf(`{"how":%q,"n":%d}`, args.How, args.N), true},
		{fmt.Sprintf(` { "n" : %d.0 , "how" : "%s" } `, args.N, escaped), true},
		{fmt.Sprintf(`{"how":%q,"n":%de0}`, args.How, args.N), true},
		{fmt.Sprintf("%q", fmt.Sprintf(`{"how":%q,"n":%d}`, args.How, args.N)), true}, // as in the OpenAI API
		{fmt.Sprintf(`{"how":%q,"n":"%d"}`, args.How, args.N), false},
		{fmt.Sprintf(`{"how":%q}`, args.How), false},
		{fmt.Sprintf(`{"how":%q,"n":%d,"x":null}`, args.How, args.N), false},
		{"null", false},
	} {
		req.Extra["avoid_calls"] = json.RawMessage(`[{"name":"door","arguments":` + c.arguments + `}]`)
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatalf("%s: %v", c.arguments, err)
		}
		if got := canonical(t, resp.Message.Calls()[0].Args); (got != first) != c.same {
			t.Errorf("avoiding %s gave %q after %q", c.arguments, got, first)
		}
	}
}

// TestBeamIsDeterministic checks that the answer is the same when other requests run at the same
// time, and with a warm or a cold cache.
//
// Evidence: engine · A beam finds the likeliest answer
func TestBeamIsDeterministic(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{Context: 1024, KVTokens: 1024, Slots: 3})
	answer := func() (string, error) {
		req := ask("tell me " + strings.Repeat("more and ", 40))
		req.MaxOutput, req.Extra = 12, extra("beam", "8")
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(resp.Message.Text(), resp.Finish, resp.Usage.Output), nil
	}
	want, err := answer()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	for i := range 8 {
		go func() {
			if i%2 == 0 {
				req := ask(fmt.Sprint("beside ", i))
				_, _ = agent.Generate(t.Context(), m, req)
			}
			text, err := answer()
			got <- fmt.Sprint(text, errText(err))
		}()
	}
	for range 8 {
		if g := <-got; g != want {
			t.Errorf("%q, before %q", g, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBeamLimits ends beams in each possible way: the length, a stop text, the reader and the
// context.
//
// Evidence: engine · A beam finds the likeliest answer
func TestBeamLimits(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{Context: 256})
	src, _ := json.Marshal(`root ::= "a" "b"{1,500} "."`)
	t.Run("length", func(t *testing.T) {
		req := ask("go")
		req.MaxOutput, req.Extra = 5, extra("beam", "4", "grammar", string(src))
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil || resp.Finish == agent.FinishLength && resp.Usage.Output != 5 {
			t.Errorf("%v, %v", resp, err)
		}
	})
	t.Run("stop text", func(t *testing.T) {
		req := ask("go")
		req.Stop, req.Extra = []string{"bb"}, extra("beam", "4", "grammar", `"root ::= \"abbb.\" | \"abbb!\""`)
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil || resp.Finish != agent.FinishStop || resp.Message.Text() != "a" {
			t.Errorf("%v, %v", resp, err)
		}
	})
	t.Run("context", func(t *testing.T) {
		req := ask("go")
		req.MaxOutput, req.Extra = 0, extra("beam", "2", "grammar", `"root ::= [a-z]{2000}"`)
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil || resp.Finish != agent.FinishLength || resp.Usage.Input+resp.Usage.Output != 256 {
			t.Errorf("%v, %v", resp, err)
		}
		req = ask(strings.Repeat("too long ", 200))
		req.Extra = extra("beam", "2")
		_, err = agent.Generate(t.Context(), m, req)
		refused(t, err, agent.ErrContextLength, "context")
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := ask("go")
		req.Extra = extra("beam", "32")
		_, err := agent.Generate(ctx, m, req)
		refused(t, err, agent.ErrCanceled, "")
	})
	t.Run("cancelled at work", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		req := ask("go")
		req.MaxOutput, req.Extra = 0, extra("beam", "32", "grammar", `"root ::= [a-z]{2000}"`)
		_, err := agent.Generate(ctx, m, req)
		refused(t, err, agent.ErrTimeout, "")
	})
}

// TestBeamRefusesNonsense checks that the error for an invalid value names the field.
func TestBeamRefusesNonsense(t *testing.T) {
	m := load(t, moe.Config{})
	hot := 0.5
	for _, c := range []struct {
		extra       map[string]json.RawMessage
		temperature *float64
		say         string
	}{
		{extra("beam", "0"), nil, "from 1 to 32"},
		{extra("beam", "33"), nil, "from 1 to 32"},
		{extra("beam", "1.5"), nil, "from 1 to 32"},
		{extra("beam", `"many"`), nil, "from 1 to 32"},
		{extra("beam", "4"), &hot, "temperature"},
		{extra("beam", "4", "top_p", "0.9"), nil, "top_p"},
		{extra("avoid_calls", `{}`), nil, "avoid_calls"},
		{extra("avoid_calls", `[{"arguments":{}}]`), nil, "avoid_calls[0] has no name"},
		{extra("avoid_calls", `[{"name":"a","arguments":[1]}]`), nil, "array"},
		{extra("avoid_calls", `[{"name":"a","arguments":"{"}]`), nil, "not JSON"},
	} {
		req := ask("x")
		req.Extra, req.Temperature = c.extra, c.temperature
		_, err := agent.Generate(t.Context(), m, req)
		refused(t, err, agent.ErrInvalid, c.say)
	}
}
