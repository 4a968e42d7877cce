package agent

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateEvents = flag.Bool("update-events", false, "write testdata/events.golden.jsonl")

// filler makes values of any type from bytes.
type filler struct {
	data  []byte
	depth int
}

func (f *filler) byte() byte {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return b
}

func (f *filler) uint() uint64 {
	var b [8]byte
	n := int(f.byte() % 9)
	for i := range n {
		b[i] = f.byte()
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (f *filler) bytes() []byte {
	n := min(int(f.byte()%32), len(f.data))
	b := append([]byte{}, f.data[:n]...)
	f.data = f.data[n:]
	return b
}

func (f *filler) error() error {
	text := string(f.bytes())
	switch f.byte() % 11 {
	case 0:
		return nil
	case 1:
		return errors.New(text)
	case 2:
		return &ModelError{Kind: ErrRateLimit, Status: int(f.byte()), RetryAfter: time.Duration(f.uint()), Provider: text, RequestID: string(f.bytes()), Err: f.error()}
	case 3:
		return fmt.Errorf("%s: %w", text, f.error())
	case 4:
		return errors.Join(errors.New(text), f.error())
	case 5:
		return context.Canceled
	case 6:
		return &OutputError{Name: text, Attempts: int(f.byte()), Err: errors.New(text)}
	case 7:
		return &fs.PathError{Op: "open", Path: text, Err: syscall.ENOENT}
	case 8:
		return ErrTimeout
	case 9:
		return context.DeadlineExceeded
	}
	return ErrBusy
}

func (f *filler) fill(v reflect.Value) {
	f.depth++
	defer func() { f.depth-- }()
	switch v.Type() {
	case errorType:
		if err := f.error(); err != nil {
			v.Set(reflect.ValueOf(err))
		}
		return
	case eventIface:
		if f.depth < 6 && f.byte()%8 > 0 {
			v.Set(reflect.ValueOf(f.event()))
		}
		return
	case partIface:
		if f.depth < 8 && f.byte()%8 > 0 {
			p := reflect.New(partTags[int(f.byte())%len(partTags)].typ).Elem()
			f.fill(p)
			v.Set(p)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(f.bytes()))
	case reflect.Bool:
		v.SetBool(f.byte()&1 == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.uint()))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(f.uint() & (1<<v.Type().Bits() - 1))
	case reflect.Pointer:
		if f.byte()&1 == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		n := int(f.byte() % 5)
		if n == 4 {
			return // nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(f.bytes())
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	default:
		panic("no filler for " + v.Type().String())
	}
}

func (f *filler) event() Event {
	v := reflect.New(eventTags[int(f.byte())%len(eventTags)].typ).Elem()
	f.fill(v)
	return v.Interface().(Event)
}

// sameErrors compares errors by text, by kind and by what errors.Is finds in them.
var sameErrors = cmp.Comparer(func(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	if errorText(a) != errorText(b) {
		return false
	}
	if AsModelError(a).Kind != AsModelError(b).Kind {
		return false
	}
	for _, k := range knownErrors {
		if errors.Is(a, k.err) != errors.Is(b, k.err) {
			return false
		}
	}
	return true
})

func roundTrip(t *testing.T, ev Event) {
	t.Helper()
	data, err := MarshalEvent(ev)
	if err != nil {
		t.Fatalf("%#v: %v", ev, err)
	}
	got, err := UnmarshalEvent(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if diff := cmp.Diff(ev, got, sameErrors, exact); diff != "" {
		t.Fatalf("%s\n%s", data, diff)
	}
	again, err := MarshalEvent(got)
	if err != nil || string(again) != string(data) {
		t.Fatalf("written again: %s, %v; want %s", again, err, data)
	}
}

// exact compares strings by their bytes, which cmp does not if they are not UTF-8.
var exact = cmp.Comparer(func(a, b string) bool { return a == b })

// Every event comes back from its wire form as it was: texts and arguments byte for byte, durations
// to the nanosecond, errors with their text and kind.
//
// Evidence: loop · An event stream is written, read back and equal, for every type of event
func TestEventRoundTrip(t *testing.T) {
	seed := []byte("3\x01\x7f\xff\xfe ab\x00<&>{\"a\": 1}\xf4\x8f\xbf\xbfz\xed\xa0\x80")
	for i := range eventTags {
		roundTrip(t, reflect.Zero(eventTags[i].typ).Interface().(Event))
		for n := range 60 {
			f := &filler{data: slices.Concat([]byte{byte(i)}, seed[n%len(seed):], []byte(fmt.Sprint(n, "x", n*n)), seed, seed[:n%len(seed)], seed, seed)}
			roundTrip(t, f.event())
		}
	}
}

func FuzzEventRoundTrip(f *testing.F) {
	for i := range eventTags {
		f.Add([]byte{byte(i), 3, 'a', 0xff, 'b', 2, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, (&filler{data: data}).event()) })
}

// Whatever bytes arrive, reading them returns: an event that can be written, or an error.
func FuzzUnmarshalEvent(f *testing.F) {
	golden, _ := os.ReadFile(filepath.Join("testdata", "events.golden.jsonl"))
	for line := range strings.Lines(string(golden)) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"type":"sub_event","event":{"type":"sub_event","event":{"type":"new"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := UnmarshalEvent(data)
		if err != nil {
			return
		}
		if _, err := MarshalEvent(ev); err != nil {
			t.Errorf("%s was read and cannot be written: %v", data, err)
		}
	})
}

// TestEveryEventHasAWireForm: a type of event that is added without a tag fails here, as does a
// field whose type has no wire form.
func TestEveryEventHasAWireForm(t *testing.T) {
	declared := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "event" {
				continue
			}
			if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
				declared[id.Name] = true
			}
		}
	}
	delete(declared, "UnknownEvent")
	tagged := map[string]bool{}
	tags := map[string]bool{}
	for _, e := range eventTags {
		tagged[e.typ.Name()] = true
		if tags[e.tag] {
			t.Errorf("the tag %s stands for two types", e.tag)
		}
		tags[e.tag] = true
		names := map[string]bool{"type": true}
		checkFields(t, e.typ, names)
		_, writes := reflect.PointerTo(e.typ).MethodByName("UnmarshalJSON")
		if _, reads := e.typ.MethodByName("MarshalJSON"); (!reads || !writes) && e.typ != reflect.TypeFor[Usage]() {
			t.Errorf("%s has no methods of encoding/json; add them to eventmethods.go", e.typ)
		}
	}
	if diff := cmp.Diff(declared, tagged); diff != "" {
		t.Errorf("the events in the source (-) have no tag in eventTags (+):\n%s", diff)
	}
}

