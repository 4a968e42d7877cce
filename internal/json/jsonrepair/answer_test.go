package jsonrepair

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// An answer is read as JSON only if one value in it can be meant: the part of a value that cannot
// be read is never taken for the whole.
func TestAnswer(t *testing.T) {
	accept := func(x json.RawMessage) (json.RawMessage, error) {
		if x[0] != '{' {
			return nil, errors.New("want an object")
		}
		return x, nil
	}
	const ok = `{"a":1}`
	for answer, want := range map[string]string{
		ok:               ok,
		"  " + ok + "\n": ok,
		"```json\n" + ok + "\n```\nwhere `x{y}` is left out":      ok,
		"In [line 3] of `f(x) { return }`: " + ok:                 ok,
		"[1, 2] is wrong, so: " + ok:                              ok,
		"From {x} and {y}:\n" + ok + "\n" + ok:                    ok, // the same twice
		"From {x} and {y}:\n" + ok + "\n{\"a\":2}":                "",
		"From {x} and {y}:\n" + ok + "\n{\"a\":":                  "",
		"See {x}. {name: un quoted {\"b\":1}, \"sub\": {\"a\":1}": "",
		"See {x}. {'sub': {\"a\":1}":                              "",
		"See {x}. {\"list\":[{\"a\":1},{\"a\":":                   "",
		"See {x}. [{\"a\":1},{\"a\":":                             "",
		"See {x}. [\n  {\"a\":1}, oops oops {":                    "",
		"no JSON":                                                 "",
		"[" + ok + "]":                                            "",
		"{x}" + strings.Repeat("[a ", 100) + ok:                   "",
	} {
		got, err := Answer(answer, accept)
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v; want %q", answer, got, err, want)
		}
	}
}
