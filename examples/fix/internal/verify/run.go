package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Outcome is what the tests say about a variant.
type Outcome struct {
	// Failed are the failing top-level tests, none if no test noticed the variant. A run that was
	// ended by a panic, a timeout or os.Exit fails the tests that were running.
	Failed []string
	// Passed are the tests that run the function and pass.
	Passed []string
	// Output is what the failing tests printed, and what ended the run if anything did.
	Output string
	// Panic, Timeout and Exit say that the run ended early, and how.
	Panic, Timeout, Exit bool
	// Flaky says that a second run of the same tests had another result: nothing can be learned
	// from this variant.
	Flaky bool
	// Failing and Passing are coverage profiles of the failing and of all other tests of the
	// package; nil if unknown: tests that end early write none. Tests that hang are not run again,
	// so that both are nil with Timeout.
	Failing, Passing []byte
	// Each are coverage profiles of single failing tests and subtests, where there are several: a
	// fault that fails all of them is in what all of them run.
	Each [][]byte
}

// Killed reports whether the tests noticed the variant.
func (o *Outcome) Killed() bool { return len(o.Failed) > 0 && !o.Flaky }

// Run runs the tests that reach a variant's function, and, if some fail, those and the others
// apart.
func (b *Binary) Run(ctx context.Context, variant int) (*Outcome, error) {
	o, first, names, err := b.try(ctx, variant)
	if err != nil || len(o.Failed) == 0 || o.Timeout {
		return o, err
	}
	early := o.Panic || first.profile == nil
	return o, b.apart(ctx, variant, first, early, names, b.limit(variant), o)
}

// Try runs the tests that reach a variant's function once: it tells whether they pass, but neither
// coverage nor whether they are flaky.
func (b *Binary) Try(ctx context.Context, variant int) (*Outcome, error) {
	o, _, _, err := b.try(ctx, variant)
	return o, err
}

// limit is how long the tests of a variant may take.
func (b *Binary) limit(variant int) time.Duration {
	limit := b.scale(time.Second)
	for _, t := range b.relevant(b.Variants[variant-1].Function) {
		limit += 10 * t.took
	}
	return limit
}

// try is the first run of a variant, and which tests were run.
func (b *Binary) try(ctx context.Context, variant int) (*Outcome, *ran, []string, error) {
	if variant < 1 || variant > len(b.Variants) || b.Dropped[variant] != nil {
		return nil, nil, nil, fmt.Errorf("verify: run variant %d of %s: no such variant", variant, b.Package.ImportPath)
	}
	names := b.Tests(b.Variants[variant-1].Function)
	if len(names) == 0 {
		return &Outcome{}, nil, nil, nil
	}
	first, err := b.exec(ctx, variant, names, b.limit(variant))
	if err != nil {
		return nil, nil, nil, err
	}
	o := &Outcome{Failed: first.failed, Passed: first.passed, Timeout: first.timedOut || first.killed, Panic: first.panicked}
	if first.exit == 0 && len(first.failed) == 0 {
		return o, first, names, nil
	}
	if o.Panic || o.Timeout || first.profile == nil {
		o.Exit = !o.Panic && !o.Timeout
		stopped := first.unfinished
		if names := hung(first.out); o.Timeout && len(names) > 0 {
			stopped = names
		} else if len(stopped) > 1 { // others wait for their turn
			stopped = stopped[len(stopped)-1:]
		}
		for _, name := range stopped {
			if !slices.Contains(o.Failed, name) {
				o.Failed = append(o.Failed, name)
			}
		}
	}
	o.Output = first.report(o.Failed)
	return o, first, names, nil
}

// apart runs the failing tests and the others by themselves for their coverage.
func (b *Binary) apart(ctx context.Context, variant int, first *ran, early bool, names []string, limit time.Duration, o *Outcome) error {
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(o.Failed, n) })
	if len(rest) == 0 {
		o.Failing = first.profile
	} else {
		again, err := b.exec(ctx, variant, o.Failed, limit)
		if err != nil {
			return err
		}
		if again.exit == 0 {
			o.Flaky = true
			return nil
		}
		o.Failing = again.profile
	}
	failing := first.failing
	passing := [][]byte{}
	for range 2 { // the second time without what fails though it was not seen failing
		if len(rest) == 0 {
			break
		}
		again, err := b.exec(ctx, variant, rest, limit)
		if err != nil {
			return err
		}
		if again.exit == 0 && again.profile != nil {
			passing = append(passing, again.profile)
			break
		}
		if !early {
			o.Flaky = true
			return nil
		}
		failing = append(failing, again.failing...)
		rest = slices.DeleteFunc(rest, func(n string) bool { return !slices.Contains(again.passed, n) })
	}
	if err := b.each(ctx, variant, repair.Alone(repair.Leaves(failing)), limit, o); err != nil {
		return err
	}
	passing = append(passing, b.others(place(b.Variants[variant-1].Function)))
	o.Passing = merge(passing...)
	return nil
}

// each runs failing tests and subtests by themselves for their coverage.
func (b *Binary) each(ctx context.Context, variant int, alone []string, limit time.Duration, o *Outcome) error {
	for _, name := range alone {
		r, err := b.exec(ctx, variant, []string{name}, limit)
		if err != nil {
			return err
		}
		if len(r.failed) > 0 && r.profile != nil { // some fail beside others alone
			o.Each = append(o.Each, r.profile)
		}
	}
	return nil
}

// others is the coverage of the tests that do not reach a function.
func (b *Binary) others(function string) []byte {
	union := make([]bool, len(ranBlocks(b.blank)))
	for _, t := range b.tests {
		if t.reaches[function] {
			continue
		}
		for i := range min(len(union), len(t.ran)) {
			union[i] = union[i] || t.ran[i]
		}
	}
	return withRan(b.blank, union)
}

// Runs returns how often the binary was started, and for how long it ran.
func (b *Binary) Runs() (int, time.Duration) { return b.runs, b.spent }
