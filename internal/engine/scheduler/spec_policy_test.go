package scheduler

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// speed generates with a virtual clock on which passes take the time given by the cost curve, and
// returns the tokens per second.
func speed(t *testing.T, y *toy, real *CostCurve, r Request, cfg EngineConfig) (float64, Stats) {
	t.Helper()
	y.clock, y.cost = newFakeClock(), curveCost(real)
	cfg.Now = y.clock.Now
	e := toyEngine(t, y, cfg)
	defer e.Close()
	_, stats := run(t, e, r)
	return float64(stats.Generated) / stats.Decode.Seconds(), stats
}

// wrongModel drafts at a cost, and is always wrong.
type wrongModel struct {
	c    *fakeClock
	each time.Duration
}

func (w *wrongModel) Draft(tokens []int32, max int, dst []int32) []int32 {
	for range max {
		dst = append(dst, 0) // a token that never occurs in the script
	}
	w.c.advance(time.Duration(max) * w.each)
	return dst
}

// TestNothingAccepted checks that if no draft is accepted, speculation costs no more than 3 %,
// however confident the drafters are and whatever the cost curve is.
//
// Evidence: engine · Speculation that is never accepted costs little
func TestNothingAccepted(t *testing.T) {
	dense := &CostCurve{Points: []CostPoint{{1, 0.01}, {8, 0.011}, {64, 0.02}}}
	for name, curve := range map[string]*CostCurve{"moe": moeCurve(), "dense": dense} {
		for _, n := range []int{120, 1000} {
			for _, each := range []time.Duration{0, 10 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
				t.Run(fmt.Sprint(name, " ", n, " tokens, drafts of ", each), func(t *testing.T) {
					script := prompt(n, 200, 5)
					for i := range script { // no two tokens occur in succession twice, and 0 never occurs
						script[i] = 1 + int32(i%997)
					}
					r := Request{Prompt: prompt(20, 1000, 1), MaxTokens: n}
					y := newToy(t, 1000, 64, scriptLM(20, script))
					off, _ := speed(t, y, curve, r, EngineConfig{Cost: curve, Speculation: SpecConfig{Off: true}})
					y = newToy(t, 1000, 64, scriptLM(20, script))
					w := &wrongModel{each: each}
					y.clock = newFakeClock()
					w.c = y.clock
					r.Drafters = []Drafter{w}
					y.cost = curveCost(curve)
					e := toyEngine(t, y, EngineConfig{Cost: curve, Now: y.clock.Now})
					_, stats := run(t, e, r)
					on := float64(stats.Generated) / stats.Decode.Seconds()
					if stats.Accepted > 0 {
						t.Fatalf("%+v", stats)
					}
					t.Logf("%.4f× with %d drafted", on/off, stats.Drafted)
					if on/off < 0.97 {
						t.Errorf("%.3f× of the speed without speculation", on/off)
					}
				})
			}
		}
	}
}

// TestLuckRunsOut checks that after texts that were predicted well, a text that cannot be predicted
// takes only little longer.
func TestLuckRunsOut(t *testing.T) {
	old := file(100, 3)
	good := edit(old, 2, 8)
	bad := prompt(300, 900, 4)
	ask := prompt(30, 900, 4)
	n := len(old) + len(ask)
	first := Request{Prompt: append(old[:len(old):len(old)], ask...), MaxTokens: len(good), References: [][]int32{old}, Key: "k"}
	second := first
	second.Prompt, second.MaxTokens = append(old[:len(old):len(old)], prompt(30, 900, 5)...), len(bad)
	times := map[bool]time.Duration{}
	for _, off := range []bool{true, false} {
		y := newToy(t, 1000, 400, func(prefix []int32, l []float32) {
			if prefix[n-1] == ask[len(ask)-1] {
				scriptLM(n, good)(prefix, l)
			} else {
				scriptLM(n, bad)(prefix, l)
			}
		})
		y.clock, y.cost = newFakeClock(), curveCost(moeCurve())
		e := toyEngine(t, y, EngineConfig{Now: y.clock.Now, Speculation: SpecConfig{Off: off}})
		for range 3 {
			run(t, e, first)
		}
		_, stats := run(t, e, second)
		times[off] = stats.Decode
	}
	ratio := float64(times[true]) / float64(times[false])
	t.Logf("%.3f×", ratio)
	if ratio < 0.97 {
		t.Errorf("%.3f× of the speed without speculation", ratio)
	}
}

// file returns a text of lines of tokens, some of them alike, as in code.
func file(lines int, seed uint64) []int32 {
	var f []int32
	for l := range lines {
		kind := uint64(l)
		if l%4 == 0 {
			kind = uint64(l%3) * 1e6 // such as "}" and blank lines
		}
		n := 4 + int(mix64(kind+seed)%12)
		for i := range n {
			f = append(f, 10+int32(mix64(seed+kind*64+uint64(i))%900))
		}
		f = append(f, 1) // newline
	}
	return f
}

