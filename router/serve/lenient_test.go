package serve

import (
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestArgumentsAsObject: a client may send the arguments of an earlier call as an object, and
// reasoning as anything.
func TestArgumentsAsObject(t *testing.T) {
	_, req, err := decodeChat([]byte(`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"reasoning_content":false,"reasoning":"hm",
		"tool_calls":[{"id":"a","function":{"name":"read","arguments":{"p":1}}},{"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}},{"id":"c","function":{"name":"read","arguments":null}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range req.Messages[1].Calls() {
		got = append(got, string(c.Args))
	}
	if len(got) != 3 || got[0] != `{"p":1}` || got[1] != `{"p":2}` || got[2] != "" {
		t.Errorf("arguments %q", got)
	}
	if th, ok := req.Messages[1].Parts[0].(agent.Thinking); !ok || th.Text != "hm" {
		t.Errorf("reasoning %+v", req.Messages[1].Parts[0])
	}
}

// TestMalformedIsNoStop: a client does not take an answer with a call that could not be read for a
// whole one.
func TestMalformedIsNoStop(t *testing.T) {
	if got := wireReason(agent.FinishMalformed); got == "stop" {
		t.Errorf("finish_reason %s", got)
	}
}
