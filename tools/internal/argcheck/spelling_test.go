package argcheck

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOddNumbers: a number in a form that JSON does not have becomes the number that every reader
// sees if the schema wants one, and never text.
func TestOddNumbers(t *testing.T) {
	c, err := Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"},"s":{"type":"string"},"e":{"enum":["5","31"]},"u":{"type":["string","integer"]},"list":{"type":"array","items":{"type":"string"}}}}`), Config{MaxRisk: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want, fault string }{
		{`{"n":82_461_110}`, `{"n":82461110}`, ""},
		{`{"n":+5}`, `{"n":5}`, ""},
		{`{"n":0x1F}`, `{"n":31}`, ""},
		{`{"n":-0b11}`, `{"n":-3}`, ""},
		{`{"x":.5}`, `{"x":0.5}`, ""},
		{`{"x":5.}`, `{"x":5.0}`, ""},
		{`{"n":5.}`, `{"n":5.0}`, ""},
		{`{"u":0x1F}`, `{"u":31}`, ""},
		{`{"s":7}`, `{"s":"7"}`, ""},
		{`{"s":2/*c*/}`, `{"s":"2"}`, ""},
		{`{"s":'0x1F'}`, `{"s":"0x1F"}`, ""},
		{`{"s":1.2.3}`, `{"s":"1.2.3"}`, ""},
		{`{"s":82_461_110}`, "", "s: want string, got 82_461_110 without quotes"},
		{`{"s":+5}`, "", "s: want string, got +5 without quotes"},
		{`{"s":0x1F}`, "", "got 0x1F without quotes"},
		{`{"s":5.}`, "", "got 5. without quotes"},
		{`{"s":007}`, "", "s: 007 is neither a JSON number nor text in quotes"},
		{`{"s":NaN}`, "", "s: NaN is neither"},
		{`{"s":1e }`, "", "the number 1e is not complete"},
		{`{"s":1__0}`, "", "s: 1__0 is neither"},
		{`{"s":0x}`, "", "s: 0x is neither"},
		{`{"s":5n}`, "", "s: 5n is neither"},
		{`{"s":1,000}`, "", "s: 1,000 is neither"},
		{`{"s":1 2}`, "", "s: 1 2 is neither"},
		{`{"s":--1}`, "", "s: --1 is neither"},
		{`{"s":10d}`, `{"s":"10d"}`, ""},
		{`{"s":2024-01-01}`, `{"s":"2024-01-01"}`, ""},
		{`{"s":true/*c*/}`, "", "s: want string, got the boolean true"},
		{`{"e":+5}`, "", "e: want one of"},
		{`{"list":[0x1F]}`, "", "list[0]: want string, got 0x1F"},
		{`{"list":007}`, "", "007"},
		{`{"list":"[007]"}`, "", "list[0]: 007 is neither"},
		{`{"n":007}`, "", "n: want integer"},
		{`{"n":1,000}`, "", "n: want integer"},
		{`{"x":NaN}`, "", "x: want number"},
		{`{"x":Infinity}`, "", "x: want number"},
		{`{"x":1e}`, "", "not complete"},
	} {
		out, _, err := c.Repair(json.RawMessage(tt.in))
		switch {
		case tt.fault == "" && (err != nil || string(out) != tt.want):
			t.Errorf("%s: %s %v, want %s", tt.in, out, err, tt.want)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: %s %v, want the fault %q", tt.in, out, err, tt.fault)
		}
	}
}

// TestNothingIsLostSilently: what is dropped is said, keys with two values are refused, and a key
// that took its neighbour in is split.
func TestNothingIsLostSilently(t *testing.T) {
	c, err := Compile(json.RawMessage(editSchema), Config{MaxRisk: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want, note, fault string }{
		{`{"path":"a","tags":"[\"x\"] and more"}`, `{"path":"a","tags":["x"]}`, "tags: removed text around the JSON", ""},
		{`{"path":"a","tags":["x"]} and more`, `{"path":"a","tags":["x"]}`, "removed text around the JSON", ""},
		{`{"limit: 5, path": "a"}`, `{"limit":5,"path":"a"}`, `read the key "limit: 5, path" as several arguments`, ""},
		{`{"limit\": 5, \"all\": true, \"path": "a"}`, `{"limit":5,"all":true,"path":"a"}`, "as several arguments", ""},
		{`{"limit: 5, path": "a", "limit": 6}`, "", "", "path: missing"},
		{`{"path":"a","path":"b"}`, "", "", `the key "path" is given twice`},
		{`{"path":"a","edits":[{"old_text":"x","old_text":"y"}]}`, "", "", `edits[0]: the key "old_text" is given twice`},
		{`{"path":"a","path":"a"}`, `{"path":"a","path":"a"}`, "", ""},
		{`{"path":"a","env":{"A":"b"}, "B":"c"}}`, "", "", "B: unknown argument"},
	} {
		out, notes, err := c.Repair(json.RawMessage(tt.in))
		switch {
		case tt.fault == "" && (err != nil || string(out) != tt.want || !strings.Contains(strings.Join(notes, "|"), tt.note)):
			t.Errorf("%s: %s %q %v, want %s and the note %q", tt.in, out, notes, err, tt.want, tt.note)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: %s %v, want the fault %q", tt.in, out, err, tt.fault)
		}
	}
}
