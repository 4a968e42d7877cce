package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A test is one top-level test that passes when run alone.
type test struct {
	name    string
	took    time.Duration   // duration measured by package testing
	ran     []bool          // for every block of Binary.blank, whether the test covers the block when it runs alone
	reaches map[string]bool // functions that the test runs, by file:line
}

// Time limits on a package's tests. Slower tests are not worth their time.
const (
	baselineLimit = 25 * time.Second // for one run of all tests
	aloneLimit    = 30 * time.Second // for running every test alone
	slowTest      = 1500 * time.Millisecond
	startCost     = 15 * time.Millisecond
)

var testName = regexp.MustCompile(`^(Test|Example|Fuzz)\w*$`)

// Baseline runs the tests with no variant selected, all together and each alone. Only tests that
// are quick and pass both times are used afterwards; it is an error if there are none.
func (b *Binary) Baseline(ctx context.Context) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("verify: run the tests of %s: %w: "+format, append([]any{b.Package.ImportPath, ErrUnfit}, args...)...)
	}
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	all, err := b.exec(ctx, 0, nil, b.scale(baselineLimit))
	if err != nil {
		return err
	}
	if all.timedOut || all.killed {
		return fail("they take too long")
	}
	var names []string
	total := time.Duration(0)
	for _, name := range all.passed {
		if took := all.took[name]; testName.MatchString(name) && took <= b.scale(slowTest) && !slices.Contains(names, name) {
			names = append(names, name)
			total += took + b.scale(startCost)
		}
	}
	switch {
	case len(names) == 0:
		return fail("none passes")
	case total > b.scale(aloneLimit):
		return fail("one by one they take too long")
	}
	deadline := time.Now().Add(3 * b.scale(aloneLimit))
	for _, name := range names {
		r, err := b.exec(ctx, 0, []string{name}, b.scale(5*time.Second)+10*all.took[name])
		if err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fail("one by one they take too long")
		}
		if r.exit == 0 && slices.Contains(r.passed, name) {
			if b.blank == nil {
				b.blank = r.profile
			}
			b.tests = append(b.tests, &test{name: name, took: max(r.took[name], all.took[name]), ran: ranBlocks(r.profile)})
		}
	}
	if len(b.tests) == 0 {
		return fail("none passes by itself")
	}
	b.reach()
	return nil
}

// calibrate measures the factor by which the binary starts more slowly than on an idle machine.
// Time limits are extended by this factor, so that a test that has to wait for a processor is not
// mistaken for one that hangs.
func (b *Binary) calibrate(ctx context.Context) error {
	b.slow = 1
	var starts []time.Duration
	for range 3 {
		begin := time.Now()
		if _, err := b.exec(ctx, 0, []string{}, baselineLimit); err != nil {
			return err
		}
		starts = append(starts, time.Since(begin))
	}
	b.slow = min(max(1, float64(slices.Max(starts))/float64(startCost)), 15)
	return nil
}

// scale extends a duration by the machine's slowness.
func (b *Binary) scale(d time.Duration) time.Duration { return time.Duration(float64(d) * b.slow) }

// reach determines which functions every test runs.
func (b *Binary) reach() {
	byFile := map[string][]repair.Function{}
	for _, f := range b.functions {
		name := filepath.Base(f.File)
		byFile[name] = append(byFile[name], f)
	}
	var owner []string // the function of every block
	for line := range bytes.SplitSeq(b.blank, []byte("\n")) {
		if block, ok := parseBlock(line); ok {
			at := ""
			for _, f := range byFile[block.file] {
				if f.Start <= block.start && block.start <= f.End {
					at = place(f)
				}
			}
			owner = append(owner, at)
		}
	}
	for _, t := range b.tests {
		t.reaches = map[string]bool{}
		for i, f := range owner {
			if i < len(t.ran) && t.ran[i] && f != "" {
				t.reaches[f] = true
			}
		}
	}
}

// place returns a unique name for a function: it includes the line, since two methods with the same
// name may be in one file.
func place(f repair.Function) string { return filepath.Base(f.File) + ":" + strconv.Itoa(f.Start) }

// Tests returns the tests that run a function, the fastest first, up to the number that fits into
// the time limit.
func (b *Binary) Tests(f repair.Function) []string {
	var names []string
	for _, t := range b.relevant(f) {
		names = append(names, t.name)
	}
	return names
}

func (b *Binary) relevant(f repair.Function) []*test {
	var list []*test
	for _, t := range b.tests {
		if t.reaches[place(f)] {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(x, y *test) int { return int(x.took - y.took) })
	total := time.Duration(0)
	for i, t := range list {
		if total += t.took; total > b.scale(b.cfg.slowest()) {
			list = list[:i]
			break
		}
	}
	// Sort them in the order in which the package runs them.
	slices.SortFunc(list, func(x, y *test) int { return slices.Index(b.tests, x) - slices.Index(b.tests, y) })
	return list
}

// ran is the result of one run of the test binary.
type ran struct {
	*results
	exit    int
	killed  bool // killed by the executor, because the binary did not end at its own time limit
	out     []byte
	profile []byte // mapped; nil if the binary did not write it
}

// exec runs tests (nil means all) with a variant.
func (b *Binary) exec(ctx context.Context, variant int, tests []string, timeout time.Duration) (*ran, error) {
	profile := filepath.Join(b.cfg.covers(), filepath.Base(b.Path)+".cover")
	defer os.Remove(profile)
	args := []string{b.Path, "-test.v=test2json", "-test.short", "-test.paniconexit0", "-test.parallel=2", "-test.count=1",
		"-test.timeout=" + timeout.String(), "-test.coverprofile=" + profile}
	if tests != nil {
		args = append(args, "-test.run="+repair.SelectTests(tests))
	}
	env := []string{"GOMEMLIMIT=1GiB", "GOMAXPROCS=1", "GOTRACEBACK=single", selector + "=" + strconv.Itoa(variant)}
	begin := time.Now()
	out, exit, err := b.cfg.Exec.Exec(ctx, b.Package.Dir, args, env, timeout+b.scale(2*time.Second))
	b.runs++
	b.spent += time.Since(begin)
	if err != nil {
		return nil, fmt.Errorf("verify: run the tests of %s: %w", b.Package.ImportPath, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &ran{exit: exit, out: out, killed: exit != 0 && time.Since(begin) > timeout+b.scale(time.Second)}
	r.results = parseOutput([]byte(b.mapper.text(string(out))))
	if data, err := os.ReadFile(profile); err == nil && len(data) > 0 {
		r.profile = b.mapper.profile(data, variant)
	}
	return r, nil
}
