package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// The tests in this file document the properties of the SDK because of which this package writes
// its own bodies and reads its own streams. If one fails after an update, its reason no longer
// holds.

func TestSDKReencodesRawJSON(t *testing.T) {
	const raw = `{"type":  "vendor_block", "text":"<b>"}`
	got, err := json.Marshal(param.Override[sdk.ContentBlockParamUnion](json.RawMessage(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == raw {
		t.Error("the SDK now keeps raw JSON as it is")
	}
}

func TestSDKOrdersExtraSchemaFieldsAtRandom(t *testing.T) {
	schema := sdk.ToolInputSchemaParam{ExtraFields: map[string]any{
		"additionalProperties": false, "description": "d", "$defs": map[string]any{}, "anyOf": []any{}, "title": "t"}}
	seen := map[string]bool{}
	for range 200 {
		got, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(got)] = true
	}
	if len(seen) == 1 {
		t.Error("the SDK now writes extra fields in a stable order")
	}
}

func TestSDKDropsEventsWithoutName(t *testing.T) {
	res := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader("data: {\"type\":\"message_stop\"}\n\n"))}
	stream := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
	if stream.Next() {
		t.Error("the SDK now reads events that have no name")
	}
}
