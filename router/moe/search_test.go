package moe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/moe"
)

// told is an answer in a list, as text.
type told struct {
	text  string
	score float64
}

// listed reads up to n answers from a search.
func listed(t *testing.T, s *moe.Search, n int) (all []told) {
	t.Helper()
	for len(all) < n {
		a, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, toldBy(t, a))
	}
	return all
}

func toldBy(t *testing.T, a *moe.Answer) told {
	t.Helper()
	sum, text, ended := 0.0, "", false
	for _, tok := range a.Tokens {
		sum += tok.LogProb
	}
	if math.Abs(sum-a.LogProb) > 1e-6 {
		t.Errorf("the tokens have %v together, the answer %v", sum, a.LogProb)
	}
	for _, c := range a.Chunks {
		switch c := c.(type) {
		case agent.TextDelta:
			text += c.Text
		case agent.ToolCallStart:
			text += c.Name
		case agent.ToolCallDelta:
			text += c.Args
		case agent.Finish:
			ended = true
		}
	}
	if !ended {
		t.Errorf("answer %q has no finish", text)
	}
	return told{text, a.LogProb}
}

// TestSearchListsAllAnswers compares a search with all answers that a grammar allows, found by
// enumeration. The search must list the same answers, each once and the likeliest first, whatever
// the width, even if a context ended in between.
//
// Evidence: engine · A search lists all answers of a grammar
func TestSearchListsAllAnswers(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{KV: moe.KVF32})
	src, _ := json.Marshal(`root ::= ("no" | "yes" | [ab]{1,3}) ("?" | " not" | " " [cd])`)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 3 {
		req := ask(fmt.Sprint("question ", i))
		req.MaxOutput, req.Extra = 0, extra("grammar", string(src))
		var want []told
		for _, e := range enumerate(t, m, req) {
			if !slices.ContainsFunc(want, func(o told) bool { return o.text == e.text }) { // the first is the likeliest tokenization
				want = append(want, told{e.text, e.score})
			}
		}
		for _, width := range []string{"", "1", "32"} {
			if width != "" {
				req.Extra["beam"] = json.RawMessage(width)
			}
			s, err := m.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(gone); !canceled(err) {
				t.Errorf("with a context that ended: %v", err)
			}
			got := listed(t, s, 1000)
			if len(got) != len(want) {
				t.Fatalf("prompt %d, width %q: %d answers of %d", i, width, len(got), len(want))
			}
			texts := map[string]bool{}
			for k := range got {
				if texts[got[k].text] = true; math.Abs(got[k].score-want[k].score) > 1e-3 {
					t.Errorf("prompt %d, width %q, answer %d: %v, want %v", i, width, k, got[k], want[k])
				}
			}
			if len(texts) != len(want) {
				t.Errorf("prompt %d, width %q: %d different answers of %d", i, width, len(texts), len(want))
			}
			if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after the last answer: %v", err)
			}
		}
	}
}

// TestSearchOnly checks that only the excluded answers are missing from the list, even if the
// grammar forces the text that identifies them.
//
// Evidence: engine · A search lists all answers of a grammar
func TestSearchOnly(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{KV: moe.KVF32})
	src, _ := json.Marshal(`root ::= ("no" | "yes" | "perhaps" | [ab]{1,3}) ("?" | " not" | " " [cd])`)
	req := ask("question")
	req.MaxOutput, req.Extra = 0, extra("grammar", string(src))
	for _, width := range []string{"1", "16", "32"} {
		req.Extra["beam"] = json.RawMessage(width)
		for name, may := range map[string]func(string) bool{
			"all":    func(string) bool { return true },
			"none":   func(string) bool { return false },
			"letter": func(s string) bool { return !strings.Contains(s, "b") },
			"forced": func(s string) bool { return !strings.Contains(s, "perhaps ") },
			"end":    func(s string) bool { return !strings.HasSuffix(s, "?") && !strings.Contains(s, "? ") },
			"several": func(s string) bool {
				return !strings.Contains(s, "y") && !strings.Contains(s, "ab") && !strings.Contains(s, "d")
			},
		} {
			all, err := m.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			some, err := m.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			some.Only(may)
			var want, got []string
			for _, a := range listed(t, all, 1000) {
				if may(a.text) {
					want = append(want, a.text)
				}
			}
			for _, a := range listed(t, some, 1000) {
				got = append(got, a.text)
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("width %s, %s (-want +got):\n%s", width, name, d)
			}
		}
	}
}

func canceled(err error) bool {
	me, ok := errors.AsType[*agent.ModelError](err)
	return ok && me.Kind == agent.ErrCanceled
}

// TestSearchListsCalls checks that the listed tool calls are the same as those of beams that avoid
// the previous calls.
func TestSearchListsCalls(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{KV: moe.KVF32, Format: "qwen3-coder-xml"})
	req := callRequest("door number 1")
	req.Extra["beam"] = json.RawMessage("32")
	var list []json.RawMessage
	var want, got []string
	for range 9 {
		call, err := nextCall(t, m, req, &list)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, call)
	}
	avoided := want[4]
	req.Extra["avoid_calls"], _ = json.Marshal(list[4:5])
	s, err := m.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for {
		a, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := a.Chunks[len(a.Chunks)-1].(agent.Finish); !ok || f.Reason != agent.FinishTools {
			t.Errorf("finish %v", a.Chunks)
		}
		got = append(got, canonical(t, json.RawMessage(toldBy(t, a).text[len("door"):])))
	}
	want = slices.DeleteFunc(want, func(s string) bool { return s == avoided })
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// TestSearchRefuses checks that a search refuses a prompt that fills the context, and all requests
// that a beam refuses.
func TestSearchRefuses(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{Context: 64})
	for name, req := range map[string]*agent.Request{
		"beam":   {Messages: []agent.Message{agent.UserText("x")}, Extra: extra("beam", "0")},
		"prompt": ask(fmt.Sprint(make([]int, 200))),
	} {
		if _, err := m.Search(t.Context(), req); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
