package jsontree

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	in := `{"b":[1,2.50,-0e+9,"\u00e9\/","<&>"],"a":{"x":null,"x":true},"":{}}`
	v, err := Parse([]byte(" " + in + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.JSON()); got != in {
		t.Errorf("got %s", got)
	}
	if got := v.Get("a").Get("x"); got == nil || got.Kind != Bool {
		t.Error("the last of a repeated key counts")
	}
	c := v.Clone()
	c.Set("a", NewInt(5))
	c.Delete("b")
	c.Set("z", NewStrings("p", "q"))
	if got := string(c.JSON()); got != `{"a":5,"":{},"z":["p","q"]}` || v.Get("b") == nil {
		t.Errorf("changed clone: %s", got)
	}
	if !v.Equal(v.Clone()) || v.Equal(c) {
		t.Error("Equal is wrong")
	}
}

// FuzzTree compares the tree with encoding/json: the input it accepts, the value, and the output.
func FuzzTree(f *testing.F) {
	for _, s := range []string{`{}`, `[1,"a",null]`, `{"a":{"b":[true,false]}}`, `"\ud800"`, "\"\xff\"", `1e5`, ` [ ] `, `{"a":1,"a":2}`, `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: %v", data, err)
		}
		if err != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v.Any(), want) {
			t.Fatalf("%q: %v, want %v", data, v.Any(), want)
		}
		again, err := Parse(v.JSON())
		if err != nil || !reflect.DeepEqual(again.Any(), want) {
			t.Fatalf("%q was written as %q: %v", data, v.JSON(), err)
		}
	})
}
