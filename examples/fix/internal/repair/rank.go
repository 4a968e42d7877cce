package repair

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Evidence holds what test runs show about the location of a fault.
type Evidence struct {
	Failed  []string  // names of the failing tests
	Failing []Profile // coverage of the failing tests, separately (see [Alone]) or together
	Passing []Profile // coverage of the passing tests
	Stack   []Frame   // stack of the panic that ended a failing test, innermost first
}

// hardly is the largest share of passing profiles for which a line still counts as run by hardly
// any passing test.
const hardly = 0.05

// Marks returns the marks of a function's lines. If the coverage of several failing tests is known
// separately, a line counts as run if all of them run it. If no line of the function is run by all
// of them, a line counts as run if any of them runs it.
func Marks(f Function, e Evidence) []Mark {
	marks := make([]Mark, f.End-f.Start+1)
	fails, passes := counts(f, e.Failing), counts(f, e.Passing)
	least := 1
	if n := len(e.Failing); n > 1 && slices.Contains(fails, n) { // a single fault is in a line that all of them run
		least = n
	}
	for i := range marks {
		switch {
		case fails[i] < least:
		case float64(passes[i]) <= hardly*float64(len(e.Passing)):
			marks[i] = Suspect
		default:
			marks[i] = Run
		}
	}
	for _, fr := range e.Stack {
		if fr.in(f) {
			marks[fr.Line-f.Start] = Suspect
		}
	}
	return marks
}

// reach adds to the scores of functions that may have been called by the functions on the stack and
// may have returned: the functions that those on the stack mention, and the functions that these
// mention in turn. Functions that no passing test runs are more suspicious.
func (e Evidence) reach(ranked []Ranked) {
	const steps, most = 3, 0.08 // most is lower than the score of the hundredth frame of a stack
	named := map[string][]int{}
	var from []int
	depth := make([]int, len(ranked))
	for i, r := range ranked {
		base := r.Name[strings.LastIndexByte(r.Name, '.')+1:]
		named[base] = append(named[base], i)
		if r.Score > 0.09 {
			from = append(from, i)
			depth[i] = -1
		}
	}
	for step := 1; step <= steps; step++ {
		var next []int
		for _, i := range from {
			for name := range identifiers(ranked[i].Text) {
				for _, j := range named[name] {
					if depth[j] == 0 {
						depth[j] = step
						next = append(next, j)
					}
				}
			}
		}
		from = next
	}
	for i := range ranked {
		if r := &ranked[i]; depth[i] > 0 {
			r.Score += most / float64(depth[i]) / math.Sqrt(1+float64(ran(r.Function, e.Passing)))
		}
	}
}

// counts returns for each line of a function the number of profiles that ran it.
func counts(f Function, profiles []Profile) []int {
	n := make([]int, f.End-f.Start+1)
	for _, p := range profiles {
		for i, ran := range p.lines(f) {
			if ran {
				n[i]++
			}
		}
	}
	return n
}

// Ranked is a function that may be at fault.
type Ranked struct {
	Function
	Score float64 // higher is more suspicious; comparable only within one ranking
	Marks []Mark
	Names []string // names that it may need but does not contain; set by [Names.Fill], not by Rank
	Like  []string // lines of other functions that are similar to lines of this one, each prefixed with its function's name and a tab; also set by [Names.Fill]
}

// Rank orders functions by the likelihood that they are at fault. It leaves out functions that no
// failing test ran, since a fault that a test detects is in a function that the test ran. Functions
// on the stack of a panic come first, innermost first. The others are ordered by Ochiai's measure
// (Ochiai 1957; used to locate faults by Abreu, Zoeteweij and van Gemund, TAICPART 2007), first of
// the whole function, then of its most suspicious line, then by the share of words that they have
// in common with the tests' names. If the coverage was lost in a panic, functions mentioned by
// those on its stack come next, since they may have returned a wrong value. Without any evidence
// all functions are returned, by name.
func Rank(fns []Function, e Evidence) []Ranked {
	ranked := make([]Ranked, 0, len(fns))
	words := wordsOf(e.Failed)
	evidence := false
	for _, f := range fns {
		r := Ranked{Function: f, Score: e.suspicion(f), Marks: Marks(f, e)}
		evidence = evidence || r.Score > 0
		r.Score += 0.001 * likeness(f.Name, words)
		ranked = append(ranked, r)
	}
	if len(e.Stack) > 0 && len(e.Failing) == 0 {
		e.reach(ranked)
	}
	if evidence {
		ranked = slices.DeleteFunc(ranked, func(r Ranked) bool { return r.Score <= 0.001 })
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return ranked
}

// suspicion returns a number greater than 0.001 for a function that a failing test ran, and
// otherwise 0.
func (e Evidence) suspicion(f Function) float64 {
	score := 0.0
	for i, fr := range e.Stack {
		if fr.in(f) {
			score = 10 / float64(i+1)
			break
		}
	}
	fails, passes := counts(f, e.Failing), counts(f, e.Passing)
	best := 0.0
	for i := range fails {
		best = max(best, ochiai(fails[i], passes[i], len(e.Failing)))
	}
	return score + ochiai(ran(f, e.Failing), ran(f, e.Passing), len(e.Failing)) + 0.01*best
}

// ran counts the profiles that ran any part of a function.
func ran(f Function, profiles []Profile) int {
	n := 0
	for _, p := range profiles {
		if p.lines(f) != nil {
			n++
		}
	}
	return n
}

func ochiai(fails, passes, failing int) float64 {
	if fails == 0 {
		return 0
	}
	return float64(fails) / math.Sqrt(float64(failing)*float64(fails+passes))
}

// in reports whether a frame is inside a function.
func (fr Frame) in(f Function) bool {
	return fr.Line >= f.Start && fr.Line <= f.End && path.Base(filepath.ToSlash(fr.File)) == path.Base(filepath.ToSlash(f.File)) &&
		sameFunction(fr.Function, f.Name)
}

// sameFunction reports whether a frame's function is the named one, or a closure inside it.
func sameFunction(frame, name string) bool {
	if frame == "" {
		return true
	}
	return frame == name || strings.HasPrefix(frame, name+".")
}

// likeness returns the share, from 0 to 1, of the words of a function's name that occur in names of
// tests.
func likeness(name string, words map[string]bool) float64 {
	return share(nameWords(name), words)
}

// share returns the share of ws that is in words.
func share(ws []string, words map[string]bool) float64 {
	if len(ws) == 0 {
		return 0
	}
	n := 0
	for _, w := range ws {
		if words[w] {
			n++
		}
	}
	return float64(n) / float64(len(ws))
}

// nameWords splits a name at its capitals and punctuation: "(*Reader).ReadLine" becomes reader,
// read and line. The word test is left out.
func nameWords(name string) []string {
	var words []string
	start := -1
	runes := []rune(name)
	cut := func(i int) {
		if start >= 0 {
			if w := strings.ToLower(string(runes[start:i])); w != "test" && w != "" {
				words = append(words, w)
			}
		}
		start = -1
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
		case start >= 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
			start = i
		case start < 0:
			start = i
		}
	}
	cut(len(runes))
	return words
}
