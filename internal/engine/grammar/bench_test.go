package grammar

import (
	"testing"
)

// BenchmarkMask computes masks of a real vocabulary along real instances, each mask for the first
// time.
func BenchmarkMask(b *testing.B) {
	v, tok := needVocab(b)
	cases := schemaCases(b)
	type step struct {
		g *Grammar
		s int32
	}
	var steps []step
	collect := func() {
		steps = steps[:0]
		for _, c := range cases {
			g, err := CompileSchema(c.Schema, v)
			if err != nil {
				continue
			}
			for _, x := range c.Tests {
				f := g.Fork()
				s := f.Start()
				for _, id := range tok.Encode(string(x.Data), false) {
					steps = append(steps, step{f, s})
					var ok bool
					if s, ok = f.Next(s, id); !ok {
						break
					}
				}
			}
		}
	}
	mask := make([]uint64, v.words)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i%max(len(steps), 1) == 0 {
			b.StopTimer()
			collect()
			b.StartTimer()
			i = 0
		}
		steps[i].g.Mask(steps[i].s, mask)
		i++
	}
}

// BenchmarkNext advances over the tokens of real instances.
func BenchmarkNext(b *testing.B) {
	v, tok := needVocab(b)
	g, err := CompileSchema([]byte(trickySchemas[0]), v)
	if err != nil {
		b.Fatal(err)
	}
	ids := tok.Encode(`{"name": "read_file", "arguments": {"path": "internal/engine/grammar/doc.go", "lines": [1, 20]}}`, false)
	b.ReportAllocs()
	for b.Loop() {
		s := g.Start()
		for _, id := range ids {
			s, _ = g.Next(s, id)
		}
	}
}

// BenchmarkCompile compiles real schemas in turn.
func BenchmarkCompile(b *testing.B) {
	v, _ := needVocab(b)
	cases := schemaCases(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		CompileSchema(cases[i%len(cases)].Schema, v)
		i++
	}
}

// BenchmarkVocab builds the tables of a real vocabulary.
func BenchmarkVocab(b *testing.B) {
	v, _ := needVocab(b)
	b.ReportAllocs()
	for b.Loop() {
		NewVocab(v.size, func(id int32) []byte { return v.pieces[id] }, v.end)
	}
}
