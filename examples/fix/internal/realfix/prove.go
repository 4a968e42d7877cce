package realfix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// Prover finds out which candidates are fixes, by running the package's tests. During this, the
// module's files are changed and then restored.
type Prover struct {
	Root   string          // the newer version, writable
	Env    []string        // environment of the go command, added to that of this process
	Build  verify.Executor // runs the go command
	Run    verify.Executor // runs the tests
	Bins   string          // directory for test binaries, readable for Run
	Limit  time.Duration   // for one run of a package's tests
	Only   []string        // the tests to run; nil means all
	Report func(string)    // receives progress messages; may be nil
}

// ErrTests means that a package cannot be judged: its tests cannot be built or none passes.
var ErrTests = errors.New("realfix: the package's own tests do not build or pass here")

// Prove returns the fixes among the candidates of one package. The fields Module, From, Version and
// Licence of the fixes are empty.
func (p *Prover) Prove(ctx context.Context, dir string, candidates []Candidate) ([]Fix, error) {
	// First try all candidates at once: usually no test fails, and nothing more needs to be built.
	suspects, failed, err := p.together(ctx, dir, candidates)
	if err != nil || len(failed) == 0 {
		return nil, err
	}
	if !p.build(ctx, dir, nil) {
		return nil, ErrTests
	}
	passing, _ := p.test(ctx, dir, p.Only)
	if !slices.ContainsFunc(failed, func(t string) bool { return slices.Contains(passing, t) }) {
		return nil, nil // the same tests already fail without the candidates
	}
	var found []Fix
	for _, told := range p.told(ctx, dir, passing, suspects, len(suspects) > 1) {
		fix, err := p.fix(told.Candidate, told.tests)
		if err != nil {
			return found, err
		}
		found = append(found, fix)
	}
	return found, ctx.Err()
}

// together tries all candidates that compile at once. It returns these candidates and the tests
// that fail with them.
func (p *Prover) together(ctx context.Context, dir string, candidates []Candidate) (left []Candidate, failed []string, err error) {
	left = slices.Clone(candidates)
	for len(left) > 0 && ctx.Err() == nil {
		var refused []place
		failed, built := p.try(ctx, dir, nil, &refused, left...)
		if built {
			return left, failed, nil
		}
		n := len(left)
		left = slices.DeleteFunc(left, func(c Candidate) bool {
			return slices.ContainsFunc(refused, func(at place) bool { return at.in(c) })
		})
		if len(left) == n {
			return nil, nil, ErrTests
		}
	}
	return nil, nil, ctx.Err()
}

// told is a candidate with the tests that detect it.
type told struct {
	Candidate
	tests []string
}

// told returns the candidates that tests detect. It bisects a set of candidates with which tests
// fail.
func (p *Prover) told(ctx context.Context, dir string, passing []string, candidates []Candidate, known bool) []told {
	if ctx.Err() != nil {
		return nil
	}
	if half := len(candidates) / 2; known && half > 0 {
		return append(p.told(ctx, dir, passing, candidates[:half], false), p.told(ctx, dir, passing, candidates[half:], false)...)
	}
	failed, built := p.try(ctx, dir, passing, nil, candidates...)
	if built && len(failed) == 0 || !built && len(candidates) == 1 {
		return nil
	}
	if len(candidates) > 1 {
		return p.told(ctx, dir, passing, candidates, true)
	}
	// Run both ways once more, so that a flaky test is not mistaken for a test that detects the
	// line.
	again, _ := p.try(ctx, dir, failed, nil, candidates...)
	if len(again) == 0 || !p.build(ctx, dir, nil) {
		return nil
	}
	sound, _ := p.test(ctx, dir, again)
	again = slices.DeleteFunc(again, func(t string) bool { return !slices.Contains(sound, t) })
	if len(again) == 0 {
		return nil
	}
	return []told{{candidates[0], again}}
}

func (p *Prover) report(format string, args ...any) {
	if p.Report != nil {
		p.Report(fmt.Sprintf(format, args...))
	}
}

