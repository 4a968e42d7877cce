package train

import "testing"

// BenchmarkStep measures one step of the shipped shape: 16,384 tokens in sequences of about 400. A
// tenth of the tokens have a weight.
func BenchmarkStep(b *testing.B) {
	b.Run("f32", func(b *testing.B) { benchmarkStep(b, Config{}) })
	b.Run("bf16", func(b *testing.B) { benchmarkStep(b, Config{BFloat16: true}) })
}

func benchmarkStep(b *testing.B, cfg Config) {
	b.Helper()
	s := Main(2048)
	m, err := New(s, 1)
	if err != nil {
		b.Fatal(err)
	}
	t, err := NewTrainer(m, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	batch := typical(s, 16384)
	tokens := 0
	if _, err := t.Step(batch, 1e-3); err != nil { // allocates the workers' memory
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		stats, err := t.Step(batch, 1e-3)
		if err != nil {
			b.Fatal(err)
		}
		tokens += stats.Tokens
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

// typical makes sequences like those of training: 200 to 600 tokens, the last tenth of which have a
// weight.
func typical(s Shape, tokens int) []Sequence {
	var out []Sequence
	for i, sum := 0, 0; sum < tokens; i++ {
		n := 200 + i*137%400
		q := texts(s, uint64(i), n)[0]
		for j := range q.Weights {
			q.Weights[j] = 0
			if j > n-n/10 {
				q.Weights[j] = 1
			}
		}
		out, sum = append(out, q), sum+n
	}
	return out
}
