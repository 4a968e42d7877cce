package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// at returns a delta of the call with an index of the server.
func at(index int64, id, name, args string) CallDelta {
	return CallDelta{Index: Int{N: index, Set: true}, ID: id, Name: name, Args: args}
}

// bare returns a delta without an index.
func bare(id, name, args string) CallDelta { return CallDelta{ID: id, Name: name, Args: args} }

// collect returns the calls of the events as "id name args".
func collect(events [][]CallDelta) []string {
	t := Calls{Prefix: "made_"}
	var chunks []agent.Chunk
	for _, ev := range events {
		t.Next()
		for _, d := range ev {
			chunks = t.Add(d, chunks)
		}
	}
	if t.Mixed() {
		return []string{"mixed"}
	}
	return gather(t.Flush(chunks))
}

func gather(chunks []agent.Chunk) []string {
	var out []string
	args := map[int]string{}
	for _, c := range chunks {
		switch c := c.(type) {
		case agent.ToolCallStart:
			out = append(out, c.ID+" "+c.Name)
		case agent.ToolCallDelta:
			args[c.Index] += c.Args
		}
	}
	for i := range out {
		out[i] += " " + args[i]
	}
	return out
}

func one(ds ...CallDelta) (events [][]CallDelta) {
	for _, d := range ds {
		events = append(events, []CallDelta{d})
	}
	return events
}

