package tools

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

type millis time.Duration

func (m millis) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(m).Milliseconds()) }

type base1 struct {
	Wait time.Duration `json:"wait"`
}

type node struct {
	Took time.Duration `json:"took,omitempty"`
	Kids []*node       `json:"kids,omitempty"`
}

type spans struct {
	base1
	*node
	Max    *time.Duration           `json:"max"`
	None   *time.Duration           `json:"none"`
	All    []time.Duration          `json:"all"`
	Pair   [2]time.Duration         `json:"pair"`
	ByName map[string]time.Duration `json:"by_name"`
	ByID   map[int]any              `json:"by_id"`
	Any    any                      `json:"any"`
	Own    millis                   `json:"own"`
	Quoted time.Duration            `json:"quoted,string"`
	Raw    json.RawMessage          `json:"raw"`
	Hidden time.Duration            `json:"-"`
	N      int                      `json:"n"`
	Text   string                   `json:"text"`
	Plain  time.Duration
}

// A duration is text in results and examples as it is in arguments, wherever it is, so that the
// model reads what it has to write.
//
// Evidence: tools · A duration comes out as it goes in
func TestDurations(t *testing.T) {
	second := time.Second
	out := spans{
		base1: base1{90 * time.Second}, node: &node{Took: -time.Nanosecond, Kids: []*node{{Took: 3 * time.Hour}, nil, {}}}, Max: &second, All: []time.Duration{1, 0},
		Pair: [2]time.Duration{second, 1500 * time.Microsecond}, ByName: map[string]time.Duration{"a<b": second}, ByID: map[int]any{7: second, 8: "x"},
		Any: []any{second, map[string]any{"d": &second}, 5}, Own: millis(second), Quoted: second, Raw: json.RawMessage(`{"wait":5}`), N: 1000000000, Text: "1000000000", Plain: second,
	}
	tool := mustNew(t, "spans", func(context.Context, struct{}) (spans, error) { return out, nil })
	res, err := tool.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"wait":"1m30s","took":"-1ns","kids":[{"took":"3h0m0s"},null,{}],"max":"1s","none":null,"all":["1ns","0s"],"pair":["1s","1.5ms"],"by_name":{"a<b":"1s"},` +
		`"by_id":{"7":"1s","8":"x"},"any":["1s",{"d":"1s"},5],"own":1000,"quoted":"1000000000","raw":{"wait":5},"n":1000000000,"text":"1000000000","Plain":"1s"}`
	if res.Text() != want {
		t.Errorf("got  %s\nwant %s", res.Text(), want)
	}
	alone := mustNew(t, "alone", func(context.Context, struct{}) (time.Duration, error) { return second, nil })
	if res, err := alone.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{}`)}); err != nil || res.Text() != `"1s"` {
		t.Errorf("a duration alone: %v, %v", res, err)
	}
	back := mustNew(t, "back", func(_ context.Context, in base1) (base1, error) { return in, nil }, WithExamples(base1{90 * time.Second}))
	for range 2 { // what comes out goes in
		res, err := back.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{"wait":"1m30s"}`)})
		if err != nil || res.Text() != `{"wait":"1m30s"}` {
			t.Errorf("%v, %v", res, err)
		}
	}
}
