package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Outcome holds the test results for a variant.
type Outcome struct {
	// Failed lists the failing top-level tests. It is empty if no test noticed the variant. If a
	// run ends by a panic, a timeout or os.Exit, the tests that were running count as failed.
	Failed []string
	// Passed lists the tests that run the function and pass.
	Passed []string
	// Output is the output of the failing tests, and the output that explains a premature end of
	// the run, if there is any.
	Output string
	// Panic, Timeout and Exit report whether the run ended early in that way.
	Panic, Timeout, Exit bool
	// Flaky reports whether a second run of the same tests had a different result, so that nothing
	// can be learned from this variant.
	Flaky bool
	// Failing and Passing are coverage profiles of the failing and of all other tests of the
	// package. They are nil if unknown, because tests that end early write no profile. Tests that
	// hang are not run again, so both are nil if Timeout is set.
	Failing, Passing []byte
	// Each holds coverage profiles of single failing tests and subtests, if there are several. A
	// fault that makes all of them fail is in code that all of them run.
	Each [][]byte
}

// Killed reports whether the tests noticed the variant.
func (o *Outcome) Killed() bool { return len(o.Failed) > 0 && !o.Flaky }

// Run runs the tests that reach a variant's function. If some fail, it runs those and the others
// again separately.
func (b *Binary) Run(ctx context.Context, variant int) (*Outcome, error) {
	o, first, names, err := b.try(ctx, variant)
	if err != nil || len(o.Failed) == 0 || o.Timeout {
		return o, err
	}
	early := o.Panic || first.profile == nil
	return o, b.apart(ctx, variant, first, early, names, b.limit(variant), o)
}

// Try runs the tests that reach a variant's function once. It finds out whether they pass, but
// neither their coverage nor whether they are flaky.
func (b *Binary) Try(ctx context.Context, variant int) (*Outcome, error) {
	o, _, _, err := b.try(ctx, variant)
	return o, err
}

// limit returns the time limit for the tests of a variant.
func (b *Binary) limit(variant int) time.Duration {
	limit := b.scale(time.Second)
	for _, t := range b.relevant(b.Variants[variant-1].Function) {
		limit += 10 * t.took
	}
	return limit
}

// try makes the first run of a variant. It also returns the tests that were run.
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
		} else if len(stopped) > 1 { // the others are paused until it is their turn
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

// apart runs the failing tests and the other tests separately for their coverage.
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
	for range 2 { // the second time without tests that fail now although they did not fail before
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

// each runs failing tests and subtests one by one for their coverage.
func (b *Binary) each(ctx context.Context, variant int, alone []string, limit time.Duration, o *Outcome) error {
	for _, name := range alone {
		r, err := b.exec(ctx, variant, []string{name}, limit)
		if err != nil {
			return err
		}
		if len(r.failed) > 0 && r.profile != nil { // some tests fail only together with others
			o.Each = append(o.Each, r.profile)
		}
	}
	return nil
}

// others returns the coverage of the tests that do not reach a function.
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

// Runs returns the number of times that the binary was started, and its total running time.
func (b *Binary) Runs() (int, time.Duration) { return b.runs, b.spent }
