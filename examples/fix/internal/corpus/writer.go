package corpus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// MaxTokens is the length of the longest examples.
const MaxTokens = 1024

// Writer makes training examples from functions by breaking them. The result depends only on its
// fields, not on the number of processors.
type Writer struct {
	Sources   []Source
	Functions []Function
	Tokenizer *tokenizer.Tokenizer
	Seed      uint64
	Count     int // number of examples
	Shares    Shares

	// Progress, if not nil, is called after each package with the number of packages done, the
	// number of all packages, and the number of examples so far. Calls do not overlap.
	Progress func(done, packages, examples int)
}

// perModule limits the number of a module's functions that count for its share of the examples, so
// that large modules do not displace the others.
const perModule = 3000

// spare is the ratio of examples tried to examples wanted: some functions have no mutants, and some
// examples are too long.
const spare = 1.3

// Examples returns the examples in random order: Count of them, or as many as could be made.
func (w *Writer) Examples(ctx context.Context) ([]dataset.Example, error) {
	jobs, err := w.plan()
	if err != nil {
		return nil, err
	}
	im := newImporter(w.Sources)
	made := make([][]dataset.Example, len(jobs))
	var mu sync.Mutex
	done, count := 0, 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, j := range jobs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var err error
			if made[i], err = w.one(im, j); err != nil {
				return fmt.Errorf("corpus: make examples of %s: %w", j.dir, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done, count = done+1, count+len(made[i])
			if w.Progress != nil {
				w.Progress(done, len(jobs), count)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(made...)
	rng := rand.New(rand.NewPCG(w.Seed, 1))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), w.Count)], nil
}

// A job is a package and the number of examples from each of its functions.
type job struct {
	dir       string
	functions []Function
	count     []int
}

// plan distributes the examples over the functions, evenly within a module.
func (w *Writer) plan() ([]job, error) {
	dirs := map[string]string{}
	for _, s := range w.Sources {
		dirs[s.Path] = s.Dir
	}
	of := map[string]int{}
	for _, f := range w.Functions {
		of[f.Module]++
	}
	total := 0
	for _, n := range of {
		total += min(n, perModule)
	}
	var jobs []job
	index := map[string]int{}
	for _, f := range w.Functions {
		root, ok := dirs[f.Module]
		if !ok {
			return nil, fmt.Errorf("corpus: plan examples: module %s of function %s is not among the sources", f.Module, f.Name)
		}
		n := of[f.Module]
		share := spare * float64(w.Count) / float64(total) * float64(min(n, perModule)) / float64(n)
		count := int(share + w.rng(f, 0).Float64())
		if count == 0 {
			continue
		}
		dir := filepath.Join(root, filepath.FromSlash(f.Dir()))
		i, ok := index[dir]
		if !ok {
			i = len(jobs)
			index[dir] = i
			jobs = append(jobs, job{dir: dir})
		}
		jobs[i].functions = append(jobs[i].functions, f)
		jobs[i].count = append(jobs[i].count, count)
	}
	return jobs, nil
}

// rng returns the source of randomness for the use-th use of a function.
func (w *Writer) rng(f Function, use int) *rand.Rand {
	return rand.New(rand.NewPCG(w.Seed, hash(f.Module+"\x00"+f.File+"\x00"+f.Name)+uint64(f.Line)*0x9e3779b97f4a7c15+uint64(use)))
}

// one makes the examples from the functions of one package.
func (w *Writer) one(im *importer, j job) ([]dataset.Example, error) {
	var wanted []string
	for _, f := range j.functions {
		wanted = append(wanted, path.Base(f.File))
	}
	p := loadPackage(im, j.dir, wanted)
	enc := newEncoder(w.Tokenizer, w.Shares.Code)
	var out []dataset.Example
	for i, f := range j.functions {
		s := p.subject(f, w.Tokenizer.Count)
		if s == nil {
			continue
		}
		for use := range j.count[i] {
			sample, ok := s.sample(w.rng(f, 1+use), w.Shares)
			if !ok {
				continue
			}
			e, err := enc.encode(sample)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			if len(e.Tokens) <= MaxTokens {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// subject prepares a function for examples. It returns nil if the package does not have the
// function.
func (p *pkg) subject(f Function, size func(string) int) *subject {
	in, decl := p.find(f)
	if decl == nil {
		return nil
	}
	fn := function(p.fset, in.lines, decl)
	fn.File = path.Base(f.File)
	var mutants []mutate.Mutant
	made := false
	return &subject{
		fn: fn, lines: strings.Split(fn.Text, "\n"), pkg: in.pkg, size: size, regions: regions(p.fset, decl), names: p.names(),
		siblings: slices.DeleteFunc(slices.Clone(in.all), func(o repair.Function) bool { return o.Name == fn.Name }),
		mutants: func() []mutate.Mutant { // computed once, and only if needed
			if !made {
				mutants, made = p.mutator.All(in.src, decl, p.fset), true
			}
			return mutants
		},
	}
}