// edit changes a text in n places: it replaces, inserts and deletes tokens and whole lines.
func edit(f []int32, n int, seed uint64) []int32 {
	out := append([]int32(nil), f...)
	for i := range n {
		at := int(uniform(seed, i, 1) * float64(len(out)-40))
		var with []int32
		del := 0
		switch i % 4 {
		case 0:
			with, del = prompt(2, 900, uint64(i)), 3
		case 1:
			with = prompt(25, 900, uint64(i))
		case 2:
			del = 20
		case 3:
			with, del = prompt(1, 900, uint64(i)), 1
		}
		out = append(out[:at:at], append(with, out[at+del:]...)...)
	}
	return out
}

// TestRewriting checks that a model that rewrites a file from its prompt, with some edits,
// generates at least 2.5 times as many tokens per second.
//
// Evidence: engine · Speculation speeds up the rewriting of a file
func TestRewriting(t *testing.T) {
	for _, lines := range []int{200, 800} {
		for _, edits := range []int{3, 12} {
			t.Run(fmt.Sprint(lines, " lines ", edits, " edits"), func(t *testing.T) {
				if lines > 200 && testing.Short() {
					t.Skip("long")
				}
				old := file(lines, 3)
				script := edit(old, edits, 8)
				r := Request{Prompt: append(old[:len(old):len(old)], prompt(30, 900, 4)...), MaxTokens: len(script)}
				pages := transformer.PagesFor(len(r.Prompt)+len(script)) + 8
				lm := scriptLM(len(r.Prompt), script)
				off, stats := speed(t, newToy(t, 1000, pages, lm), moeCurve(), r, EngineConfig{Speculation: SpecConfig{Off: true}})
				if stats.Passes != len(script) {
					t.Fatalf("%+v", stats)
				}
				r.References = [][]int32{file(50, 99), old}
				on, stats := speed(t, newToy(t, 1000, pages, lm), moeCurve(), r, EngineConfig{})
				t.Logf("%.2f× the speed, %.1f tokens a pass, %d of %d accepted, %d tokens", on/off, float64(stats.Generated)/float64(stats.Passes), stats.Accepted, stats.Drafted, len(script))
				if on < 2.5*off {
					t.Errorf("%.2f× the speed without speculation", on/off)
				}
			})
		}
	}
}

// TestLengthAdapts checks that the length of drafts adapts to the acceptance: for an oracle that is
// right with probability p, it is near the best length.
func TestLengthAdapts(t *testing.T) {
	script := prompt(1500, 900, 5)
	for _, p := range []float64{0.3, 0.6, 0.8, 0.9, 0.98} {
		if testing.Short() && p != 0.8 {
			continue
		}
		r := Request{Prompt: prompt(20, 1000, 1), MaxTokens: len(script)}
		pages := transformer.PagesFor(20+len(script)) + 4
		dense := &CostCurve{Points: []CostPoint{{1, 0.01}, {8, 0.0115}, {64, 0.024}}}
		best, bestN := 0.0, 0
		for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
			r.Drafters = []Drafter{&oracle{script: script, start: 20, right: p}}
			v, _ := speed(t, newToy(t, 1000, pages, scriptLM(20, script)), dense, r, EngineConfig{Cost: dense, Speculation: SpecConfig{FixedDraft: n, NoLookup: true}})
			if v > best {
				best, bestN = v, n
			}
		}
		r.Drafters = []Drafter{&oracle{script: script, start: 20, right: p}}
		v, stats := speed(t, newToy(t, 1000, pages, scriptLM(20, script)), dense, r, EngineConfig{Cost: dense, Speculation: SpecConfig{NoLookup: true}})
		t.Logf("right with %.2f: %.0f tokens/s, %.0f with the best fixed length %d, 100 without; %.2f tokens a pass", p, v, best, bestN, float64(stats.Generated)/float64(stats.Passes))
		if v < 0.88*best {
			t.Errorf("right with %.2f: %.0f tokens/s, but %.0f with drafts of %d", p, v, best, bestN)
		}
	}
}

// oracle proposes the actual next tokens, each with some probability.
type oracle struct {
	script []int32
	start  int
	right  float64
}

func (o *oracle) Draft(tokens []int32, max int, dst []int32) []int32 {
	at := len(tokens) - o.start
	for i := at; i < min(at+max, len(o.script)); i++ {
		t := o.script[i]
		if uniform(77, i, 3) > o.right {
			t = (t + 1) % 50
		}
		dst = append(dst, t)
	}
	return dst
}

// TestDraftModelPays generates an ordinary text with a draft model that is right four times out of
// five and takes a tenth of the target's time per token.
func TestDraftModelPays(t *testing.T) {
	text := prompt(1500, 900, 5)
	dense := &CostCurve{Points: []CostPoint{{1, 0.01}, {8, 0.0115}, {64, 0.024}}}
	r := Request{Prompt: prompt(20, 1000, 1), MaxTokens: len(text)}
	off, _ := speed(t, newToy(t, 1000, 200, scriptLM(20, text)), dense, r, EngineConfig{Cost: dense, Speculation: SpecConfig{Off: true}})
	y := newToy(t, 1000, 200, scriptLM(20, text))
	y.clock = newFakeClock()
	o := &oracle{script: text, start: 20, right: 0.8}
	r.Drafters = []Drafter{timedDrafter{o, y.clock, time.Millisecond}}
	y.cost = curveCost(dense)
	e := toyEngine(t, y, EngineConfig{Cost: dense, Now: y.clock.Now})
	_, stats := run(t, e, r)
	on := float64(stats.Generated) / stats.Decode.Seconds()
	t.Logf("%.2f× with %d of %d accepted", on/off, stats.Accepted, stats.Drafted)
	if on < 1.3*off {
		t.Errorf("%.2f× of the speed without speculation", on/off)
	}
}

