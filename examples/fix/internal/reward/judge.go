package reward

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// A Judge judges candidates by running tests.
type Judge struct {
	Config  verify.Config // how packages are built and run; its Executor should be a sandbox
	Longest time.Duration // time limit for running variants of a package; further candidates are Unknown. Zero means no limit
}

// Cost is the cost of judging.
type Cost struct {
	Builds int           // number of builds of test binaries
	Runs   int           // number of test runs for candidates
	Took   time.Duration // in total
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Builds, c.Runs, c.Took = c.Builds+other.Builds, c.Runs+other.Runs, c.Took+other.Took
}

// Package judges candidates for tasks of the package in dir. The directory must be a copy that
// nobody else uses at the same time, with the package as it was released. Judgement i belongs to
// candidate i. Unless [Glance] can decide all of them, the package's tests are built once. The
// tests are also run with every task's original fault. If they do not notice the fault (which may
// depend on the machine), the task's candidates are Unknown. If there is an error, the judgements
// known so far are returned with it.
func (j Judge) Package(ctx context.Context, dir string, candidates []Candidate) ([]Judgement, Cost, error) {
	begin := time.Now()
	s := &session{judge: j, out: make([]Judgement, len(candidates)), faults: map[string]int{}, edits: map[string]int{}}
	s.collect(candidates)
	var err error
	if len(s.edits) > 0 {
		err = s.run(ctx, dir, candidates)
	}
	s.cost.Took = time.Since(begin)
	if err != nil {
		err = fmt.Errorf("reward: judge edits in %s: %w", dir, err)
	}
	return s.out, s.cost, err
}

// session is one call of Package.
type session struct {
	judge    Judge
	out      []Judgement
	variants []verify.Variant
	faults   map[string]int // variant number of a task's original fault
	edits    map[string]int // variant number of a candidate, by its key
	cost     Cost
}

// collect judges candidates that need no run, and makes variants for the others.
func (s *session) collect(candidates []Candidate) {
	for i, c := range candidates {
		verdict, decided := Glance(c)
		if decided {
			s.out[i] = verdict
			continue
		}
		if s.faults[c.Task.ID] == 0 {
			lines := strings.Split(c.Task.Function.Text, "\n")
			n := min(max(c.Task.Line, 1), len(lines))
			s.faults[c.Task.ID] = s.add(Candidate{c.Task, n, lines[n-1]})
		}
		if key := c.Key(); s.edits[key] == 0 {
			s.edits[key] = s.add(c)
		}
	}
}

func (s *session) add(c Candidate) int {
	f := c.Task.Function
	f.File = filepath.Base(c.Task.File)
	s.variants = append(s.variants, verify.Variant{Function: f, Line: c.Line, Text: strings.TrimSpace(c.Text)})
	return len(s.variants)
}

func (s *session) run(ctx context.Context, dir string, candidates []Candidate) error {
	for i := range s.out {
		if s.out[i].Verdict == Unknown {
			s.out[i].Why = "the package's tests could not be run"
		}
	}
	p, err := verify.Load(ctx, s.judge.Config, dir)
	if err != nil {
		return err
	}
	s.cost.Builds++
	b, err := verify.Build(ctx, s.judge.Config, p, s.variants)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Baseline(ctx); err != nil {
		return err
	}
	known, begin := map[int]*verify.Outcome{}, time.Now()
	for i, c := range candidates {
		id := s.edits[c.Key()]
		if id == 0 || s.out[i].Verdict != Unknown {
			continue
		}
		if s.judge.Longest > 0 && time.Since(begin) > s.judge.Longest {
			s.out[i].Why = "time ran out"
			continue
		}
		if s.out[i], err = s.verdict(ctx, b, s.faults[c.Task.ID], id, known); err != nil {
			return err
		}
	}
	return nil
}

// verdict judges a variant, unless the fault of its task goes unnoticed.
func (s *session) verdict(ctx context.Context, b *verify.Binary, fault, id int, known map[int]*verify.Outcome) (Judgement, error) {
	if why := b.Dropped[id]; why != nil {
		return refused("%v", why), nil
	}
	if why := b.Dropped[fault]; why != nil {
		return Judgement{Why: "the fault itself cannot be run: " + why.Error()}, nil
	}
	broken, err := s.try(ctx, b, fault, known)
	if err != nil {
		return Judgement{}, err
	}
	if len(broken.Failed) == 0 {
		return Judgement{Why: "the tests do not notice the fault"}, nil
	}
	edited, err := s.try(ctx, b, id, known)
	if err != nil {
		return Judgement{}, err
	}
	return compare(broken, edited), nil
}

// compare judges an edit by the test results. It is not enough that no test fails: the tests that
// failed must pass, because an edit could end the run before they are reached, or make them skip.
func compare(broken, edited *verify.Outcome) Judgement {
	j := Judgement{Verdict: StillFails, Ran: true}
	missing := slices.DeleteFunc(slices.Clone(broken.Failed), func(name string) bool { return slices.Contains(edited.Passed, name) })
	switch {
	case edited.Timeout:
		j.Why = "the tests take too long"
	case len(edited.Failed) > 0:
		j.Why = strings.Join(edited.Failed, " ")
	case edited.Panic || edited.Exit:
		j.Why = "the tests end early"
	case len(missing) > 0:
		j.Why = "not passed: " + strings.Join(missing, " ")
	default:
		j.Verdict = Fixed
	}
	return j
}

// try runs the tests with a variant, once.
func (s *session) try(ctx context.Context, b *verify.Binary, id int, known map[int]*verify.Outcome) (*verify.Outcome, error) {
	if o := known[id]; o != nil {
		return o, nil
	}
	o, err := b.Try(ctx, id)
	if err != nil {
		return nil, err
	}
	s.cost.Runs++
	known[id] = o
	return o, nil
}