// try runs the tests with the old lines of candidates applied and returns which of the tests in
// passing fail, or which of all tests if passing is nil. Places at which the compiler reports an
// error are added to refused.
func (p *Prover) try(ctx context.Context, dir string, passing []string, refused *[]place, candidates ...Candidate) (failed []string, built bool) {
	kept := map[string][]byte{}
	defer func() {
		for name, src := range kept {
			if err := os.WriteFile(name, src, 0o644); err != nil {
				p.report("put back %s: %v", name, err)
			}
		}
	}()
	for _, c := range candidates {
		name := filepath.Join(p.Root, c.File)
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, false
		}
		if kept[name] == nil {
			kept[name] = src
		}
		// Only whole lines are replaced, so the line numbers of the other candidates stay valid.
		mutated, err := repair.Apply(src, c.Function, c.Line, c.Old)
		if err != nil || os.WriteFile(name, mutated, 0o644) != nil {
			return nil, false
		}
	}
	if !p.build(ctx, dir, refused) {
		return nil, false
	}
	_, failed = p.test(ctx, dir, p.Only)
	if passing == nil {
		return failed, true
	}
	return slices.DeleteFunc(failed, func(t string) bool { return !slices.Contains(passing, t) }), true
}

func (p *Prover) bin() string { return filepath.Join(p.Bins, "realfix.test") }

// A place is a line of a file where the compiler reports an error.
type place struct {
	file string // base name
	line int
}

// in reports whether the place is in a candidate's function.
func (at place) in(c Candidate) bool {
	return at.file == filepath.Base(c.File) && at.line >= c.Function.Start && at.line <= c.Function.End
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// buildLimit is the time limit for one build, even on a busy machine.
const buildLimit = 10 * time.Minute

// build builds the package's test binary, without optimisation, since it is run only once.
func (p *Prover) build(ctx context.Context, dir string, refused *[]place) bool {
	_ = os.Remove(p.bin())
	args := []string{"go", "test", "-c", "-vet=off", "-gcflags=-e -N -l", "-ldflags=-s -w", "-o", p.bin(), "./" + filepath.ToSlash(dir)}
	out, exit, err := p.Build.Exec(ctx, p.Root, args, p.Env, buildLimit)
	if err != nil || exit != 0 {
		p.report("build %s: %v %s", dir, err, firstLines(out, 3))
		for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
			if line, err := strconv.Atoi(m[2]); err == nil && refused != nil {
				*refused = append(*refused, place{filepath.Base(m[1]), line})
			}
		}
		return false
	}
	_, err = os.Stat(p.bin())
	return err == nil
}

var verdict = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\S+)|^=== RUN +([^/\s]+)$`)

// test runs the test binary, all tests or only the named ones, and returns the top-level tests that
// passed and failed. A test that ends the whole program, by a panic or the time limit, counts as
// failed too.
func (p *Prover) test(ctx context.Context, dir string, only []string) (passed, failed []string) {
	args := []string{p.bin(), "-test.short", "-test.v", "-test.timeout=" + (p.Limit - p.Limit/6).String()}
	if only != nil {
		args = append(args, "-test.run=^("+strings.Join(only, "|")+")$")
	}
	out, exit, err := p.Run.Exec(ctx, filepath.Join(p.Root, dir), args, nil, p.Limit)
	if err != nil {
		p.report("run %s: %v", dir, err)
		return nil, nil
	}
	last := ""
	for _, m := range verdict.FindAllStringSubmatch(string(out), -1) {
		switch {
		case m[1] == "PASS":
			passed = append(passed, m[2])
		case m[1] == "FAIL":
			failed = append(failed, m[2])
		default:
			last = m[3]
		}
	}
	if exit != 0 && len(failed) == 0 && last != "" && !slices.Contains(passed, last) {
		failed = []string{last}
	}
	return passed, failed
}

func firstLines(out []byte, n int) string {
	lines := strings.SplitN(string(out), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], " | ")
}

// fix describes a candidate that tests detect.
func (p *Prover) fix(c Candidate, failed []string) (Fix, error) {
	src, err := os.ReadFile(filepath.Join(p.Root, c.File))
	if err != nil {
		return Fix{}, err
	}
	sum := sha256.Sum256(src)
	slices.Sort(failed)
	return Fix{
		Dir: filepath.ToSlash(c.Dir), File: filepath.ToSlash(c.File), Function: c.Function.Name, FileLine: c.Function.Start + c.Line - 1, Line: c.Line,
		SHA256: hex.EncodeToString(sum[:]), Old: c.Old, New: c.New, Sole: c.Sole, Tests: failed, Kind: c.Kind,
	}, nil
}
