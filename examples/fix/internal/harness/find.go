package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox"
)

// Find implements [Case]: it runs all tests once, chooses the package to repair, and runs its
// failing and its passing tests separately for their coverage. Later calls return the first result.
func (m *Module) Find(ctx context.Context) (*Finding, error) {
	if m.finding != nil {
		return m.finding, nil
	}
	if err := m.readList(ctx); err != nil {
		return nil, err
	}
	runs, err := m.runTests(ctx, m.below)
	if err != nil {
		return nil, err
	}
	target, err := m.choose(runs)
	if err != nil {
		return nil, err
	}
	m.Package, m.Tests = target.path, len(target.failed)+len(target.passed)
	p := m.list[target.path]
	fns, generated, err := m.functions(p)
	if err != nil {
		return nil, err
	}
	m.Generated = generated
	if len(fns) > 0 {
		m.checker(fns[0].File) // building the checker takes a second; it is ready by the first edit
	}
	e, err := m.evidence(ctx, p, target)
	if err != nil {
		return nil, err
	}
	f := &Finding{Failed: target.failed, Output: target.output(), Ranked: repair.Rank(fns, e)}
	if further := m.further(p, e); len(further) > 0 && len(f.Ranked) < repair.MaxCandidates {
		f.Ranked = append(f.Ranked, further...)
	}
	if len(f.Ranked) == 0 {
		if len(generated) > 0 {
			return nil, problem("the failing tests of %s run generated code only (%s says \"DO NOT EDIT\"), which is not edited: change what it is generated from",
				m.Package, strings.Join(generated, ", "))
		}
		return nil, problem("the failing tests of %s run no function of the module that could be edited", m.Package)
	}
	if err := m.fillNames(f); err != nil {
		return nil, err
	}
	m.finding = f
	return f, nil
}

// fillNames adds to the candidates the names of their packages.
func (m *Module) fillNames(f *Finding) error {
	known := map[string]*repair.Names{}
	for i := range f.Ranked[:min(len(f.Ranked), repair.MaxCandidates)] {
		r := &f.Ranked[i]
		dir := path.Dir(r.File)
		if known[dir] == nil {
			files, err := m.filesIn(dir)
			if err != nil {
				return err
			}
			known[dir] = repair.NewNames(files)
		}
		known[dir].Complete(r, f.Failed)
	}
	return nil
}

// filesIn returns the files of the package in a directory, relative to the root.
func (m *Module) filesIn(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range m.list {
		for _, name := range p.GoFiles {
			file := p.rel(m.sb.Dir(), name)
			if path.Dir(file) != dir {
				continue
			}
			src, err := m.Source(file)
			if err != nil {
				return nil, err
			}
			files[file] = src
		}
	}
	return files, nil
}

// readList runs go list on the packages.
func (m *Module) readList(ctx context.Context) error {
	exit, err := m.goCommand(ctx, 2*time.Minute, "list", "-e", "-test", "-deps", "-json=ImportPath,Dir,ForTest,Standard,GoFiles,TestGoFiles,XTestGoFiles,Deps,Module,Error", m.below)
	if err != nil {
		return err
	}
	m.list = map[string]*listed{}
	var binaries []*listed
	var problems strings.Builder
	for dec := json.NewDecoder(bytes.NewReader(exit.Stdout.Bytes())); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return m.explain(exit.Stderr.String() + exit.Stdout.String())
		}
		if p.Error != nil {
			problems.WriteString(p.Error.Err + "\n")
		}
		switch {
		case strings.HasSuffix(p.ImportPath, ".test"):
			binaries = append(binaries, p)
		case p.Module != nil && p.Module.Main && p.ForTest == "":
			m.list[p.ImportPath] = p
		}
	}
	for _, b := range binaries { // imports of tests count too: some tests have a separate directory
		if p := m.list[strings.TrimSuffix(b.ImportPath, ".test")]; p != nil {
			p.Deps = m.within(b.Deps, p.ImportPath)
		}
	}
	text := problems.String() + exit.Stderr.String()
	switch {
	case len(m.list) == 0 && (strings.TrimSpace(text) == "" || strings.Contains(text, "matched no packages")):
		return problem("there are no Go packages in %s", m.Root)
	case exit.Code != 0, missingModule.MatchString(text), missingPath.MatchString(text), unwritable.MatchString(text), missingSum.MatchString(text):
		return m.explain(text)
	}
	return nil
}

