package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// The wire form of an event is a JSON object with a type tag and the fields of the event, which are
// left out if they are zero:
//
//	{"type":"call_done","call":{"id":"c1","name":"shell"},"result":{"call_id":"c1"},"duration":"1.5s"}
//
// Tags and names are stable. A version that adds a type or a field does not break older readers.

// eventTags lists every type of event with its tag. The tags of the events of a stream are those of
// the parts of a message with the same content.
var eventTags = []struct {
	tag string
	typ reflect.Type
}{
	{"text_delta", reflect.TypeFor[TextDelta]()},
	{"thinking_delta", reflect.TypeFor[ThinkingDelta]()},
	{"tool_call_start", reflect.TypeFor[ToolCallStart]()},
	{"tool_call_delta", reflect.TypeFor[ToolCallDelta]()},
	{"opaque", reflect.TypeFor[Opaque]()},
	{"usage", reflect.TypeFor[Usage]()},
	{"finish", reflect.TypeFor[Finish]()},
	{"step_start", reflect.TypeFor[StepStart]()},
	{"message_added", reflect.TypeFor[MessageAdded]()},
	{"call_start", reflect.TypeFor[CallStart]()},
	{"call_progress", reflect.TypeFor[CallProgress]()},
	{"call_done", reflect.TypeFor[CallDone]()},
	{"decided", reflect.TypeFor[Decided]()},
	{"retry_wait", reflect.TypeFor[RetryWait]()},
	{"charged", reflect.TypeFor[Charged]()},
	{"asked_again", reflect.TypeFor[AskedAgain]()},
	{"stream_reset", reflect.TypeFor[StreamReset]()},
	{"steered", reflect.TypeFor[Steered]()},
	{"reminded", reflect.TypeFor[Reminded]()},
	{"compacted", reflect.TypeFor[Compacted]()},
	{"redacted", reflect.TypeFor[Redacted]()},
	{"checkpointed", reflect.TypeFor[Checkpointed]()},
	{"plan_changed", reflect.TypeFor[PlanChanged]()},
	{"todos_changed", reflect.TypeFor[TodosChanged]()},
	{"sub_event", reflect.TypeFor[SubEvent]()},
	{"routing", reflect.TypeFor[Routing]()},
	{"routed", reflect.TypeFor[Routed]()},
	{"done", reflect.TypeFor[Done]()},
}

// UnknownEvent is an event that [UnmarshalEvent] does not know, because a newer version wrote it.
// [MarshalEvent] writes its Data.
type UnknownEvent struct {
	Type string
	Data json.RawMessage // the whole object
}

func (UnknownEvent) event() {}

// MarshalEvent returns the wire form of an event: a JSON object with its type under "type" and its
// fields in snake case. Errors are objects with their text and, if they wrap a [ModelError], its
// kind. A duration is text such as "1.5s". Bytes of a text that are not UTF-8 are written as the
// characters U+10FF80 to U+10FFFF, which [UnmarshalEvent] turns back.
//
// The same form comes from encoding/json for every event except [Usage] and [Opaque], which have no
// tag there, since they also are parts of other values.
func MarshalEvent(ev Event) ([]byte, error) {
	data, err := marshalEvent(ev, 0)
	if err != nil {
		return nil, fmt.Errorf("agent: encode event: %w", err)
	}
	return data, nil
}

// maxEventDepth limits objects inside objects, such as events of sub-agents of sub-agents;
// maxErrorDepth limits errors inside errors, and cuts what is deeper.
const (
	maxEventDepth = 200
	maxErrorDepth = 32
)

func marshalEvent(ev Event, depth int) ([]byte, error) {
	if u, ok := ev.(UnknownEvent); ok {
		if !json.Valid(u.Data) {
			return nil, fmt.Errorf("the data of the unknown event %q is not JSON", u.Type)
		}
		return u.Data, nil
	}
	tag := eventTag(reflect.TypeOf(ev))
	if tag == "" {
		return nil, fmt.Errorf("%T is not an event; events are values, not pointers", ev)
	}
	w := wireWriter{depth: depth}
	w.object(reflect.ValueOf(ev), tag)
	return w.buf.Bytes(), w.err
}

// UnmarshalEvent returns the event that [MarshalEvent] wrote, equal to the original except that an
// error is another value of the same text. errors.Is finds the [ErrorKind] and well-known errors
// such as [context.Canceled] in it as in the original, and errors.As finds a *[ModelError] and an
// *[OutputError]. Unknown fields are ignored, and an event of an unknown type, or with a part of an
// unknown type in a message, is an [UnknownEvent].
func UnmarshalEvent(data []byte) (Event, error) {
	ev, err := unmarshalEvent(data, 0)
	if err != nil {
		return nil, fmt.Errorf("agent: decode event: %w", err)
	}
	return ev, nil
}

func unmarshalEvent(data []byte, depth int) (Event, error) {
	if depth > maxEventDepth {
		return nil, errDeep
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Type == "" {
		return nil, errors.New(`the object has no "type"`)
	}
	typ := eventType(head.Type)
	if typ == nil {
		return UnknownEvent{Type: head.Type, Data: bytes.Clone(data)}, nil
	}
	v := reflect.New(typ).Elem()
	r := wireReader{depth: depth}
	switch err := r.value(data, v); {
	case errors.Is(err, errNewerPart):
		return UnknownEvent{Type: head.Type, Data: bytes.Clone(data)}, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", head.Type, err)
	}
	return v.Interface().(Event), nil
}

var (
	errDeep      = errors.New("it is nested too deeply")
	errNewerPart = errors.New("it has a part of an unknown type")
)

func eventTag(t reflect.Type) string {
	for i := range eventTags {
		if eventTags[i].typ == t {
			return eventTags[i].tag
		}
	}
	return ""
}

func eventType(tag string) reflect.Type {
	for i := range eventTags {
		if eventTags[i].tag == tag {
			return eventTags[i].typ
		}
	}
	return nil
}

// readEvent reads a wire form into the event that ptr points to, whatever its tag.
func readEvent(data []byte, ptr any) error {
	var r wireReader
	if err := r.value(data, reflect.ValueOf(ptr).Elem()); err != nil {
		return fmt.Errorf("agent: decode event: %w", err)
	}
	return nil
}
