package ranking

import (
	"path"
	"strings"

	"github.com/luthier-dev/luthier/internal/source"
)

// kin knows the best scores of files that belong together: of a directory, of a name,
// and of tests by the name of what they test.
type kin struct {
	dirs, names map[string]bestTwo
	tests       map[string]float32
}

// bestTwo are the two highest scores, so that a file can be told the best of the others.
type bestTwo struct {
	first, second float32
	at, row       int // of the first
}

func (b *bestTwo) add(score float32, at, row int) {
	if score > b.first {
		b.second = b.first
		b.first, b.at, b.row = score, at, row
	} else if score > b.second {
		b.second = score
	}
}

func (b bestTwo) without(at, row int) float32 {
	if b.at == at && b.row == row {
		return b.second
	}
	return b.first
}

// kinLeast is the share of the best score below which a file says nothing of its kin.
const kinLeast = 0.15

func kinOf(r *scored) kin {
	k := kin{dirs: map[string]bestTwo{}, names: map[string]bestTwo{}, tests: map[string]float32{}}
	for at := range r.sums {
		for row := range r.sums[at].rows {
			l := &r.sums[at].rows[row]
			score := (div(l[allWords], r.max[allWords]) + div(l[bestChunk], r.max[bestChunk])) / 2
			if score < kinLeast {
				continue
			}
			f := &r.segs[at].Info[r.sums[at].files[row]]
			if f.Class.Has(source.Test) {
				if name := tested(f.Path); name != "" {
					k.tests[name] = max(k.tests[name], score)
				}
				continue
			}
			add(k.dirs, path.Dir(f.Path), score, at, row)
			add(k.names, stemOf(f.Path), score, at, row)
		}
	}
	return k
}

func add(m map[string]bestTwo, key string, score float32, at, row int) {
	b := m[key]
	b.add(score, at, row)
	m[key] = b
}

// of tells the best scores of a file's kin.
func (k *kin) of(name string, at, row int) (dir, test, twin float32) {
	stem := stemOf(name)
	return k.dirs[path.Dir(name)].without(at, row), k.tests[bare(stem)], k.names[stem].without(at, row)
}

// tested is the name of what a test is of: "parser" for test_parser.py,
// parser.spec.ts, ParserTest.java and parser_test.go.
func tested(name string) string {
	s := stemOf(name)
	for _, affix := range [...]string{"tests", "test", "specs", "spec"} {
		for _, sep := range [...]string{"_", "-", ".", ""} {
			if t := strings.TrimSuffix(s, sep+affix); t != s && t != "" {
				return bare(t)
			}
			if t := strings.TrimPrefix(s, affix+sep); sep != "" && t != s && t != "" {
				return bare(t)
			}
		}
	}
	return bare(s)
}

// bare leaves out what a name is joined by.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, s)
}
