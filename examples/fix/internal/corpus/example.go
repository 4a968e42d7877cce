package corpus

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A subject is a function from which examples are made.
type subject struct {
	fn       repair.Function
	lines    []string // of fn
	mutants  func() []mutate.Mutant
	regions  *region
	pkg      string
	siblings []repair.Function // the other functions in its file
	names    *repair.Names     // of its package
	size     func(string) int  // number of tokens in a text
}

// A sample is one example as text.
type sample struct {
	prompt  string
	answers []string // each answer except the first follows a turn that says that the previous edit was made
	shown   string   // the function in the prompt; "" if there is none
	hidden  []int    // lines of shown that must not be learned, because they are broken
}

// Shares sets the proportions of the kinds of examples. The examples that no share covers have one
// broken line.
type Shares struct {
	Code   int     // weight in the loss of a token of unbroken code in a prompt, in hundredths of an answer token's weight
	States float64 // share of all examples: run the tests, choose a function by the report alone, end
	Clean  float64 // share of all examples: the function that was read is right, so read the one at fault
	Report float64 // share of the examples with broken lines that have a report and marks
	Many   float64 // share of the examples with broken lines that have two or three of them
}

// Learning returns the shares for the main training: short prompts, many answers, and code with
// enough weight to learn the language, but too little to matter compared with the answers.
func Learning() Shares { return Shares{Code: 12, States: 0.05, Clean: 0.12, Report: 0.4, Many: 0.3} }

// Repairing returns the shares for the last part of the training, which resembles actual repairs.
func Repairing() Shares { return Shares{Code: 6, States: 0.03, Clean: 0.1, Report: 0.85, Many: 0.1} }

// Adapting returns the shares for learning a module: repairs only, and the module's code has a
// higher weight than in Repairing.
func Adapting() Shares { return Shares{Code: 12, Report: 0.85, Many: 0.1} }

// Proving returns the shares for validation: each example has one broken line.
func Proving() Shares { return Shares{Code: 12, Report: 0.4} }

const longestEdit = 200 // bytes of a line

// sample draws an example; The result ok is false if the function yields none.
func (s *subject) sample(rng *rand.Rand, of Shares) (sample, bool) {
	switch x := rng.Float64(); {
	case x < of.States:
		return s.state(rng), true
	case x < of.States+of.Clean && len(s.siblings) > 0:
		return s.clean(rng), true
	case rng.Float64() < of.Many:
		return s.broken(rng, 2+rng.IntN(2), of.Report)
	}
	return s.broken(rng, 1, of.Report)
}

// broken breaks up to n lines and makes an example that repairs them one after another, in random
// order, so that the model does not learn to repair them by position. The parameter reported is the
// probability of a report.
func (s *subject) broken(rng *rand.Rand, n int, reported float64) (sample, bool) {
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
	var shown bool
	if rng.Float64() < reported {
		number, names := s.candidates(rng)
		report, ranked := s.told(rng, names, fn, out.hidden)
		state.Report = report
		state.Function, shown = s.readLines(ranked, out.hidden, report, number)
	} else {
		state.Function, shown = s.readLines(s.ranked(fn, nil, nil), out.hidden, "", 1)
	}
	out.shown, out.prompt = state.Function, state.Prompt()
	return out, shown
}

