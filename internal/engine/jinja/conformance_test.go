package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestConformance checks that the templates in testdata/conformance.jsonl, which were written by
// testdata/oracle.py, render as in Python's Jinja2: the same text, or an error of the same kind (a
// syntax error at the same line).
//
// Evidence: engine · Chat templates render as in Python, byte for byte
func TestConformance(t *testing.T) {
	path := "testdata/conformance.jsonl"
	if p := os.Getenv("JINJA_CONFORMANCE"); p != "" { // a larger file from the same script
		path = p
	}
	type row struct {
		Template, Syntax, Error string
		Text                    *string
		Vars                    json.RawMessage
	}
	rows := readLines[row](t, path)
	vars := fromJSON(t, rows[0].Vars)
	words := 0
	for _, r := range rows[1:] {
		got, kind := outcome(r.Template, vars)
		want := "text " + deref(r.Text)
		switch {
		case r.Syntax != "":
			line, _, _ := strings.Cut(r.Syntax, ":")
			want = "syntax line " + line
			got, _, _ = strings.Cut(got, ":")
		case r.Error != "":
			want, _, _ = strings.Cut("error "+r.Error, ":")
			if got == "error "+r.Error {
				words++
			}
			got = kind
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s (%s%s)", r.Template, got, want, r.Error, r.Syntax)
		}
	}
	t.Logf("%d cases; %d errors in the very words", len(rows)-1, words)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// outcome returns the result of a template. For an error, it returns only its kind.
func outcome(src string, vars *Dict) (full, kind string) {
	tmpl, err := Parse(src)
	var se *SyntaxError
	if errors.As(err, &se) {
		return fmt.Sprintf("syntax line %d: %s", se.Line, se.Message), "syntax"
	}
	out, err := tmpl.Render(vars, Options{Now: testClock})
	var re *RenderError
	if errors.As(err, &re) {
		return "error " + re.Kind + ": " + re.Message, "error " + re.Kind
	}
	return "text " + out, "text"
}
