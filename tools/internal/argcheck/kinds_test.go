package argcheck

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// variants is the number of cases of a kind in each half.
const variants = 40

// malformed is one case: a text and the value that a reader sees in it.
type malformed struct {
	tool, text, want string
}

// cases makes the cases of a kind. Half 0 is for development, half 1 is held out.
func (d damage) cases(half uint64) []malformed {
	var out []malformed
	for seed := uint64(0); len(out) < variants && seed < 40*variants; seed++ {
		m := maker{rand.New(rand.NewPCG(seed*2+half, 32))}
		tool, args := m.doc()
		if d.name == "number keys" {
			tool, args = "shell", docObject{{"command", "ls"}, {"env", docObject{{"7", "x"}, {"8", pick(m, words)}}}}
		}
		if d.name == "raw control characters" {
			tool, args = "edit", docObject{{"path", "a"}, {"old", pick(m, codes)}, {"new", "a\x1b[1mb\x01c"}, {"count", 2}}
		}
		text, ok := d.text(m, args)
		if ok && !json.Valid([]byte(text)) || ok && strings.Contains(d.name, "text") || d.name == "key twice" || ok && strings.Contains(d.name, "in a key") {
			out = append(out, malformed{tool, text, plain(args)})
		}
	}
	return out
}

func plain(args docObject) string {
	var b strings.Builder
	for _, t := range tokens(args, nil) {
		b.WriteString(t.text)
	}
	return b.String()
}

func (d damage) text(m maker, args docObject) (string, bool) {
	ts := tokens(args, nil)
	switch d.name {
	case "number keys":
		s := m.render(ts)
		return strings.NewReplacer(`"7"`, "7", `"8"`, "8").Replace(s), true
	case "raw control characters":
		return strings.NewReplacer(`\u001b`, "\x1b", `\u0001`, "\x01").Replace(m.render(ts)), true
	}
	return d.apply(m, ts)
}

// tally counts what became of the cases of a kind.
type tally struct{ right, refused, wrong, cases int }

func (a *tally) add(b tally) {
	a.right += b.right
	a.refused += b.refused
	a.wrong += b.wrong
	a.cases += b.cases
}

func (a tally) String() string {
	return fmt.Sprintf("%d of %d repaired (%.1f %%), %d refused, %d wrong", a.right, a.cases, 100*float64(a.right)/float64(max(1, a.cases)), a.refused, a.wrong)
}

func checkers(t testing.TB) map[string]*Checker {
	t.Helper()
	out := map[string]*Checker{}
	for name, schema := range toolSchemas {
		c, err := Compile(json.RawMessage(schema), Config{MaxRisk: 3})
		if err != nil {
			t.Fatal(name, err)
		}
		out[name] = c
	}
	return out
}

// sameValue compares arguments as a tool reads them; a null member is an absent one.
func sameValue(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(withoutNull(x), withoutNull(y))
}

func withoutNull(x any) any {
	if o, ok := x.(map[string]any); ok {
		for k, v := range o {
			if v == nil {
				delete(o, k)
			} else {
				withoutNull(v)
			}
		}
	}
	return x
}

func (d damage) run(t *testing.T, tools map[string]*Checker, half uint64, verbose bool) tally {
	t.Helper()
	var n tally
	for _, x := range d.cases(half) {
		n.cases++
		out, notes, err := tools[x.tool].Repair(json.RawMessage(x.text))
		switch {
		case err != nil:
			n.refused++
			if verbose {
				t.Logf("%s: refused: %s\n  %.150v", d.name, x.text, err)
			}
		case sameValue(out, []byte(x.want)):
			n.right++
			if len(notes) == 0 && string(out) != x.text {
				t.Errorf("%s: changed without a note: %s", d.name, x.text)
			}
		default:
			n.wrong++
			t.Errorf("%s: %s\n  became %s\n  want   %s", d.name, x.text, out, x.want)
		}
	}
	if n.cases == 0 {
		t.Errorf("%s: no case", d.name)
	}
	return n
}

func runKinds(t *testing.T, kinds []damage, half uint64, verbose bool) {
	t.Helper()
	tools := checkers(t)
	var all tally
	for _, d := range kinds {
		n := d.run(t, tools, half, verbose)
		all.add(n)
		t.Logf("%-45s %v", d.name, n)
		if n.right*100 < n.cases*95 {
			t.Errorf("%s: less than 95 %% repaired: %v", d.name, n)
		}
	}
	t.Logf("%d kinds: %v", len(kinds), all)
}

// TestMalformedKinds breaks arguments of seven tools in every kind; the repair must give the value
// that was broken, or refuse.
//
// Evidence: tools · Malformed arguments are repaired
func TestMalformedKinds(t *testing.T) { runKinds(t, mendable, 0, testing.Verbose()) }

// TestMalformedKindsHeldOut runs other cases of the same kinds: a half that was held out until the
// end, and one that was not seen even then.
func TestMalformedKindsHeldOut(t *testing.T) {
	runKinds(t, mendable, 1, testing.Verbose())
	runKinds(t, mendable, 1<<20, testing.Verbose())
}

// TestMalformedKindsAside runs kinds that played no part in the first development.
func TestMalformedKindsAside(t *testing.T) { runKinds(t, aside, 1, testing.Verbose()) }

// TestUnclearKinds: text with two readings, or none, is refused.
//
// Evidence: tools · Arguments that are cut off or ambiguous are refused
func TestUnclearKinds(t *testing.T) {
	tools := checkers(t)
	for _, d := range unclear {
		for half := range uint64(2) {
			for _, x := range d.cases(half) {
				if out, _, err := tools[x.tool].Repair(json.RawMessage(x.text)); err == nil {
					t.Errorf("%s: %s\n  became %s", d.name, x.text, out)
				}
			}
		}
	}
}

// TestMalformedKindsCutOff cuts the cases of every kind at every byte before their last bracket.
func TestMalformedKindsCutOff(t *testing.T) {
	tier.Normal(t)
	tools, cuts := checkers(t), 0
	for _, d := range slices.Concat(mendable, aside, later) {
		for n, x := range d.cases(1) {
			if n == 8 {
				break
			}
			end := wholeAt(d.name, x.text)
			for i := 1; i < end; i++ {
				cuts++
				if out, _, err := tools[x.tool].Repair(json.RawMessage(x.text[:i])); err == nil {
					t.Errorf("%s: cut at %d of %d: %s\n  became %s", d.name, i, len(x.text), x.text[:i], out)
				}
			}
		}
	}
	t.Logf("%d cut-off texts", cuts)
}

// wholeAt returns the length from which on a text is whole. A wrong closer may end the text: if all
// its braces are closed, nobody can tell that more was to come.
func wholeAt(name, text string) int {
	if name != "extra closer" && name != "wrong closer" {
		return strings.LastIndexByte(text, '}') + 1
	}
	depth, inString := 0, false
	for i := 0; ; i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// TestMalformedKindsLater runs the kinds that were added last.
func TestMalformedKindsLater(t *testing.T) { runKinds(t, later, 1, testing.Verbose()) }
