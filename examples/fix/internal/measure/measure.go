package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// Config configures a measurement. Model is required.
type Config struct {
	Model agent.Model
	Edits int    // limit of test runs per task; 0 means 10
	Seed  uint64 // for the enumerator's order

	// Learner, if not nil, makes the model that takes over after three edits that did not help. For
	// each package it is trained once on the package's module, except for all functions in which
	// the package's facts break a line.
	Learner *harness.Learner

	// Source returns a directory with a module as it was released, which will be copied. Nil means
	// that the module is fetched from the Go proxy.
	Source func(ctx context.Context, module, version string) (dir string, err error)

	Workers  int            // packages that are measured at once; 0 means one per processor
	Limit    time.Duration  // time limit per package; a package that takes longer is left out; 0 means 20 minutes
	Progress func(Progress) // called from one goroutine at a time; nil reports nothing
}

// Progress is the report after every package.
type Progress struct {
	Done, All int    // numbers of broken lines
	Package   string // the package just measured
	Fixed     int    // of the Counted lines, the number that the model has repaired so far in function scope
	Counted   int
	Stages    string // durations of the stages
	Skipped   string // reason why the package, or a part of it, was skipped; "" if it was not
}

// Tried is an edit and the result of its tests.
type Tried struct {
	Line int // from 1 at the func line of the broken function; 0 for an edit of another function, which is not tested
	Text string
	Pass bool
}

// Tally is the outcome of one task.
type Tally struct {
	Fact
	Original          string         // the right line
	Model, Enumerator map[string]int // by scope: the number of the test run that passed, from 1; 0 if none did
	Tried             map[string][]Tried
	Trouble           string `json:",omitempty"` // reason why the model gave up before using all test runs
}

// Scopes are the sets of functions that a model may choose from: the broken function alone, or the
// functions that the failing tests run.
var Scopes = []string{"function", "package"}

// Report holds the results of a measurement.
type Report struct {
	Tallies        []Tally
	Model, Enum    map[string]*Score // by scope
	Unlisted       int               // tasks whose broken function is not among the candidates in package scope, which count as failed
	Calls, Invalid int               // tool calls that the model made, and the number that violated their schema
	Learned        int               // packages on whose module a model was trained
	Refused        int               // calls that the harness refused, mostly edits that do not compile
	Skipped        []Skip
	Took           time.Duration
	Interrupted    bool
}

// Skip is a package, or some lines of it, that could not be measured.
type Skip struct {
	Package string
	Lines   int
	Why     string
}

// Run measures a model on facts, package by package in the order in which they first appear. If ctx
// ends, the results so far are returned, marked as interrupted.
func Run(ctx context.Context, cfg Config, facts []Fact) (*Report, error) {
	if cfg.Model == nil {
		return nil, errors.New("measure: run: there is no model")
	}
	cfg.Edits = cmp.Or(cfg.Edits, 10)
	cfg.Limit = cmp.Or(cfg.Limit, 20*time.Minute)
	cfg.Workers = cmp.Or(cfg.Workers, runtime.NumCPU())
	if cfg.Source == nil {
		cfg.Source = fetch
	}
	begin := time.Now()
	s := &session{cfg: cfg, all: len(facts), rep: newReport()}
	work := make(chan []Fact)
	var group sync.WaitGroup
	for range cfg.Workers {
		group.Go(func() {
			for facts := range work {
				s.measure(ctx, facts)
			}
		})
	}
	groups := byPackage(facts)
	for i := 0; i < len(groups) && ctx.Err() == nil; i++ {
		select {
		case work <- groups[i]:
		case <-ctx.Done():
		}
	}
	close(work)
	group.Wait()
	s.rep.Took, s.rep.Interrupted = time.Since(begin), ctx.Err() != nil
	slices.SortFunc(s.rep.Tallies, func(a, b Tally) int { return a.order - b.order })
	return s.rep, nil
}

func newReport() *Report {
	rep := &Report{Model: map[string]*Score{}, Enum: map[string]*Score{}}
	for _, s := range Scopes {
		rep.Model[s], rep.Enum[s] = &Score{}, &Score{}
	}
	return rep
}

// session is one call of Run.
type session struct {
	cfg Config
	all int

	mu   sync.Mutex
	done int
	rep  *Report
}

// measure measures one package and adds it to the report. Only complete packages are added, so that
// no package counts only with the lines that are measured quickly.
func (s *session) measure(ctx context.Context, facts []Fact) {
	part := newReport()
	clock := &stages{}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Limit)
	defer cancel()
	err := part.pack(limited, s.cfg, facts, clock)
	if ctx.Err() != nil {
		return
	}
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it took more than %v", s.cfg.Limit)
	}
	if err != nil {
		part = newReport()
		part.Skipped = []Skip{{facts[0].key(), len(facts), err.Error()}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += len(facts)
	s.rep.add(part)
	if s.cfg.Progress == nil {
		return
	}
	p := Progress{Done: s.done, All: s.all, Package: facts[0].key(), Stages: clock.String()}
	p.Fixed, p.Counted = s.rep.Model["function"].fixed(), len(s.rep.Tallies)
	for _, skip := range part.Skipped {
		p.Skipped = skip.Why
	}
	s.cfg.Progress(p)
}

// add adds the report of one package.
func (rep *Report) add(part *Report) {
	rep.Tallies = append(rep.Tallies, part.Tallies...)
	for _, scope := range Scopes {
		rep.Model[scope].join(part.Model[scope])
		rep.Enum[scope].join(part.Enum[scope])
	}
	rep.Unlisted += part.Unlisted
	rep.Calls += part.Calls
	rep.Invalid += part.Invalid
	rep.Refused += part.Refused
	rep.Learned += part.Learned
	rep.Skipped = append(rep.Skipped, part.Skipped...)
}

// ready builds a binary and finds out which variants each test reaches.
func ready(ctx context.Context, cfg verify.Config, p *verify.Package, variants []verify.Variant) (*verify.Binary, error) {
	bin, err := verify.Build(ctx, cfg, p, variants)
	if err != nil {
		return nil, err
	}
	if err := bin.Baseline(ctx); err != nil {
		return nil, errors.Join(err, bin.Close())
	}
	return bin, nil
}
