package main

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/tier"
)

func tiny(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	c := synth.Tiny("qwen3moe")
	c.Context = 1 << 14
	if err := synth.Create(path, c); err != nil {
		t.Fatal(err)
	}
	return path
}

func plainOptions() options {
	return options{generate: 16, reps: 1, kv: gguf.TypeF16, kvName: "f16", seqs: 3, turns: 3, lines: []int{20}, edits: []int{10}, depths: []int{0, 40},
		prompt: 32, seed: 1, plain: 16 << 20, accept: 0.8, now: time.Now}
}

// TestScript checks that a scripted text is generated unchanged whatever is drafted, and that wrong
// drafts are computed instead of being refused without cost.
func TestScript(t *testing.T) {
	m, err := open(tiny(t), 1, plainOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	rng := rand.New(rand.NewPCG(1, 1))
	prompt, text := m.random(30, rng), m.random(60, rng)
	for _, c := range []struct {
		right    float64
		min, max int
	}{{0, 0, 0}, {1, 40, 60}, {0.5, 5, 40}} {
		e, err := m.engine(100, scheduler.EngineConfig{Speculation: scheduler.SpecConfig{FixedDraft: 4, NoLookup: true}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGuesser(m, prompt, text, c.right, 1)
		if err != nil {
			t.Fatal(err)
		}
		s, err := say(e, scheduler.Request{Prompt: prompt, Drafters: []scheduler.Drafter{g}}, text, nil)
		e.Close()
		g.close()
		if err != nil || s.Drafted == 0 || s.Accepted < c.min || s.Accepted > c.max {
			t.Errorf("right %v: drafted %d, accepted %d, want %d–%d, error %v", c.right, s.Drafted, s.Accepted, c.min, c.max, err)
		}
	}
}

// TestTests runs every test on a small model.
func TestTests(t *testing.T) {
	tier.Normal(t)
	path := tiny(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := plainOptions()
			o.draft = path
			if err := test.run(o, path, 1); err != nil {
				if strings.Contains(err.Error(), "page cache cannot") {
					t.Skip(err)
				}
				t.Fatal(err)
			}
		})
	}
}

// TestEdited checks that about as many lines change as were requested.
func TestEdited(t *testing.T) {
	lines, err := readSource(0)
	if err != nil {
		t.Skip(err)
	}
	lines = lines[:400]
	known := map[string]bool{}
	for _, l := range lines {
		known[l] = true
	}
	fresh := 0
	for line := range strings.Lines(edited(lines, 5, rand.New(rand.NewPCG(1, 1)))) {
		if !known[line] {
			fresh++
		}
	}
	if fresh < 8 || fresh > 80 {
		t.Errorf("%d of 400 lines are new; 5 %% were to be edited", fresh)
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                    "-m is missing",
		"-m a -t x":           `-t: "x" is not a list`,
		"-m a -test speed,no": `-test "no" is not known`,
		"-m a -kv q99":        `-kv "q99"`,
		"-m a -clock sun":     `-clock is "sun"`,
	} {
		if _, _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not tell %q", args, err, want)
		}
	}
}
