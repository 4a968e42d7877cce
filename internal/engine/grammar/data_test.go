package grammar

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/tier"
)

// real holds the vocabulary of Qwen2 (151k tokens) and its tokenizer. They are read once and shared
// by all tests.
var real struct {
	once  sync.Once
	vocab *Vocab
	tok   *tokenizer.Tokenizer
	err   error
}

func readVocab(path string) (*Vocab, *tokenizer.Tokenizer, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	t, err := tokenizer.FromGGUF(f)
	if err != nil {
		return nil, nil, err
	}
	v := NewVocab(t.Size(), func(id int32) []byte {
		if k := t.Kind(id); k == tokenizer.Control || k == tokenizer.Unused || k == tokenizer.Unknown {
			return nil
		}
		return t.AppendPiece(nil, id)
	}, t.EndOfGeneration())
	v.SetTokenizer(func(text []byte) []int32 { return t.Encode(string(text), false) })
	return v, t, nil
}

func needVocab(t testing.TB) (*Vocab, *tokenizer.Tokenizer) {
	t.Helper()
	path := devdata.Path(t, "moe-dev/vocab/ggml-vocab-qwen2.gguf")
	real.once.Do(func() { real.vocab, real.tok, real.err = readVocab(path) })
	if real.err != nil {
		t.Fatal(real.err)
	}
	return real.vocab, real.tok
}

type schemaCase struct {
	name   string
	Schema json.RawMessage
	Tests  []struct {
		Valid bool
		Data  json.RawMessage
	}
}

func schemaCases(t testing.TB) []schemaCase {
	var out []schemaCase
	for _, f := range devdata.Glob(t, "schema-dev/data/*.json") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		c := schemaCase{name: strings.TrimSuffix(filepath.Base(f), ".json")}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// layouts returns JSON text in three layouts: compact, with blanks after commas and colons, and
// over several lines.
func layouts(data json.RawMessage) []string {
	var compact, pretty bytes.Buffer
	if json.Compact(&compact, data) != nil || json.Indent(&pretty, data, "", "  ") != nil {
		return nil
	}
	var spaced strings.Builder
	in, esc := false, false
	for _, b := range compact.Bytes() {
		spaced.WriteByte(b)
		switch {
		case esc:
			esc = false
		case in && b == '\\':
			esc = true
		case b == '"':
			in = !in
		case !in && (b == ',' || b == ':'):
			spaced.WriteByte(' ')
		}
	}
	return []string{compact.String(), spaced.String(), pretty.String()}
}

// walk reads text token by token as a generator would and checks each mask on the way.
func walk(t testing.TB, g *Grammar, v *Vocab, tok *tokenizer.Tokenizer, text string, each func(time.Duration)) bool {
	s := g.Start()
	mask := make([]uint64, v.words)
	for _, id := range tok.Encode(text, false) {
		start := time.Now()
		g.Mask(s, mask)
		if each != nil {
			each(time.Since(start))
		}
		next, ok := g.Next(s, id)
		if ok != (mask[id>>6]&(1<<(id&63)) != 0) {
			t.Fatalf("token %q in %q: Next says %v, Mask does not", v.pieces[id], text, ok)
		}
		if !ok {
			return false
		}
		s = next
	}
	g.Mask(s, mask)
	return g.Accepts(s) && slices.ContainsFunc(v.end, func(e int32) bool { return mask[e>>6]&(1<<(e&63)) != 0 })
}

func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(p*float64(len(d))))]
}

// TestSchemas walks the instances of real schemas. A compiled grammar must accept no invalid
// instance.
//
// Evidence: engine · A schema or grammar constrains the answer
func TestSchemas(t *testing.T) {
	tier.Normal(t)
	v, tok := needVocab(t)
	var masks, compiles []time.Duration
	right, tools, toolsRight, n := 0, 0, 0, 0
	for i, c := range schemaCases(t) {
		if testing.Short() && i%16 > 0 {
			continue
		}
		n++
		tool := strings.HasPrefix(c.name, "BFCL") || strings.HasPrefix(c.name, "Glaive") || strings.HasPrefix(c.name, "MCP") || strings.HasPrefix(c.name, "JME")
		if tool {
			tools++
		}
		start := time.Now()
		g, err := CompileSchema(c.Schema, v)
		compiles = append(compiles, time.Since(start))
		if d := time.Since(start); d > 20*time.Millisecond {
			t.Logf("%s: compiled in %v", c.name, d)
		}
		if err != nil {
			t.Logf("%s: %v", c.name, err)
			continue
		}
		fine := true
		for i, x := range c.Tests {
			for j, text := range layouts(x.Data) {
				if j > 0 && !x.Valid {
					break
				}
				var best []time.Duration
				got := false
				rounds := 1
				if j == 0 && x.Valid && !testing.Short() {
					rounds = 3 // each with cold caches; the fastest round measures the cost even on a busy machine
				}
				for range rounds {
					var times []time.Duration
					got = walk(t, g.Fork(), v, tok, text, func(d time.Duration) { times = append(times, d) })
					if best == nil {
						best = times
					}
					for i, d := range times {
						best[i] = min(best[i], d)
					}
				}
				if rounds > 1 {
					masks = append(masks, best...)
				}
				if got == x.Valid {
					continue
				}
				fine = false
				if got {
					t.Errorf("%s: accepts invalid instance %d: %s", c.name, i, clip(text))
				} else {
					t.Logf("%s: refuses valid instance %d (layout %d): %s", c.name, i, j, clip(text))
				}
			}
		}
		if fine {
			right++
			if tool {
				toolsRight++
			}
		}
	}
	t.Logf("fully right: %d of %d schemas; of tool-like ones %d of %d", right, n, toolsRight, tools)
	t.Logf("compile p50 %v p95 %v max %v", percentile(compiles, .5), percentile(compiles, .95), percentile(compiles, 1))
	t.Logf("cold masks: %d, p50 %v p95 %v p99 %v max %v", len(masks), percentile(masks, .5), percentile(masks, .95), percentile(masks, .99), percentile(masks, 1))
	if 10*right < 8*n || 100*toolsRight < 95*tools {
		t.Errorf("too few schemas are fully right")
	}
}