// TestCalls: no call gets the arguments of another, and none is lost, however a server numbers and
// names its calls.
//
// Evidence: backends · Parallel calls keep their own arguments, however a server numbers them
func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events [][]CallDelta
		want   []string
	}{
		{"as OpenAI streams", one(at(0, "x", "a", ""), at(0, "", "", `{"p":`), at(0, "", "", `1}`), at(1, "y", "b", ""), at(1, "", "", `{}`)),
			[]string{`x a {"p":1}`, `y b {}`}},
		{"one index, by turns, ids in all", one(at(0, "x", "a", ""), at(0, "y", "a", ""), at(0, "x", "", `{"p":`), at(0, "y", "", `{"p":`), at(0, "x", "", `1}`), at(0, "y", "", `2}`)),
			[]string{`x a {"p":1}`, `y a {"p":2}`}},
		{"no index, by turns, ids in all", one(bare("x", "a", ""), bare("y", "a", ""), bare("x", "", `{"p":1}`), bare("y", "", `{"p":2}`)),
			[]string{`x a {"p":1}`, `y a {"p":2}`}},
		{"one index, id and name in all, by turns", one(at(0, "x", "a", `{"p":`), at(0, "y", "a", `{"p":`), at(0, "x", "a", `1}`), at(0, "y", "a", `2}`)),
			[]string{`x a {"p":1}`, `y a {"p":2}`}},
		{"one index, three whole calls", one(at(0, "x", "a", `{"p":1}`), at(0, "y", "a", `{"p":2}`), at(0, "z", "a", `{"p":3}`)),
			[]string{`x a {"p":1}`, `y a {"p":2}`, `z a {"p":3}`}},
		{"announced together with {}, then by turns", one(at(0, "x", "a", `{}`), at(0, "y", "a", `{}`), at(0, "x", "", `{"p":1}`), at(0, "y", "", `{"p":2}`)),
			[]string{`x a {"p":1}`, `y a {"p":2}`}},
		{"announced with {}", one(at(0, "x", "a", `{}`), at(0, "", "", `{"p":`), at(0, "", "", `1}`)), []string{`x a {"p":1}`}},
		{"announced with { }", one(at(0, "x", "a", "{ }"), at(0, "", "", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"announced with null", one(at(0, "x", "a", "null"), at(0, "", "", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"announced with quotes", one(at(0, "x", "a", `""`), at(0, "", "", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"announced with {} twice", one(at(0, "x", "a", `{}`), at(0, "x", "a", `{}`), at(0, "x", "a", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"announced with {}, fields repeated", one(at(0, "x", "a", `{}`), at(0, "x", "a", `{"p":`), at(0, "x", "a", `1}`)), []string{`x a {"p":1}`}},
		{"announced with {}, name repeated without id", one(at(0, "", "a", `{}`), at(0, "", "a", `{"p":`), at(0, "", "a", `1}`)), []string{`made_0 a {"p":1}`}},
		{"announced with {}, white space first", one(at(0, "x", "a", `{}`), at(0, "", "", "\n"), at(0, "", "", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"announced with {}, in pieces of one byte", one(at(0, "x", "a", `{}`), at(0, "", "", "{"), at(0, "", "", `"`), at(0, "", "", `p":1}`)), []string{`x a {"p":1}`}},
		{"{} and nothing more", one(at(0, "x", "a", `{}`), at(1, "y", "b", `{"p":1}`)), []string{`x a {}`, `y b {"p":1}`}},
		{"null and nothing more", one(at(0, "x", "a", `null`)), []string{`x a {}`}},
		{"{} in two pieces", one(at(0, "x", "a", `{`), at(0, "", "", `}`)), []string{`x a {}`}},
		{"no ids, no arguments", one(at(0, "", "a", ""), at(0, "", "b", "")), []string{`made_0 a `, `made_1 b `}},
		{"no index, ids or arguments", one(bare("", "a", ""), bare("", "b", "")), []string{`made_0 a `, `made_1 b `}},
		{"no index, ids or arguments, one name", one(bare("", "a", ""), bare("", "a", "")), []string{`made_0 a `, `made_1 a `}},
		{"no index or ids, in one event", [][]CallDelta{{bare("", "a", ""), bare("", "a", ""), bare("", "a", `{"p":1}`)}}, []string{`made_0 a `, `made_1 a `, `made_2 a {"p":1}`}},
		{"no index or ids, in pieces", one(bare("", "a", `{"p":`), bare("", "", `1}`), bare("", "a", `{"p":2}`)), []string{`made_0 a {"p":1}`, `made_1 a {"p":2}`}},
		{"ids without arguments under one index", one(at(0, "x", "a", ""), at(0, "y", "a", "")), []string{`x a `, `y a `}},
		{"one id for two names", one(at(0, "c", "a", `{"p":1}`), at(0, "c", "b", `{"p":2}`)), []string{`c a {"p":1}`, `c_2 b {"p":2}`}},
		{"one id for two calls of a tool", one(at(0, "c", "a", `{"p":1}`), at(0, "c", "a", `{"p":2}`)), []string{`c a {"p":1}`, `c_2 a {"p":2}`}},
		{"one id under two indexes", one(at(0, "c", "a", `{"p":1}`), at(1, "c", "a", `{"p":1}`)), []string{`c a {"p":1}`, `c_2 a {"p":1}`}},
		{"an id made up for every delta", one(at(0, "r1", "a", ""), at(0, "r2", "", `{"p":`), at(0, "r3", "", `1}`), at(0, "r4", "", "")), []string{`r1 a {"p":1}`}},
		{"an id made up for every delta, name repeated", one(at(0, "r1", "a", `{"p":`), at(0, "r2", "a", `1`), at(0, "r3", "a", `}`)), []string{`r1 a {"p":1}`}},
		{"sent again whole", one(at(0, "x", "a", `{"p":`), at(0, "", "", `1}`), at(0, "x", "a", `{"p":1}`)), []string{`x a {"p":1}`}},
		{"an empty delta with the name at the end", one(at(0, "", "a", `{"p":1}`), at(0, "", "a", "")), []string{`made_0 a {"p":1}`}},
		{"index from 1", one(at(1, "x", "a", `{"p":1}`), at(2, "y", "b", `{"p":2}`)), []string{`x a {"p":1}`, `y b {"p":2}`}},
		{"name after id", one(at(0, "x", "", ""), at(0, "", "", `{"p"`), at(0, "", "a", `:1}`)), []string{`x a {"p":1}`}},
		{"ids first, names later", one(at(0, "x", "", ""), at(0, "y", "b", ""), at(0, "x", "a", `{"p":1}`), at(0, "y", "", `{"p":2}`)), []string{`y b {"p":2}`, `x a {"p":1}`}},
		{"never a name", one(at(0, "x", "", `{"p":1}`)), []string{`x  {"p":1}`}},
		{"nothing at all", one(at(0, "", "", "")), nil},
		{"cannot be told apart", one(at(0, "x", "a", ""), at(0, "y", "a", ""), at(0, "", "", `{"p":1}`), at(0, "", "", `{"p":2}`)), []string{"mixed"}},
	} {
		if diff := cmp.Diff(tt.want, collect(tt.events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCallsStartEarly: arguments that say something are passed on when they arrive, so that a call
// can start while the answer still streams.
func TestCallsStartEarly(t *testing.T) {
	var calls Calls
	got := gather(calls.Add(at(0, "x", "a", `{"p":1}`), nil))
	if want := []string{`x a {"p":1}`}; !slices.Equal(got, want) {
		t.Errorf("after the first delta %q, want %q", got, want)
	}
}

// TestCallsKeepFields: fields that this library does not know follow their call, and go back to
// their owner only.
func TestCallsKeepFields(t *testing.T) {
	calls := Calls{Owner: "server"}
	d := at(0, "x", "a", `{"p":1}`)
	d.Fields = Unknown([]byte(`{"index":0,"id":"x","z":{"b":2,"a":"<&>"},"none":null,"extra":[1]}`), "index", "id")
	chunks := calls.Flush(calls.Add(d, calls.Add(d, nil)))
	var parts []agent.Part
	for _, c := range chunks {
		if o, ok := c.(agent.Opaque); ok {
			parts = append(parts, o)
		}
	}
	if len(parts) != 1 {
		t.Fatalf("%d parts, want one: %v", len(parts), parts)
	}
	got := string(Members([]byte("{"), FieldsOf(parts, "server", "x"), '}'))
	if want := `{"extra":[1],"z":{"b":2,"a":"<&>"}}`; got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
	for _, who := range [][2]string{{"other", "x"}, {"server", "y"}, {"serve", "x"}} {
		if f := FieldsOf(parts, who[0], who[1]); f != nil {
			t.Errorf("%s has fields for call %s: %v", who[0], who[1], f)
		}
	}
}

// FuzzCalls: whatever the deltas are, calls are numbered from 0 and have different ids, arguments
// belong to a call that was announced, and every byte of arguments comes from one of its own
// deltas.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("0xa{}|0xb{\"p\":1}|1ya|0-\"q\""))
	f.Add([]byte("0xa|0ya|0x-{\"p\":1}|0y-{\"p\":2}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		calls := Calls{Prefix: "m", Owner: "o"}
		var chunks []agent.Chunk
		for piece := range strings.SplitSeq(string(data), "|") {
			d := CallDelta{Last: len(piece)%7 == 6, Whole: len(piece)%11 == 10}
			if len(piece) > 0 && piece[0] >= '0' && piece[0] <= '3' {
				d.Index = Int{N: int64(piece[0] - '0'), Set: true}
			}
			if len(piece) > 1 && piece[1] != '-' {
				d.ID = piece[1:2]
			}
			if len(piece) > 2 && piece[2] != '-' {
				d.Name = piece[2:3]
			}
			if len(piece) > 3 {
				d.Args = piece[3:]
			}
			if len(piece)%3 == 0 {
				calls.Next()
			}
			chunks = calls.Add(d, chunks)
		}
		chunks = calls.Flush(chunks)
		ids := map[string]bool{}
		for _, c := range chunks {
			switch c := c.(type) {
			case agent.ToolCallStart:
				if c.Index != len(ids) || c.ID == "" || ids[c.ID] {
					t.Fatalf("call %+v after %v", c, ids)
				}
				ids[c.ID] = true
			case agent.ToolCallDelta:
				if c.Index < 0 || c.Index >= len(ids) || c.Args == "" {
					t.Fatalf("arguments %+v of %d calls", c, len(ids))
				}
			}
		}
		if len(ids) != calls.Count() {
			t.Fatalf("%d calls were announced of %d", len(ids), calls.Count())
		}
	})
}

// TestLaxTypes: values of another type count as absent and are no error; text that is not JSON is.
func TestLaxTypes(t *testing.T) {
	type item struct {
		N Int    `json:"n"`
		S String `json:"s"`
	}
	type all struct {
		Item  Maybe[item] `json:"item"`
		Items List[item]  `json:"items"`
	}
	for in, want := range map[string]string{
		`{"item":{"n":12.0,"s":"a"}}`:             `{{{12 true} a} true} []`,
		`{"item":{"n":"12","s":false}}`:           `{{{12 true} } true} []`,
		`{"item":{"n":[],"s":{}}}`:                `{{{0 false} } true} []`,
		`{"item":{"n":1e300,"s":null}}`:           `{{{0 false} } true} []`,
		`{"item":[]}`:                             `{{{0 false} } false} []`,
		`{"item":null,"items":false}`:             `{{{0 false} } false} []`,
		`{"items":[null,{"n":1},3,{"n":2}]}`:      `{{{0 false} } false} [{{1 true} } {{2 true} }]`,
		`{"items":{"n":"x","s":"only one"}}`:      `{{{0 false} } false} [{{0 false} only one}]`,
		`{"item":"none","items":"none","more":1}`: `{{{0 false} } false} []`,
	} {
		var got all
		if err := json.Unmarshal([]byte(in), &got); err != nil || fmt.Sprint(got.Item, got.Items) != want {
			t.Errorf("%s: %v %v, want %s", in, fmt.Sprint(got.Item, got.Items), err, want)
		}
	}
	var got all
	if json.Unmarshal([]byte(`{"item":{"n":1`), &got) == nil {
		t.Error("text that is cut off is accepted")
	}
}
