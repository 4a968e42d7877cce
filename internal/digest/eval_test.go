package digest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// record is a log of the development set with its labelled facts.
type record struct {
	ID, Tool, Text string
	LabelSrc       string `json:"label_src"`
	Facts          []struct {
		Type, Value, Src string
		Match            []string
	}
}

func records(t testing.TB) (out []record) {
	t.Helper()
	f, err := os.Open(devdata.Path(t, "compaction-dev/logs/logs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var r record
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// counter returns a function that counts the tokens of a text with a real tokenizer of the
// development set. The vocabularies in the samples are too small to count like those of today's
// models, so with the samples counter returns the estimate instead.
func counter(t testing.TB, name string) func(string) int {
	t.Helper()
	path := devdata.Path(t, "moe-dev/vocab/ggml-vocab-"+name+".gguf")
	if devdata.Sampled(t, path) {
		return tokencount.Estimate
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	v, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	return v.Count
}

// share counts the facts that were kept, and all facts that should be kept.
type share struct{ kept, all int }

func (s share) String() string {
	return fmt.Sprintf("%4d of %4d  %5.1f %%", s.kept, s.all, 100*float64(s.kept)/float64(max(s.all, 1)))
}

func (s share) part() float64 { return float64(s.kept) / float64(max(s.all, 1)) }

type table map[string]share

func (t table) count(key string, kept bool) {
	s := t[key]
	s.all++
	if kept {
		s.kept++
	}
	t[key] = s
}

func (t table) log(tb testing.TB) {
	var keys []string
	for k := range t {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		tb.Logf("%-36s %v", k, t[k])
	}
}

// TestRecall digests every log of at least 40 kB to 3 % of its tokens and counts the labelled facts
// that are kept. The budget is counted with one real vocabulary, and must hold with every
// vocabulary like those of today's models.
//
// Evidence: compaction · Digests keep the facts of long logs within a budget
func TestRecall(t *testing.T) {
	tier.Normal(t)
	count := counter(t, "qwen2")
	others := map[string]func(string) int{"deepseek-llm": counter(t, "deepseek-llm"), "starcoder": counter(t, "starcoder")}
	counts, small := table{}, table{}
	lost, logs := 0, 0
	for i, r := range records(t) {
		budget := count(r.Text) * 3 / 100
		large := len(r.Text) >= 40_000
		if !large {
			budget = max(budget, 300)
		}
		d := Digest(Input{Text: r.Text, Budget: budget})
		if n := count(d.Text); n > budget && large {
			t.Errorf("%s: %d tokens of %d", r.ID, n, budget)
		}
		for name, count := range others {
			budget := count(r.Text) * 3 / 100
			if n := count(Digest(Input{Text: r.Text, Budget: budget}).Text); n > budget && large {
				t.Errorf("%s: %d tokens of %d by %s", r.ID, n, budget, name)
			}
		}
		kept, missed := 0, []string{}
		for _, f := range r.Facts {
			ok := slices.ContainsFunc(f.Match, func(m string) bool { return strings.Contains(d.Text, m) })
			if ok {
				kept++
			} else {
				missed = append(missed, f.Type+": "+f.Match[0])
			}
			c := counts
			if !large {
				c = small
			}
			c.count("all", ok)
			c.count("type "+f.Type, ok)
			c.count("tool "+r.Tool, ok)
			c.count(fmt.Sprintf("half %d", i%2), ok)
			if f.Src != "regex" && (f.Type == "failing_test" || f.Type == "error") {
				c.count("independent", ok)
			}
		}
		if large {
			logs++
			if kept == 0 {
				lost++
				t.Logf("lost all: %s", r.ID)
			}
		}
		if len(missed) > 0 {
			t.Logf("%d %s %s large=%v budget %d used %d est %d: missed %d of %d", i, r.Tool, r.ID, large, budget, count(d.Text), tokencount.Estimate(d.Text), len(missed), len(r.Facts))
			for _, m := range missed[:min(len(missed), 6)] {
				t.Logf("      %.150s", m)
			}
		}
	}
	t.Logf("logs of 40 kB and more: %d, lost all of %d", logs, lost)
	if counts["all"].part() < 0.92 || counts["independent"].part() < 0.95 || lost*100 > logs {
		t.Errorf("all facts %v, independently labelled tests and errors %v, lost everything of %d of %d logs", counts["all"], counts["independent"], lost, logs)
	}
	counts.log(t)
	t.Log("smaller logs:")
	small.log(t)
}
