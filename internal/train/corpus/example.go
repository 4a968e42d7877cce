package corpus

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/repair"
	"github.com/luthier-dev/luthier/internal/train/mutate"
)

// A subject is a function that examples are made of.
type subject struct {
	fn       repair.Function
	lines    []string // of fn
	mutants  func() []mutate.Mutant
	regions  *region
	pkg      string
	siblings []repair.Function // others of its file
}

// A sample is one example as text.
type sample struct {
	prompt  string
	answers []string // each but the first behind a turn that says that the edit before was made
	shown   string   // the function in the prompt, "" for none
	hidden  []int    // lines of it that are not to be learnt by heart: the broken ones
}

// What the answers of examples are about, as shares of all. The rest has one to three broken lines.
const (
	shareStates = 0.05 // run the tests, choose a function by the report alone, end
	shareClean  = 0.12 // the function read is right: read the one at fault
	shareReport = 0.40 // of the broken ones: with a report and marks
	shareMany   = 0.35 // of the broken ones: two or three lines
	longestEdit = 200  // bytes of a line
)

// sample draws an example; ok is false where the function gives none. With single every example is one broken line.
func (s *subject) sample(rng *rand.Rand, single bool) (sample, bool) {
	x := rng.Float64()
	switch {
	case single:
		return s.broken(rng, 1)
	case x < shareStates:
		return s.state(rng), true
	case x < shareStates+shareClean && len(s.siblings) > 0:
		return s.clean(rng), true
	case rng.Float64() < shareMany:
		return s.broken(rng, 2+rng.IntN(2))
	}
	return s.broken(rng, 1)
}

// broken breaks up to n lines and asks for them one after the other, in any order: which of several is mended first must not
// depend on where they stand.
func (s *subject) broken(rng *rand.Rand, n int) (sample, bool) {
	slips := s.slips(rng, n)
	if len(slips) == 0 {
		return sample{}, false
	}
	broken := slices.Clone(s.lines)
	var out sample
	for _, m := range slips {
		broken[m.Line-1] = m.Text
		out.hidden = append(out.hidden, m.Line)
		out.answers = append(out.answers, repair.AnswerEdit(m.Line, strings.TrimSpace(s.lines[m.Line-1])))
	}
	fn := s.fn
	fn.Text = strings.Join(broken, "\n")
	var state repair.State
	if rng.Float64() < shareReport {
		number, names := s.candidates(rng)
		state.Report, state.Function = s.told(rng, number, names, fn, out.hidden)
	} else {
		state.Function = repair.Read(1, fn, nil)
	}
	out.shown, out.prompt = state.Function, state.Prompt()
	return out, true
}

// slips picks up to n mutants on different lines.
func (s *subject) slips(rng *rand.Rand, n int) []mutate.Mutant {
	var out []mutate.Mutant
	for _, m := range mutate.Pick(rng, s.mutants(), 3*n) {
		right := strings.TrimSpace(s.lines[m.Line-1])
		sameLine := slices.ContainsFunc(out, func(o mutate.Mutant) bool { return o.Line == m.Line })
		if sameLine || right == "" || len(right) > longestEdit || len(m.Text) > longestEdit || strings.TrimSpace(m.Text) == right {
			continue
		}
		if out = append(out, m); len(out) == n {
			break
		}
	}
	return out
}

// candidates draws the names that a report lists and the subject's number among them, mostly the first.
func (s *subject) candidates(rng *rand.Rand) (number int, names []string) {
	others := s.others(rng, 0)
	if rng.Float64() < 0.35 {
		others = nil
	}
	number = min(rank(rng), len(others)+1)
	return number, slices.Insert(others, number-1, s.fn.Name)
}

// rank draws a number from 1 to 12 as rankings by coverage place the function at fault.
func rank(rng *rand.Rand) int {
	n := 1
	for n < repair.MaxCandidates && rng.Float64() < 0.45 {
		n++
	}
	return n
}

// others draws the names of some of the functions beside the subject, at least so many.
func (s *subject) others(rng *rand.Rand, least int) []string {
	most := min(len(s.siblings), repair.MaxCandidates-1)
	n := min(least+rng.IntN(most+1), most)
	var names []string
	for _, i := range rng.Perm(len(s.siblings))[:n] {
		if name := s.siblings[i].Name; name != s.fn.Name && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// told makes up the report of a failing test of the subject and shows fn as it stands, the subject's text broken or not.
func (s *subject) told(rng *rand.Rand, number int, names []string, fn repair.Function, must []int) (report, shown string) {
	marks := s.regions.marks(rng, len(s.lines), must)
	st := s.story(rng, fn)
	switch x := rng.Float64(); {
	case x < 0.08: // coverage is unknown
		clear(marks)
	case x < 0.36 && len(must) > 0: // a panic, or a test that never ends; mostly it takes the coverage with it
		if rng.Float64() < 0.6 {
			clear(marks)
		}
		if st.panicked = must[0]; rng.Float64() < 0.7 { // else it is in what the function calls
			marks[st.panicked-1] = repair.Suspect
		}
	}
	return st.report(names).String(), repair.Read(number, fn, marks)
}

func (s *subject) story(rng *rand.Rand, atFault repair.Function) *story {
	return &story{rng: rng, file: s.fn.File, pkg: s.pkg, fn: atFault, literals: literal.FindAllString(s.fn.Text, 12)}
}

// clean shows the subject as it is, with a report that tells of another function.
func (s *subject) clean(rng *rand.Rand) sample {
	fault := pick(rng, s.siblings...)
	names := slices.DeleteFunc(s.others(rng, 0), func(n string) bool { return n == fault.Name })
	names = names[:min(len(names), repair.MaxCandidates-2)]
	names = slices.Insert(names, min(rank(rng)-1, len(names)), fault.Name)
	names = slices.Insert(names, min(rank(rng)-1, len(names)), s.fn.Name)
	report := s.story(rng, fault).report(names).String()
	marks := s.regions.marks(rng, len(s.lines), nil)
	if rng.Float64() < 0.3 {
		clear(marks)
	}
	shown := repair.Read(slices.Index(names, s.fn.Name)+1, s.fn, marks)
	return sample{
		prompt:  repair.State{Report: report, Function: shown}.Prompt(),
		answers: []string{repair.AnswerRead(slices.Index(names, fault.Name) + 1)},
		shown:   shown,
	}
}

// state makes an example of a state that is not about mending a line.
func (s *subject) state(rng *rand.Rand) sample {
	x := rng.Float64()
	if x < 0.1 {
		return sample{prompt: repair.State{}.Prompt(), answers: []string{repair.AnswerRun()}}
	}
	if x < 0.15 {
		return sample{prompt: repair.State{OK: true}.Prompt(), answers: []string{repair.AnswerDone()}}
	}
	number, names := s.candidates(rng)
	var state repair.State
	state.Report, state.Function = s.told(rng, number, names, s.fn, nil)
	switch {
	case x < 0.5:
		state.Function = ""
		return sample{prompt: state.Prompt(), answers: []string{repair.AnswerRead(number)}}
	case x < 0.8:
		state.Edited = true
		return sample{prompt: state.Prompt(), answers: []string{repair.AnswerRun()}, shown: state.Function}
	}
	state.OK = true
	return sample{prompt: state.Prompt(), answers: []string{repair.AnswerDone()}, shown: state.Function}
}