// readLines shows a function so that at least one of lines is visible, if possible: a long function
// is shown in parts, and each line is in one of the parts.
func (s *subject) readLines(r repair.Ranked, lines []int, report string, number int) (string, bool) {
	if len(lines) == 1 {
		return r.ReadLine(lines[0], report, number, s.size)
	}
	text := r.ReadBeside(report, number, s.size)
	return text, !slices.ContainsFunc(lines, func(line int) bool { return !repair.Shows(text, line) })
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

// candidates draws the names in a report, and the subject's position among them, which is usually
// the first.
func (s *subject) candidates(rng *rand.Rand) (number int, names []string) {
	others := s.others(rng, 0)
	if rng.Float64() < 0.35 {
		others = nil
	}
	number = min(rank(rng), len(others)+1)
	return number, slices.Insert(others, number-1, s.fn.Name)
}

// rank draws a number from 1 to 12, distributed like the position of the function at fault in
// rankings by coverage.
func rank(rng *rand.Rand) int {
	n := 1
	for n < repair.MaxCandidates && rng.Float64() < 0.45 {
		n++
	}
	return n
}

// others draws the names of some functions other than the subject, at least the given number of
// them.
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

// told makes up the report of a failing test of the subject, and returns the function as the test
// would rank it. The parameter fn is the subject's text, broken or not.
func (s *subject) told(rng *rand.Rand, names []string, fn repair.Function, must []int) (report string, suggested repair.Ranked) {
	marks := s.regions.marks(rng, len(s.lines), must)
	st := s.story(rng, fn)
	switch x := rng.Float64(); {
	case x < 0.08: // coverage is unknown
		clear(marks)
	case x < 0.36 && len(must) > 0: // a panic or a test that never ends, with which the coverage is usually lost
		if rng.Float64() < 0.6 {
			clear(marks)
		}
		if s.panics(rng, st, must[0]); st.at.Name == fn.Name {
			marks[st.panicked-1] = repair.Suspect
		}
	}
	r := st.report(names)
	return r.String(), s.ranked(fn, marks, r.Failed)
}

// panics draws the place of a panic that is caused by a fault on the given line: the same line, a
// later line of the function, or another function after this one has returned. The probabilities
// are the shares in verified tasks.
func (s *subject) panics(rng *rand.Rand, st *story, fault int) {
	const there, below = 0.42, 0.28
	switch x := rng.Float64(); {
	case x < there:
		st.panicked = fault
	case x < there+below && fault+1 < len(s.lines):
		st.panicked = fault + 1 + rng.IntN(min(len(s.lines)-fault-1, 12))
	case len(s.siblings) > 0:
		st.at = pick(rng, s.siblings...)
		st.panicked = 1 + rng.IntN(1+strings.Count(st.at.Text, "\n"))
	default:
		st.panicked = fault
	}
}

// ranked returns a version of the subject together with the context from its package that is shown
// with it.
func (s *subject) ranked(fn repair.Function, marks []repair.Mark, failed []string) repair.Ranked {
	r := repair.Ranked{Function: fn, Marks: marks}
	s.names.Complete(&r, failed)
	return r
}

func (s *subject) story(rng *rand.Rand, atFault repair.Function) *story {
	return &story{rng: rng, file: s.fn.File, pkg: s.pkg, fn: atFault, at: atFault, literals: literal.FindAllString(atFault.Text, 12)}
}

// clean shows the subject unbroken, with a report that points to another function.
func (s *subject) clean(rng *rand.Rand) sample {
	fault := pick(rng, s.siblings...)
	names := slices.DeleteFunc(s.others(rng, 0), func(n string) bool { return n == fault.Name })
	names = names[:min(len(names), repair.MaxCandidates-2)]
	names = slices.Insert(names, min(rank(rng)-1, len(names)), fault.Name)
	names = slices.Insert(names, min(rank(rng)-1, len(names)), s.fn.Name)
	report := s.story(rng, fault).report(names)
	marks := s.regions.marks(rng, len(s.lines), nil)
	if rng.Float64() < 0.3 {
		clear(marks)
	}
	shown := s.ranked(s.fn, marks, report.Failed).ReadBeside(report.String(), slices.Index(names, s.fn.Name)+1, s.size)
	return sample{
		prompt:  repair.State{Report: report.String(), Function: shown}.Prompt(),
		answers: []string{repair.AnswerRead(slices.Index(names, fault.Name) + 1)},
		shown:   shown,
	}
}

// state makes an example in which the answer is not an edit.
func (s *subject) state(rng *rand.Rand) sample {
	x := rng.Float64()
	if x < 0.1 {
		return sample{prompt: repair.State{}.Prompt(), answers: []string{repair.AnswerRun()}}
	}
	if x < 0.15 {
		return sample{prompt: repair.State{OK: true}.Prompt(), answers: []string{repair.AnswerDone()}}
	}
	number, names := s.candidates(rng)
	report, ranked := s.told(rng, names, s.fn, nil)
	state := repair.State{Report: report}
	if x < 0.5 {
		return sample{prompt: state.Prompt(), answers: []string{repair.AnswerRead(number)}}
	}
	state.Function = ranked.ReadBeside(report, number, s.size)
	if x < 0.8 {
		state.Edited = true
		return sample{prompt: state.Prompt(), answers: []string{repair.AnswerRun()}, shown: state.Function}
	}
	state.OK = true
	return sample{prompt: state.Prompt(), answers: []string{repair.AnswerDone()}, shown: state.Function}
}
