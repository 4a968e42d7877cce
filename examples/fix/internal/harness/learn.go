package harness

import (
	"context"
	"fmt"
	"go/build"
	"path"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/adapt"
	"github.com/luthier-dev/luthier/router/moe"
)

// Learner makes models that are adapted to the module under repair: it trains the base model for
// some seconds on faults that are introduced into the module's functions (see package adapt). It is
// safe for concurrent use.
type Learner struct {
	Weights []byte     // GGUF file of the model
	Config  moe.Config // how the resulting models are loaded

	Tokens  int64         // number of tokens to learn from; 0 means 250,000
	Limit   time.Duration // time limit; 0 means none
	Workers int           // goroutines that compute; 0 means one for each processor
}

// Learn returns a model adapted to the module with this path and root directory, and a summary of
// the training. The package in directory dir has priority. Functions that may contain the fault are
// left out: the function without reports this for each, given the file relative to the root and the
// name. If progress is not nil, it is called with the completed share. An error that wraps
// [adapt.ErrTooLittle] means that there is not enough code.
func (l *Learner) Learn(ctx context.Context, module, root, dir string, without func(file, name string) bool, progress func(done float64)) (*moe.Model, *adapt.Learned, error) {
	learnt, err := adapt.Learn(ctx, adapt.Config{
		Model: l.Weights, Module: module, Root: root, Package: dir, Goroot: build.Default.GOROOT, Without: without,
		Tokens: l.Tokens, Limit: l.Limit, Workers: l.Workers, Seed: 1, Progress: progress,
	})
	if err != nil {
		return nil, nil, err
	}
	m, err := moe.LoadBytes("what learnt "+module, learnt.Model, l.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("load what was learnt: %w", err)
	}
	return m, learnt, nil
}

// Learn calls [Learner.Learn] for the module under repair and the chosen package. The functions
// that f ranks may be broken, so they are not learned.
func (m *Module) Learn(ctx context.Context, l *Learner, f *Finding, progress func(done float64)) (*moe.Model, *adapt.Learned, error) {
	ranked := map[string]bool{}
	for _, r := range f.Ranked {
		ranked[r.File+" "+r.Name] = true
	}
	dir := "."
	if len(f.Ranked) > 0 {
		dir = path.Dir(f.Ranked[0].File)
	}
	return l.Learn(ctx, m.Path, m.Root, dir, func(file, name string) bool { return ranked[file+" "+name] }, progress)
}