func checkFields(t *testing.T, typ reflect.Type, names map[string]bool) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			checkFields(t, f.Type, names)
			continue
		}
		if name := wireName(f); names[name] {
			t.Errorf("%s.%s: the name %s is taken", typ, f.Name, name)
		} else {
			names[name] = true
		}
	}
}

// sample returns an event of each type with every field set.
func sampleEvents() []Event {
	call := ToolCall{ID: "c1", Name: "shell", Args: json.RawMessage(`{"command":"ls"}`)}
	loose := ToolCall{ID: "c2", Name: "shell", Args: json.RawMessage(`{"command": "ls"}`)}
	result := ToolResult{CallID: "c1", Parts: []Part{Text{Text: "a.go"}, Image{MediaType: "image/png", Data: []byte{1, 2}}}, IsError: true}
	message := Message{Role: RoleAssistant, Parts: []Part{Thinking{Text: "hm", Signature: "s", Provider: "anthropic"}, Text{Text: "yes"}, call, loose, Opaque{Provider: "openai", Data: json.RawMessage(`{"x":1}`)}}}
	limited := &ModelError{Kind: ErrRateLimit, Status: 429, RetryAfter: 1500 * time.Millisecond, Provider: "openai", RequestID: "r1", Err: errors.New("slow down")}
	usage := Usage{Input: 5, CachedInput: 1, CacheWrite: 2, Output: 3, Reasoning: 1}
	routing := Routing{ID: 2, Parent: 1, Router: "auto", Model: "small", Reason: "cheap", Attempt: 1}
	effects := Effects{Known: true, Reads: []string{"."}, Writes: []string{"a.go"}, Flags: EffectNetwork | EffectExec, Reasons: []string{"it runs a program"}}
	return []Event{
		TextDelta{"hi"}, ThinkingDelta{"hm", "s", []byte("x"), "anthropic"}, ToolCallStart{1, "c1", "shell"}, ToolCallDelta{1, `{"a`},
		Opaque{"openai", json.RawMessage(`{"x":1}`)}, usage, Finish{FinishStop}, StepStart{1}, MessageAdded{message}, CallStart{call, effects},
		CallProgress{"c1", "half\xff"}, CallDone{call, result, 1234567 * time.Nanosecond}, Decided{call, Verdict{Allow, "read-only", "it only reads"}},
		RetryWait{1, 90 * time.Second, limited}, Charged{usage, 12, true, fmt.Errorf("agent: run: %w", context.Canceled)},
		AskedAgain{1, StopEmpty, "the answer was empty"}, StreamReset{}, Steered{UserText("stop")}, Reminded{"again"},
		Compacted{CompactionReport{Before: 9, After: 3, Pruned: 1, Summary: true, Notes: []string{"n"}, Usage: usage, Estimated: usage}},
		Redacted{1, limited}, Checkpointed{"abc", errors.New("disk full")}, PlanChanged{"1. read"}, TodosChanged{[]Todo{{"test", TodoActive}}},
		SubEvent{"c1", SubEvent{"c9", TextDelta{"deep"}}}, routing, Routed{routing, usage, 7, time.Minute, limited, true, true, true},
		Done{&Result{Stop: StopOutput, Detail: "it does not fit", Message: &message, Output: json.RawMessage(`{"ok": true}`), Steps: 2, Calls: 1, Usage: usage, Estimated: usage,
			MicroDollars: 12, Unpriced: true, Duration: time.Hour, Abandoned: 1, Err: &OutputError{Name: "report", Attempts: 3, Err: errors.New("no such field")}}},
	}
}

