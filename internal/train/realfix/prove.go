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
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/repair"
	"github.com/luthier-dev/luthier/internal/train/verify"
)

// Prover tells with a package's own tests which candidates are fixes. The module's files are changed meanwhile and then put
// back.
type Prover struct {
	Root   string          // the newer version, writable
	Env    []string        // environment of the go command, added to the process's own
	Build  verify.Executor // runs the go command
	Run    verify.Executor // runs the tests
	Bins   string          // directory for test binaries, readable for Run
	Limit  time.Duration   // for one run of a package's tests
	Report func(string)    // hears what happens; may be nil
}

// ErrTests says that a package cannot be judged: its tests cannot be built or none passes.
var ErrTests = errors.New("realfix: the package's own tests do not build or pass here")

// Prove returns the fixes among the candidates of one package, without Module, From, Version and Licence.
func (p *Prover) Prove(ctx context.Context, dir string, candidates []Candidate) ([]Fix, error) {
	candidates, err := p.compiling(ctx, dir, candidates)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	passing, err := p.baseline(ctx, dir)
	if err != nil {
		return nil, err
	}
	var found []Fix
	for _, told := range p.told(ctx, dir, passing, candidates) {
		fix, err := p.fix(told.Candidate, told.tests)
		if err != nil {
			return found, err
		}
		found = append(found, fix)
	}
	return found, ctx.Err()
}

// told is a candidate and the tests that tell.
type told struct {
	Candidate
	tests []string
}

// told returns the candidates that tests tell of. Many are tried at once, since most often no test minds any of them; those
// of a set that fails, or does not compile together, are tried in halves.
func (p *Prover) told(ctx context.Context, dir string, passing []string, candidates []Candidate) []told {
	if ctx.Err() != nil {
		return nil
	}
	failed, built := p.try(ctx, dir, passing, candidates...)
	if built && len(failed) == 0 || !built && len(candidates) == 1 {
		return nil
	}
	if half := len(candidates) / 2; half > 0 {
		return append(p.told(ctx, dir, passing, candidates[:half]), p.told(ctx, dir, passing, candidates[half:])...)
	}
	// Once more, so that a test that fails now and then is not taken for one that tells.
	again, _ := p.try(ctx, dir, passing, candidates...)
	failed = slices.DeleteFunc(failed, func(t string) bool { return !slices.Contains(again, t) })
	if len(failed) == 0 {
		return nil
	}
	return []told{{candidates[0], failed}}
}

func (p *Prover) report(format string, args ...any) {
	if p.Report != nil {
		p.Report(fmt.Sprintf(format, args...))
	}
}

// compiling returns the candidates whose old line compiles in the newer version.
func (p *Prover) compiling(ctx context.Context, dir string, candidates []Candidate) ([]Candidate, error) {
	checker, err := repair.NewChecker(ctx, p.Root, "./"+filepath.ToSlash(dir), append(os.Environ(), p.Env...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrTests, err)
	}
	var good []Candidate
	for _, c := range candidates {
		src, err := p.reverted(c)
		if err != nil {
			return nil, err
		}
		if checker.Check(filepath.Join(p.Root, c.File), src) == nil {
			good = append(good, c)
		}
	}
	return good, nil
}

// reverted returns the newer version of a candidate's file with its old line.
func (p *Prover) reverted(c Candidate) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(p.Root, c.File))
	if err != nil {
		return nil, err
	}
	return repair.Apply(src, c.Function, c.Line, c.Old)
}

// baseline returns the tests that pass as the package is, twice.
func (p *Prover) baseline(ctx context.Context, dir string) ([]string, error) {
	if !p.build(ctx, dir) {
		return nil, ErrTests
	}
	passing, _, _ := p.test(ctx, dir)
	if len(passing) == 0 {
		return nil, ErrTests
	}
	again, _, _ := p.test(ctx, dir)
	return slices.DeleteFunc(passing, func(t string) bool { return !slices.Contains(again, t) }), nil
}

// try runs the tests with the old lines of candidates in place and returns which of the passing ones fail.
func (p *Prover) try(ctx context.Context, dir string, passing []string, candidates ...Candidate) (failed []string, built bool) {
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
		// Lines only are replaced, so the places of the other candidates stay right.
		mutated, err := repair.Apply(src, c.Function, c.Line, c.Old)
		if err != nil || os.WriteFile(name, mutated, 0o644) != nil {
			return nil, false
		}
	}
	if !p.build(ctx, dir) {
		return nil, false
	}
	_, failing, _ := p.test(ctx, dir)
	return slices.DeleteFunc(failing, func(t string) bool { return !slices.Contains(passing, t) }), true
}

func (p *Prover) bin() string { return filepath.Join(p.Bins, "realfix.test") }

// build builds the package's test binary.
func (p *Prover) build(ctx context.Context, dir string) bool {
	_ = os.Remove(p.bin())
	args := []string{"go", "test", "-c", "-vet=off", "-o", p.bin(), "./" + filepath.ToSlash(dir)}
	out, exit, err := p.Build.Exec(ctx, p.Root, args, p.Env, 4*time.Minute)
	if err != nil || exit != 0 {
		p.report("build %s: %v %s", dir, err, firstLines(out, 3))
		return false
	}
	_, err = os.Stat(p.bin())
	return err == nil
}

var verdict = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\S+)|^=== RUN +([^/\s]+)$`)

// test runs the test binary and returns the top-level tests that passed and failed. A test that ends the whole program, by a
// panic or by not ending, has failed too.
func (p *Prover) test(ctx context.Context, dir string) (passed, failed []string, status int) {
	args := []string{p.bin(), "-test.short", "-test.v", "-test.timeout=" + (p.Limit - p.Limit/6).String()}
	out, exit, err := p.Run.Exec(ctx, filepath.Join(p.Root, dir), args, nil, p.Limit)
	if err != nil {
		p.report("run %s: %v", dir, err)
		return nil, nil, -1
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
	return passed, failed, exit
}

func firstLines(out []byte, n int) string {
	lines := strings.SplitN(string(out), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], " | ")
}

// fix describes a candidate that tests tell of.
func (p *Prover) fix(c Candidate, failed []string) (Fix, error) {
	src, err := os.ReadFile(filepath.Join(p.Root, c.File))
	if err != nil {
		return Fix{}, err
	}
	sum := sha256.Sum256(src)
	slices.Sort(failed)
	return Fix{
		Dir: filepath.ToSlash(c.Dir), File: filepath.ToSlash(c.File), Function: c.Function.Name, FileLine: c.Function.Start + c.Line - 1, Line: c.Line,
		SHA256: hex.EncodeToString(sum[:]), Old: c.Old, New: c.New, Sole: c.Sole, Tests: failed, Kind: kindOf(c.Old, c.New),
	}, nil
}
