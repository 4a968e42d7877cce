package repair

import (
	"cmp"
	"go/scanner"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of [Names.Near].
const (
	maxNames     = 12
	maxNameBytes = 170
)

// withPackage returns the text in which a model reads a function, with names and lines from
// elsewhere in its package.
func withPackage(text string, r Ranked) string {
	if len(r.Names) > 0 {
		text += "\nnames " + strings.Join(r.Names, " ")
	}
	if len(r.Like) > 0 {
		text += "\nlike\n" + strings.Join(r.Like, "\n")
	}
	return text
}

// Fill sets the fields Names and Like of the candidates, up to the number of candidates in a
// report.
func (n *Names) Fill(ranked []Ranked, failed []string) {
	for i := range ranked[:min(len(ranked), MaxCandidates)] {
		n.Complete(&ranked[i], failed)
	}
}

// Complete sets the fields Names and Like of a candidate from its package.
func (n *Names) Complete(r *Ranked, failed []string) {
	s := n.subject(r.Function)
	r.Names, r.Like = n.near(s, failed), n.like(s, r.Marks)
}

// A subject is a function for which names or lines are looked up.
type subject struct {
	Function
	place   int32
	has     map[string]bool // identifiers
	names   []string        // the same in order, because floating-point sums depend on the order
	kinship []float64       // of each place: its kinship with the function
}

func (n *Names) subject(f Function) subject {
	has := identifiers(f.Text)
	names := slices.Sorted(maps.Keys(has))
	return subject{f, n.place(f), has, names, n.kinship(f, names)}
}

// Near returns the names that a function may need and does not have, the likeliest first: names
// that could replace one in the function, and names that similar code uses. Names similar to those
// of the function or of failing tests rank higher.
func (n *Names) Near(f Function, failed []string) []string { return n.near(n.subject(f), failed) }

func (n *Names) near(s subject, failed []string) []string {
	scores := map[string]float64{}
	n.used(s, scores)
	n.alternatives(s, scores)
	words, tests := wordsOf(s.names), wordsOf(failed)
	for name := range scores {
		own := n.words[name]
		scores[name] *= 1 + 0.5*share(own, words) + 0.3*share(own, tests)
	}
	return firstNames(scores)
}

// place returns the index of a function among the places, or -2.
func (n *Names) place(f Function) int32 {
	base := filepath.Base(filepath.ToSlash(f.File))
	at := slices.IndexFunc(n.places, func(p place) bool { return p.file == base && p.start == f.Start })
	if at < 0 {
		return -2
	}
	return int32(at)
}

func wordsOf(names []string) map[string]bool {
	words := map[string]bool{}
	for _, name := range names {
		for _, w := range nameWords(name) {
			words[w] = true
		}
	}
	return words
}

// kinship returns the similarity of each place to a function. All weights here and below were tuned
// on the names that the repairs of broken lines in the training modules needed.
func (n *Names) kinship(f Function, names []string) []float64 {
	const ofType, inFile, near, lines = 1.5, 0.3, 0.6, 60.0
	like := make([]float64, len(n.places))
	for _, name := range names {
		if using := n.using[name]; len(using) > 1 && !predeclared(name) {
			rare := math.Log(float64(len(n.places)+1) / float64(len(using)))
			for _, at := range using {
				like[at] += rare
			}
		}
	}
	typ, base := receiver(f.Name), filepath.Base(filepath.ToSlash(f.File))
	for i := range n.places {
		p := &n.places[i]
		like[i] /= 4 + math.Sqrt(float64(p.count))
		if typ != "" && p.about == typ {
			like[i] += ofType
		}
		if p.file == base {
			like[i] += inFile + near*math.Exp(-math.Abs(float64(p.start-f.Start))/lines)
		}
	}
	return like
}

// used adds to the scores of names that places similar to a function use.
func (n *Names) used(s subject, scores map[string]float64) {
	const factor, little = 0.03, 0.2
	for i, like := range s.kinship {
		if int32(i) == s.place || like < little {
			continue
		}
		for _, name := range n.places[i].lends {
			if !s.has[name] {
				scores[name] += factor * like * like
			}
		}
	}
}

// weight returns the score of an alternative from a set of this kind.
func (k setKind) weight() float64 {
	switch k {
	case sameImport:
		return 0.75
	case sameType:
		return 0.25
	}
	return 1.5
}

// alternatives adds to the scores of names that might replace a name in the function. The
// function's own uses of an import do not count, since the broken function lacks the right use.
func (n *Names) alternatives(s subject, scores map[string]float64) {
	for _, name := range s.names {
		words := wordsOf([]string{name})
		for _, at := range n.in[name] {
			set := n.sets[at]
			own, few := slices.Index(set.names, name), 1/math.Sqrt(float64(len(set.names)))
			for i, other := range set.names {
				if !s.has[other] && (set.kind != sameImport || n.only[other] != s.place) {
					near := math.Exp(-math.Abs(float64(i-own)) / 2)
					scores[other] += set.kind.weight() * (few + near) * (1 + 3*share(n.words[other], words))
				}
			}
		}
	}
}

// firstNames returns the names with the highest scores, within the limits.
func firstNames(scores map[string]float64) []string {
	names := slices.Collect(maps.Keys(scores))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), strings.Compare(a, b))
	})
	size := 0
	for i, name := range names {
		if size += len(name) + 1; i == maxNames || size > maxNameBytes {
			return names[:i]
		}
	}
	return names
}

// identifiers returns the identifiers of a text, which may be a part of a file.
func identifiers(text string) map[string]bool {
	has := map[string]bool{}
	src := []byte(text)
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return has
		}
		if tok == token.IDENT {
			has[lit] = true
		}
	}
}
