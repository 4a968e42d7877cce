package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestPreview(t *testing.T) {
	doc := `{"path":"a/ü.go","edits":[{"old":"x\ny","all":true}],"n":12}`
	for _, size := range []int{1, 3, len(doc)} {
		p := NewPreview()
		var grown strings.Builder
		for i := 0; i < len(doc); i += size {
			if err := p.Feed(doc[i:min(len(doc), i+size)]); err != nil {
				t.Fatal(err)
			}
			grown.WriteString(p.Next("edits", "0", "old"))
			if text, done := p.Text("path"); done && text != "a/ü.go" || !strings.HasPrefix("a/ü.go", text) {
				t.Fatalf("path %q %v", text, done)
			}
		}
		if grown.String() != "x\ny" || !p.Done() {
			t.Errorf("old grew to %q", grown.String())
		}
		args, complete := p.Args()
		var want any
		dec := json.NewDecoder(strings.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if string(args) != doc || !complete || !reflect.DeepEqual(p.Value(), want) {
			t.Errorf("%s %v %v", args, complete, p.Value())
		}
		if got := strings.Join(p.Keys(), " "); got != "path edits n" {
			t.Errorf("keys %s", got)
		}
		for _, path := range [][]string{{"none"}, {"edits", "1"}, {"edits", "x"}, {"path", "y"}} {
			if text, done := p.Text(path...); text != "" || done {
				t.Errorf("%v: %q", path, text)
			}
		}
		if p.Keys("none") != nil {
			t.Error("keys of nothing")
		}
	}
}

func TestPreviewOfMalformedArguments(t *testing.T) {
	p := NewPreview()
	if err := p.Feed(`{"path":"a", 'x`); err == nil || !strings.HasPrefix(err.Error(), "tools: preview arguments: at byte 13") {
		t.Error(err)
	}
	if err := p.Feed(`':1}`); err == nil {
		t.Error("the fault was forgotten")
	}
	if text, done := p.Text("path"); text != "a" || !done {
		t.Errorf("%q %v", text, done)
	}
	if args, complete := p.Args(); string(args) != `{"path":"a", 'x':1}` || complete {
		t.Errorf("%s %v", args, complete)
	}
}
