package tokencount

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/tier"
)

// growing is a growing conversation with a made-up provider, in which the kinds of texts change.
// Each request contains all earlier ones.
type growing struct {
	rng    *rand.Rand
	prompt Prompt
	texts  []string
}

var sorts = []string{
	"The quick brown fox jumps over the lazy dog, and nobody knows why. ",
	"func (s *Server) handle(w http.ResponseWriter, r *http.Request) {\n\t\treturn\n}\n",
	"2024-05-17 13:22:01.123 [0x7ffe1234] took 1234567 ns, 99.81 %\n",
	"- die Größe wird überschätzt; 文字は多い\n",
}

func (g *growing) step() {
	text := strings.Repeat(sorts[g.rng.IntN(len(sorts))], 1+g.rng.IntN(40))
	g.texts = append(g.texts, text)
	g.prompt.Texts = g.prompt.Texts.Add(Count(text))
	g.prompt.Frames++
}

// count returns the number that the provider reports, computed from its rates, its tokens around
// each message, and its additional prompt.
func (g *growing) count(rates Tally, frame, own float64) int64 {
	sum := own + frame*float64(g.prompt.Frames)
	for i, n := range g.prompt.Texts {
		sum += rates[i] * n
	}
	return int64(sum)
}

// Evidence: compaction · Estimates are calibrated by what providers report
func TestCalibratorLearnsRates(t *testing.T) {
	g := &growing{rng: rand.New(rand.NewPCG(1, 2))}
	c := &Calibrator{}
	rates := Tally{1.12, 1.6, 0.8, 1.05, 1.3}
	worst := 0.0
	for i := range 60 {
		g.step()
		want := g.count(rates, 7, 350)
		if i >= 10 {
			worst = max(worst, math.Abs(c.Tokens(g.prompt)/float64(want)-1))
		}
		c.Observe(g.prompt, want)
	}
	if worst > 0.03 {
		t.Errorf("after ten reports a prediction was off by %.1f %%, want at most 3 %%", 100*worst)
	}
	before := c.Tokens(g.prompt)
	c.Observe(g.prompt, 0)  // no usage
	c.Observe(g.prompt, 17) // a provider that reports only uncached tokens
	c.Observe(Prompt{}, 5000)
	if got := c.Tokens(g.prompt); math.Abs(got/before-1) > 0.01 {
		t.Errorf("broken reports moved the prediction from %.0f to %.0f", before, got)
	}
}

func TestCalibratorFollowsAnotherModel(t *testing.T) {
	g := &growing{rng: rand.New(rand.NewPCG(3, 4))}
	c := &Calibrator{}
	for range 20 {
		g.step()
		c.Observe(g.prompt, g.count(Tally{1, 1, 1, 1, 1}, 4, 0))
	}
	for range 12 {
		g.step()
		c.Observe(g.prompt, g.count(Tally{1.5, 1.5, 1.5, 1.5, 1.5}, 4, 0))
	}
	g.step()
	if want := float64(g.count(Tally{1.5, 1.5, 1.5, 1.5, 1.5}, 4, 0)); math.Abs(c.Tokens(g.prompt)/want-1) > 0.05 {
		t.Errorf("after the model changed %.0f tokens are predicted, want about %.0f", c.Tokens(g.prompt), want)
	}
}

func TestCalibratorIsNeverNonsense(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := &Calibrator{}
	for range 20_000 {
		p := Prompt{Frames: rng.IntN(2000)}
		for i := range p.Texts {
			p.Texts[i] = rng.ExpFloat64() * math.Pow(10, rng.Float64()*6)
		}
		c.Observe(p, int64(rng.ExpFloat64()*math.Pow(10, rng.Float64()*7))-1)
		rates, frame := c.Rates()
		if n := c.Tokens(p); math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || math.IsNaN(frame) || frame < 0 {
			t.Fatalf("Tokens = %v, frame = %v", n, frame)
		}
		for _, r := range rates {
			if math.IsNaN(r) || math.IsInf(r, 0) || r < leastRate {
				t.Fatalf("rates are %v", rates)
			}
		}
	}
}

func TestCalibratorConcurrent(t *testing.T) {
	c := &Calibrator{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			g := &growing{rng: rand.New(rand.NewPCG(uint64(i), 1))}
			for range 50 {
				g.step()
				c.Observe(g.prompt, g.count(Tally{1, 1, 1, 1, 1}, 4, 0))
				c.Tokens(g.prompt)
				c.Rates()
				c.Seen()
			}
		})
	}
	wg.Wait()
}

// TestCalibratorOnVocabularies measures the prediction error over a conversation of source files,
// with the counts of real vocabularies as reports, and compares it with bytes/4 and with the
// estimate alone.
//
// Evidence: compaction · Estimates are calibrated by what providers report
func TestCalibratorOnVocabularies(t *testing.T) {
	tier.Normal(t)
	vocabs := devdata.Glob(t, "moe-dev/vocab/*.gguf")
	files := mixedFiles(t)
	for _, name := range vocabs {
		tok := vocabulary(t, name)
		if tok == nil {
			continue
		}
		c := &Calibrator{}
		var p Prompt
		bytes, tokens := 0, int64(0)
		var quarter, plain, learned float64
		n := 0
		for i, text := range files {
			p.Texts = p.Texts.Add(Count(text))
			p.Frames++
			bytes += len(text)
			tokens += int64(len(tok.Encode(text, false))) + 5
			if i >= 5 {
				n++
				quarter += math.Abs(float64(bytes)/4/float64(tokens) - 1)
				plain += math.Abs(p.Texts.Sum()/float64(tokens) - 1)
				learned += math.Abs(c.Tokens(p)/float64(tokens) - 1)
			}
			c.Observe(p, tokens)
		}
		k := 100 / float64(n)
		t.Logf("%-40s bytes/4 off by %5.1f %%, estimate %5.1f %%, calibrated %4.1f %%", filepath.Base(name), quarter*k, plain*k, learned*k)
		if learned*k > 3 {
			t.Errorf("%s: calibrated predictions are off by %.1f %%, want at most 3 %%", filepath.Base(name), learned*k)
		}
	}
}

// mixedFiles returns source files, documents and logs of this project, in mixed order.
func mixedFiles(t *testing.T) []string {
	var out []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../agent/*.go", "../../tools/coding/*.go", "../../tools/coding/prompts/*.md", "../../internal/engine/tensor/*.s", "../../go.sum", "../shelleffects/testdata/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if data, err := os.ReadFile(name); err == nil {
				out = append(out, string(data[:min(len(data), 6000)]))
			}
		}
	}
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(len(out), 60)]
}

func vocabulary(t *testing.T, name string) *tokenizer.Tokenizer {
	f, err := gguf.Open(name)
	if err != nil {
		t.Logf("%s: %v", name, err)
		return nil
	}
	defer f.Close()
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Logf("%s: %v", name, err)
		return nil
	}
	return tok
}

func BenchmarkObserve(b *testing.B) {
	b.ReportAllocs()
	c := &Calibrator{}
	p := Prompt{Texts: Tally{1000, 100, 200, 300, 10}, Frames: 50}
	for b.Loop() {
		c.Observe(p, 1700)
	}
}

func ExampleCalibrator() {
	c := &Calibrator{}
	text := strings.Repeat("The provider counts this text otherwise. ", 100)
	p := Prompt{Texts: Count(text), Frames: 1}
	for range 5 {
		c.Observe(p, 1000)
	}
	fmt.Printf("%.0f hundred\n", c.Tokens(p)/100)
	// Output: 10 hundred
}
