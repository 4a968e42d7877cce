package toolformat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
)

var fuzzTools = []Tool{
	{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object"},"u":{"type":["string","null"]}}}`)},
	{Name: "g"},
}

// fuzzTexts returns messages with every marker of every format, as seeds for the fuzzer.
func fuzzTexts(f *Format) []string {
	section, call := Wrap{}, Wrap{}
	if len(f.Sections) > 0 {
		section = f.Sections[0]
	}
	if len(f.Calls) > 0 {
		call = f.Calls[0]
	}
	head := "f"
	if len(f.Head.End) > 0 {
		head += f.Head.End[0]
	}
	param := f.Param.Open + "s" + f.Param.End + "a < b\n" + f.Param.closing("s")
	think := strings.Join(f.Think.Open, "") + "hm" + strings.Join(f.Think.Close, "")
	object := `{"name": "f", "arguments": {"s": "}<", "n": 1}, "id": "x"}`
	texts := []string{
		think + "answer" + strings.Join(f.Drop, " "),
		section.Open + call.Open + head + param + call.Close + section.Close + "after",
		section.Open + call.Open + head + `{"s": "` + section.Close + `"}` + call.Close + section.Close,
		section.Open + call.Open + object + call.Close + section.Close,
		section.Open + "[" + object + ", {\"f\": {\"n\": 2}}]" + section.Close,
		section.Open + `[f(s="a\"", n=-1, o={'k': [True, None]}), g()]` + section.Close,
		section.Open + call.Open + head + `{s:` + f.Quote + `x` + f.Quote + `,o:{k:[1,two]}}` + call.Close,
		section.Open + call.Open + head + param,
		section.Open + call.Open + `{"x": {"a": [1]}, "y": -1, "z": "\"", "arguments": "{\"n\": 1}", "name": "f"}` + call.Close,
	}
	if c := f.Channels; c != nil {
		texts = append(texts, c.Channel+c.Thinking+c.Message+"hm"+c.End[0]+c.Start+" "+c.To+c.Prefix+"f"+c.Message+`{"n":1}`+c.End[0])
	}
	return texts
}

// checkEvents checks that the events of a message are consistent.
func checkEvents(t *testing.T, events []Event) {
	t.Helper()
	open := -1
	next := 0
	for _, e := range events {
		switch e.Kind {
		case CallStart:
			if open >= 0 || e.Index != next || e.Name == "" || e.ID == "" {
				t.Fatalf("call begins out of order: %+v", e)
			}
			open, next = e.Index, next+1
		case CallDelta, CallEnd:
			if e.Index != open {
				t.Fatalf("event of a call that is not open: %+v", e)
			}
			if e.Kind == CallEnd {
				open = -1
			}
		}
	}
	if open >= 0 {
		t.Fatalf("call %d never ends", open)
	}
}

// parseIn parses text in pieces that end at the cuts, and in pieces of size bytes.
func parseIn(t *testing.T, f *Format, tools []Tool, o ParserOptions, text string, size int) Reply {
	p := f.NewParser(tools, o)
	var events []Event
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		events = append(events, p.Feed(rest[:n])...)
		rest = rest[n:]
	}
	last, err := p.Close()
	events = append(events, last...)
	checkEvents(t, events)
	var r Reply
	r.Add(events...)
	if (err == nil) != (len(r.Calls) == len(r.Sound().Calls)) {
		t.Fatalf("error %v for calls %+v", err, r.Calls)
	}
	return r
}

// FuzzParser feeds any text to every format: the result must not depend on how the text is split,
// and calls reported as valid must have readable arguments.
//
// Evidence: engine · Tool calls of 34 formats parse the same in any chunks
func FuzzParser(f *testing.F) {
	for i, format := range formats {
		for _, text := range fuzzTexts(format) {
			f.Add(byte(i), byte(0), text, "")
			f.Add(byte(i), byte(7), text, strings.Join(format.Think.Open, ""))
		}
	}
	f.Fuzz(func(t *testing.T, which, flags byte, text, prompt string) {
		format := formats[int(which)%len(formats)]
		o := ParserOptions{
			Prompt: prompt, Continue: flags&1 != 0, KeepReasoning: flags&2 != 0,
			NoCalls: flags&8 != 0, JSON: flags&16 != 0,
		}
		tools := fuzzTools
		if flags&4 != 0 {
			tools = nil
		}
		whole := parseIn(t, format, tools, o, text, len(text)+1)
		for _, size := range []int{1, 2, 3, 5, 16} {
			if d := cmp.Diff(whole, parseIn(t, format, tools, o, text, size)); d != "" {
				t.Fatalf("%s: pieces of %d bytes differ (-whole +pieces):\n%s", format.Name, size, d)
			}
		}
		for _, c := range whole.Sound().Calls {
			if _, err := jsonrepair.Repair(c.Args); err != nil {
				t.Fatalf("%s: arguments of a sound call: %q: %v", format.Name, c.Args, err)
			}
		}
		if size := len(whole.Content) + len(whole.Reasoning) + len(whole.Trailing); size > len(text)+len(prompt) {
			if utf8.ValidString(text) {
				t.Fatalf("%s: %d bytes of text from %d", format.Name, size, len(text)+len(prompt))
			}
		}
	})
}