// within returns the packages of a list that are in the module, except the one at path.
func (m *Module) within(deps []string, path string) []string {
	var own []string
	for _, d := range deps {
		d, _, _ = strings.Cut(d, " ") // "p [q.test]" is p compiled for q's tests
		if d != path && m.list[d] != nil && !slices.Contains(own, d) {
			own = append(own, d)
		}
	}
	return own
}

// choose picks the package to repair: among the packages with failing tests, the one on which the
// others depend.
func (m *Module) choose(runs map[string]*packageRun) (*packageRun, error) {
	var failing, unbuilt, silent, hung []*packageRun
	tests := 0
	for _, path := range sortedKeys(runs) {
		r := runs[path]
		tests += len(r.failed) + len(r.passed)
		if r.ok() {
			continue
		}
		m.broken[path] = r
		switch {
		case r.build != "" || notBuilt.MatchString(r.output()):
			unbuilt = append(unbuilt, r)
		case len(r.failed) == 0 && !panicked.MatchString(r.output()):
			silent = append(silent, r)
		case r.timedOut():
			hung = append(hung, r)
		case m.list[path] != nil:
			failing = append(failing, r)
		}
	}
	switch {
	case len(failing) > 0:
	case len(unbuilt) > 0:
		return nil, problem("the tests of %s do not compile, and only code that compiles can be repaired here: %s",
			unbuilt[0].path, firstLines(cmp.Or(unbuilt[0].build, unbuilt[0].output()), 3))
	case len(silent) > 0:
		return nil, problem("the tests of %s fail, but none of them by name, and without one there is nothing to go by (does TestMain end the program?): %s",
			silent[0].path, firstLines(silent[0].output(), 3))
	case len(hung) > 0:
		return nil, problem("%s of %s did not end within %s, and a test that hangs tells too little to be repaired here; if it is only slow, give a longer -timeout",
			cmp.Or(strings.Join(hung[0].hung(), ", "), "a test"), hung[0].path, m.limit)
	case tests == 0:
		return nil, problem("there are no tests in %s", filepath.Join(m.Root, strings.TrimSuffix(strings.TrimPrefix(m.below, "./"), "...")))
	default:
		return nil, problem("all tests pass already (%d in %d packages): there is nothing to repair", tests, len(runs))
	}
	slices.SortStableFunc(failing, func(a, b *packageRun) int { return m.depth(a, failing) - m.depth(b, failing) })
	for _, r := range slices.Concat(failing[1:], unbuilt, silent, hung) {
		m.Others = append(m.Others, r.path)
	}
	return failing[0], nil
}

