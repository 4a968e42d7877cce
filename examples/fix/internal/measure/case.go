package measure

import (
	"context"
	"path/filepath"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// recorder is a [harness.Case] for a task whose tests pass only with the released line.
type recorder struct {
	t        *task
	p        *verify.Package
	c        *repair.Checker
	function bool // the broken function is the only candidate
}

// Find implements [harness.Case].
func (r *recorder) Find(context.Context) (*harness.Finding, error) {
	f := &harness.Finding{Failed: r.t.found.failed, Output: r.t.found.output, Ranked: r.t.candidates(r.function)}
	return f, nil
}

// candidates returns the functions that the model may choose from.
func (t *task) candidates(function bool) []repair.Ranked {
	switch {
	case !function && t.found.buggy < 0:
		return t.found.ranked[:len(t.found.ranked)-1]
	case !function:
		return t.found.ranked
	case t.found.buggy < 0:
		return t.found.ranked[len(t.found.ranked)-1:]
	}
	return t.found.ranked[t.found.buggy : t.found.buggy+1]
}

// Source implements [harness.Case].
func (r *recorder) Source(file string) ([]byte, error) { return r.t.source(r.p, file) }

// source returns a file of the package, with the broken line if it is in that file.
func (t *task) source(p *verify.Package, file string) ([]byte, error) {
	src := p.File(filepath.Base(file)).Src
	if filepath.Base(file) != t.File {
		return src, nil
	}
	right := t.fn
	right.Text = right.Edited(t.Line, t.original)
	return repair.Apply(src, right, t.Line, t.Text)
}

// Check implements [harness.Case].
func (r *recorder) Check(_ context.Context, file string, src []byte) error {
	return r.c.Check(file, src)
}

// Words implements [harness.Speller].
func (r *recorder) Words(context.Context, string) *repair.Words { return r.c.Words() }

// Test implements [harness.Case]. The released line passes, since the tests passed with it before,
// so the model need not continue after it.
func (r *recorder) Test(_ context.Context, e *harness.Edit) (*harness.Verdict, error) {
	if r.t.is(e.Function) && e.Line == r.t.Line && e.New == r.t.original {
		return &harness.Verdict{OK: true}, nil
	}
	return &harness.Verdict{Failed: r.t.found.failed}, nil
}