// TestEventForm holds the wire form still: what programs in other languages read must not change.
func TestEventForm(t *testing.T) {
	path := filepath.Join("testdata", "events.golden.jsonl")
	seen := map[string]bool{}
	var b strings.Builder
	for _, ev := range sampleEvents() {
		roundTrip(t, ev)
		data, err := MarshalEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		seen[eventTag(reflect.TypeOf(ev))] = true
		b.Write(data)
		b.WriteByte('\n')
		if _, ok := ev.(Usage); ok {
			continue
		}
		if _, ok := ev.(Opaque); ok {
			continue
		}
		same, err := json.Marshal(map[string]any{"ev": ev})
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(ev))
		if err := json.Unmarshal(same[len(`{"ev":`):len(same)-1], back.Interface()); err != nil || !cmp.Equal(back.Elem().Interface(), ev, sameErrors, exact) {
			t.Errorf("encoding/json: %s: %+v, %v", same, back.Elem(), err)
		}
	}
	if len(seen) != len(eventTags) {
		t.Errorf("samples of %d types of %d; the rest: %v", len(seen), len(eventTags), slices.Collect(maps.Keys(seen)))
	}
	if *updateEvents {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the wire form changed (-update-events writes it):\n%s", diff)
	}
}

// TestEventsOfNewerVersions: what a reader does not know does not stop it, and survives being
// passed on.
func TestEventsOfNewerVersions(t *testing.T) {
	for in, want := range map[string]Event{
		`{"type":"text_delta","text":"hi","voice":{"pitch":3}}`:                                           TextDelta{"hi"},
		`{"type":"hologram","x":[1, 2]}`:                                                                  UnknownEvent{"hologram", json.RawMessage(`{"type":"hologram","x":[1, 2]}`)},
		`{"type":"sub_event","call_id":"1","event":{"type":"hologram"}}`:                                  SubEvent{"1", UnknownEvent{"hologram", json.RawMessage(`{"type":"hologram"}`)}},
		`{"type":"steered","message":{"role":"user","parts":[{"type":"smell"}]}}`:                         UnknownEvent{"steered", json.RawMessage(`{"type":"steered","message":{"role":"user","parts":[{"type":"smell"}]}}`)},
		`{"type":"retry_wait","delay":1500000000,"err":{"text":"x","kind":"new","mood":"bad"}}`:           RetryWait{Delay: 1500 * time.Millisecond, Err: &DecodedError{Text: "x"}},
		`{"type":"decided","verdict":{"decision":"maybe"}}`:                                               Decided{},
		`{"type":"done","result":null}`:                                                                   Done{},
		`{"type":"finish","reason":"bored"}`:                                                              Finish{"bored"},
		` { "type" : "step_start" , "step" : 3 } `:                                                        StepStart{3},
		`{"type":"charged","err":{"text":"no file","is":["fs.ErrNotExist","x.ErrNew"]},"estimated":true}`: Charged{Estimated: true, Err: &DecodedError{Text: "no file", is: []string{"fs.ErrNotExist"}}},
	} {
		got, err := UnmarshalEvent([]byte(in))
		if err != nil || !cmp.Equal(got, want, sameErrors, exact) {
			t.Errorf("%s: %#v, %v; want %#v", in, got, err, want)
			continue
		}
		if u, ok := got.(UnknownEvent); ok {
			if out, err := MarshalEvent(u); err != nil || string(out) != in {
				t.Errorf("%s came out as %s, %v", in, out, err)
			}
		}
	}
	deep := strings.Repeat(`{"type":"sub_event","event":`, 5000) + `null` + strings.Repeat("}", 5000)
	for _, in := range []string{``, `3`, `[]`, `{}`, `{"type":3}`, `{"type":"text_delta","text":3}`, `{"type":"retry_wait","delay":"soon"}`, `{"type":"text_delta"`, deep} {
		if ev, err := UnmarshalEvent([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), "agent: decode event: ") {
			t.Errorf("%.40q: %#v, %v; want an error", in, ev, err)
		}
	}
	if data, err := MarshalEvent(RetryWait{Err: (*ModelError)(nil)}); err != nil || !strings.Contains(string(data), "without a text") {
		t.Errorf("a faulty error: %s, %v", data, err)
	}
	if _, err := MarshalEvent(&TextDelta{}); err == nil {
		t.Error("a pointer was written")
	}
}

// TestErrorKinds: errors.Is finds the kind of a model error, also through a wire.
func TestErrorKinds(t *testing.T) {
	err := fmt.Errorf("agent: run: %w", errors.Join(errors.New("other"), &ModelError{Kind: ErrRateLimit, Err: context.DeadlineExceeded}))
	data, fail := MarshalEvent(Done{&Result{Err: err}})
	if fail != nil {
		t.Fatal(fail)
	}
	ev, fail := UnmarshalEvent(data)
	if fail != nil {
		t.Fatal(fail)
	}
	for _, e := range []error{err, ev.(Done).Result.Err} {
		if !errors.Is(e, ErrRateLimit) || errors.Is(e, ErrAuth) || errors.Is(e, ErrUnknown) || !errors.Is(e, context.DeadlineExceeded) || AsModelError(e).Kind != ErrRateLimit {
			t.Errorf("%#v", e)
		}
	}
	if !errors.Is(AsModelError(errors.New("x")), ErrUnknown) || AsModelError(fmt.Errorf("x: %w", ErrAuth)).Kind != ErrAuth || ErrAuth.Error() != "auth" {
		t.Error("a kind is not an error")
	}
}