// depth counts the other failing packages that the package of r imports, directly or indirectly.
func (m *Module) depth(r *packageRun, failing []*packageRun) int {
	n := 0
	for _, o := range failing {
		if o != r && slices.Contains(m.list[r.path].Deps, o.path) {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// evidence runs the failing tests and the others separately.
func (m *Module) evidence(ctx context.Context, p *listed, r *packageRun) (repair.Evidence, error) {
	e := repair.Evidence{Failed: r.failed}
	if out := r.output(); panicked.MatchString(out) {
		e.Stack = repair.Stack(out)
	}
	bin := filepath.Join(m.scratch, "cover.test")
	var own []string
	for _, d := range append([]string{p.ImportPath}, p.Deps...) {
		if q := m.list[d]; q != nil && len(q.GoFiles) > 0 {
			own = append(own, d)
		}
	}
	exit, err := m.goCommand(ctx, 5*time.Minute, "test", "-c", "-vet=off", "-cover", "-coverpkg="+strings.Join(own, ","), "-o", bin, p.ImportPath)
	if err != nil {
		return e, err
	}
	if !exit.Success() {
		return e, nil // continue without coverage
	}
	defer os.Remove(bin)
	failing, passed := r.failing, r.passed
	if len(e.Stack) > 0 { // the panic also prevented the tests after it
		runs, err := m.runTests(ctx, "-skip="+repair.SelectTests(r.failed), p.ImportPath)
		if err != nil {
			return e, err
		}
		failing, passed = r.failed, nil
		if others := runs[p.ImportPath]; others != nil {
			failing, passed = slices.Concat(r.failed, others.failing), others.passed
		}
	}
	if e.Failing, err = m.alone(ctx, p, bin, repair.Alone(repair.Leaves(failing))); err != nil {
		return e, err
	}
	if len(e.Failing) == 0 {
		if e.Failing, err = m.together(ctx, p, bin, r.failed); err != nil {
			return e, err
		}
	}
	e.Passing, err = m.together(ctx, p, bin, passed)
	return e, err
}

// alone runs failing tests one by one for their coverage, until the time for that is used up.
func (m *Module) alone(ctx context.Context, p *listed, bin string, names []string) ([]repair.Profile, error) {
	var list []repair.Profile
	for begin := time.Now(); len(names) > 0 && time.Since(begin) < m.limit; names = names[1:] {
		profile, failed, err := m.profile(ctx, p, bin, names[:1])
		if err != nil {
			return nil, err
		}
		if profile != nil && failed { // some tests fail only together with others
			list = append(list, profile)
		}
	}
	return list, nil
}

// together runs tests in one run for their coverage.
func (m *Module) together(ctx context.Context, p *listed, bin string, tests []string) ([]repair.Profile, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	profile, _, err := m.profile(ctx, p, bin, tests)
	if profile == nil || err != nil {
		return nil, err
	}
	return []repair.Profile{profile}, nil
}

// profile runs tests and returns their coverage, or nil if they do not write it. The result failed
// reports whether they fail.
func (m *Module) profile(ctx context.Context, p *listed, bin string, tests []string) (_ repair.Profile, failed bool, err error) {
	out := filepath.Join(m.scratch, "cover.out")
	if err := os.RemoveAll(out); err != nil {
		return nil, false, err
	}
	exit, err := m.sb.Exec(ctx, sandbox.Cmd{
		Args: []string{bin, "-test.run=" + repair.SelectTests(tests), "-test.timeout=" + m.limit.String(), "-test.coverprofile=" + out},
		Dir:  p.Dir, Env: m.env, Timeout: 2 * m.limit,
	})
	if err != nil {
		return nil, false, err
	}
	data, err := regular.Read(out, maxSource)
	if err != nil || len(data) == 0 {
		return nil, false, nil // the tests ended early
	}
	profile, err := repair.ParseProfile(data)
	return profile, !exit.Success(), err
}

// further ranks functions of packages that the chosen package imports, in case the fault is in one
// of them.
func (m *Module) further(p *listed, e repair.Evidence) []repair.Ranked {
	var fns []repair.Function
	for _, d := range p.Deps {
		if q := m.list[d]; q != nil {
			if list, _, err := m.functions(q); err == nil {
				fns = append(fns, list...)
			}
		}
	}
	ranked := repair.Rank(fns, e)
	if len(e.Failing) == 0 && len(e.Stack) == 0 {
		return nil // there would be no evidence except their names
	}
	return slices.DeleteFunc(ranked, func(r repair.Ranked) bool {
		return !slices.ContainsFunc(r.Marks, func(k repair.Mark) bool { return k != repair.NotRun })
	})
}
