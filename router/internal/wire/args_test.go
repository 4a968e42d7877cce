package wire

import (
	"encoding/json"
	"testing"
)

func TestObject(t *testing.T) {
	for in, want := range map[string]string{
		`{"b": 1, "a":2}`:  `{"b": 1, "a":2}`,
		" {}\n":            " {}\n",
		``:                 `{}`,
		` `:                `{}`,
		`null`:             `{}`,
		`[1]`:              `{"value":[1]}`,
		`"x"`:              `{"value":"x"}`,
		`{"a": "<x`:        `{"invalid_json":"{\"a\": \"<x"}`,
		"{\"a\": \xff}":    "{\"invalid_json\":\"{\\\"a\\\": \ufffd}\"}",
		`{"a": 1} {"b":2}`: `{"invalid_json":"{\"a\": 1} {\"b\":2}"}`,
	} {
		if got := string(Object(json.RawMessage(in))); got != want {
			t.Errorf("Object(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte("{\"a\xff"))
	f.Add([]byte(" [ 1 ] "))
	f.Fuzz(func(t *testing.T, args []byte) {
		if got := Object(args); !IsObject(got) {
			t.Errorf("Object(%q) = %s, which is not an object", args, got)
		}
	})
}
