package jsontree_test

import (
	"encoding/json"
	"hash/maphash"
	"reflect"
	"testing"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// TestSum checks that spellings of one value have one hash, and that other values have other ones.
func TestSum(t *testing.T) {
	s := jsontree.Summer{Seed: maphash.MakeSeed()}
	seen := map[uint64]string{}
	for _, same := range [][]string{
		{`{}`, ``, ` `, "{ }\n"},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{ "b" : 2.0 , "a" : 10e-1 }`, `{"b":0,"a":1,"b":2}`, `{"\u0061":1,"b":2e0}`},
		{`{"a":2,"b":1}`},
		{`{"a":{"b":2},"c":[1,{"x":1,"y":2}]}`, `{"c":[1.0,{"y":2,"x":1}],"a":{"b":2}}`},
		{`{"a":{"b":2,"c":[1,{"x":1,"y":2}]}}`},
		{`{"a":[1,2]}`}, {`{"a":[2,1]}`}, {`{"a":[[1],2]}`}, {`{"a":[1,[2]]}`}, {`{"a":[12]}`},
		{`{"a":"1"}`}, {`{"a":1}`}, {`{"a":"true"}`}, {`{"a":true}`}, {`{"a":null}`}, {`{"a":""}`},
		{`{"a":-1}`}, {`{"a":10}`, `{"a":1e1}`, `{"a":1E+1}`, `{"a":100.0e-1}`}, {`{"a":100}`}, {`{"a":0.1}`, `{"a":1e-1}`},
		{`{"a":0}`, `{"a":-0}`, `{"a":0.00}`, `{"a":0e9}`},
		{`{"a":9007199254740993}`}, {`{"a":9007199254740992}`, `{"a":9007199254740992.0}`},
		{`{"a":1e400}`}, {`{"a":1e401}`, `{"a":10e400}`}, {`{"a":1e99999999999999999999}`},
		{`{"a":"é\n/"}`, `{"a":"\u00e9\u000a\/"}`},
		{`{"a":"x\\"}`}, {`{"a":"x"}`}, {`{"a":"x","b":null}`}, {`{"a":`}, {`{"a" :`}, {`{"a":1}x`}, {`{"a":01}`}, {`{"a":1.}`}, {`{"a":01x}`}, {`{"a":.5}`}, {`{"a"1}`},
		{`[{"a":1}]`}, {`{"a":{}}`}, {`{"a":[]}`}, {`{"a":[{}]}`},
	} {
		want := s.Sum([]byte(same[0]))
		if old, ok := seen[want]; ok {
			t.Errorf("%s and %s have the same hash", old, same[0])
		}
		seen[want] = same[0]
		for _, text := range same[1:] {
			if s.Sum([]byte(text)) != want {
				t.Errorf("%s and %s have different hashes", same[0], text)
			}
		}
	}
	args := []byte(`{"path":"a/b.go","range":{"from":1,"to":20},"tags":["x","y"],"all":true}`)
	if n := testing.AllocsPerRun(100, func() { s.Sum(args) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSum checks that re-encoding a value, which sorts its keys and spells it in another way, keeps
// its hash, and that no text panics.
func FuzzSum(f *testing.F) {
	for _, s := range []string{`{"b":1.50,"a":[{"y":null,"x":"\u00e9"}]}`, `[1e2,-0,{}]`, `{"a":`, `"\ud800"`, `{"a":1,"a":2}`, "{\"\xd4\":0}", `01`, `1 2`, `-`, `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := jsontree.Summer{Seed: maphash.MakeSeed()}
		sum := s.Sum([]byte(text))
		var v, w any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil || json.Unmarshal(again, &w) != nil || !reflect.DeepEqual(v, w) {
			return
		}
		if tree, err := jsontree.Parse([]byte(text)); err != nil || hasInexact(tree) {
			return
		}
		if s.Sum(again) != sum {
			t.Errorf("%s and %s have different hashes", text, again)
		}
	})
}

// hasInexact reports whether a value has a number that a float64 may not hold exactly.
func hasInexact(v *jsontree.Value) bool {
	bad := v.Kind == jsontree.Number && len(v.Raw()) > 9
	for _, item := range v.Items {
		bad = bad || hasInexact(item)
	}
	for _, m := range v.Members {
		bad = bad || hasInexact(m.Value)
	}
	return bad
}