// timedDrafter takes some time for each token.
type timedDrafter struct {
	Drafter
	c    *fakeClock
	each time.Duration
}

func (d timedDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	n := len(dst)
	dst = d.Drafter.Draft(tokens, max, dst)
	d.c.advance(time.Duration(len(dst)-n) * d.each)
	return dst
}

func TestCostModel(t *testing.T) {
	m := newCostModel(moeCurve(), true)
	if got := m.seconds(1); math.Abs(got-0.001) > 1e-9 {
		t.Errorf("one token: %v", got)
	}
	for n := 1; n < 300; n++ {
		if m.seconds(n+1) < m.seconds(n) {
			t.Fatalf("%d tokens cost %v, %d %v", n, m.seconds(n), n+1, m.seconds(n+1))
		}
	}
	// The machine turns out to be three times slower, and drafts cost more than measured.
	for i := range 300 {
		m.observe(1, 0.003, false)
		if i%2 == 0 {
			m.observe(2, 0.0059, true)
		}
	}
	if a, b := m.seconds(1), m.seconds(2); math.Abs(a-0.003) > 0.0001 || math.Abs(b-0.0059) > 0.0003 || m.seconds(64) < b {
		t.Errorf("learnt %v and %v", a, b)
	}
	// Or drafts cost less.
	for range 100 {
		m.observe(32, 0.0033, true)
	}
	if got := m.seconds(32); math.Abs(got-0.0033) > 0.0003 || m.seconds(8) > got {
		t.Errorf("learnt %v for 32 and %v for 8", got, m.seconds(8))
	}
	// A pass that was delayed changes little.
	before := m.seconds(1)
	m.observe(1, 5, false)
	if got := m.seconds(1); got > 1.3*before {
		t.Errorf("one slow pass makes %v of %v", got, before)
	}
}

// TestWrongCostCurve checks that the loss stays small even if the measured curve is far too low.
func TestWrongCostCurve(t *testing.T) {
	low := &CostCurve{Points: []CostPoint{{1, 0.001}, {8, 0.00105}, {64, 0.0012}}}
	text := prompt(2000, 900, 5)
	r := Request{Prompt: prompt(20, 1000, 1), MaxTokens: len(text), Drafters: []Drafter{&oracle{script: text, start: 20, right: 0.3}}}
	off, _ := speed(t, newToy(t, 1000, 200, scriptLM(20, text)), moeCurve(), r, EngineConfig{Cost: low, Speculation: SpecConfig{Off: true}})
	on, stats := speed(t, newToy(t, 1000, 200, scriptLM(20, text)), moeCurve(), r, EngineConfig{Cost: low})
	t.Logf("%.3f× with %d of %d accepted", on/off, stats.Accepted, stats.Drafted)
	if on < 0.97*off {
		t.Errorf("%.3f× of the speed without speculation", on/off)
	}
}

func TestMeasureCost(t *testing.T) {
	y := newToy(t, 50, 8, hashLM(1))
	y.clock, y.cost = newFakeClock(), curveCost(moeCurve())
	curve, err := measureCost(y, 200, y.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	want := &CostCurve{Points: moeCurve().Points[:7]}
	for i, p := range want.Points {
		if math.Abs(curve.Points[i].Seconds-p.Seconds) > 1e-8 || curve.Points[i].Tokens != p.Tokens {
			t.Errorf("%+v, want %+v", curve.Points[i], p)
		}
	}
	if y.free() != y.pages() {
		t.Error("pages are kept")
	}
}

// TestMeasuresWhenIdle checks that an idle engine measures the cost of passes, and that a request
// does not wait for that.
func TestMeasuresWhenIdle(t *testing.T) {
	y := newToy(t, 50, 40, hashLM(1))
	y.clock, y.cost = newFakeClock(), curveCost(moeCurve())
	cfg := EngineConfig{Now: y.clock.Now}
	cfg.setDefaults(40 * transformer.PageTokens)
	e, err := newEngine(y, false, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run(t, e, Request{Prompt: []int32{1}, MaxTokens: 5})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		y.mu.Lock()
		done := slices.Contains(y.sizes, maxMeasured)
		y.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not measured")
		}
	}
	e.Close() // waits for the remaining runs of the last point
	for i, p := range moeCurve().Points[:7] {
		if got := e.cost.seconds(p.Tokens); math.Abs(got-p.Seconds) > 0.1*p.Seconds {
			t.Errorf("point %d: %v, want %v", i, got, p.Seconds)
		}
	}
	if y.free()+e.tree.nodes != y.pages() {
		t.Error("pages are kept")
	}
}
