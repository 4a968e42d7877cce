package verify

import (
	"context"
	"fmt"
	"go/ast"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Harvest sets how many tasks are taken from a package, and which.
type Harvest struct {
	PerFunction, PerPackage int // limits on tasks
	Seed                    uint64
	Take                    func(text string) bool // reports whether a function's text may be used; nil accepts all
	Until                   time.Time              // no further variants are run after this time; zero means no limit
	Longest                 time.Duration          // time limit for running the variants of a package; zero means no limit
}

// Yield holds the results from a package.
type Yield struct {
	Pkg                                 string
	Variants, Dropped, Unreached        int
	Killed, Survived, Hung, Flaky, Runs int
	Tests                               int
	Build, Baseline, Verify             time.Duration
	Error                               string `json:",omitempty"`
}

// maxFunction is the length in bytes of the longest function that is broken. A model sees only
// parts of longer functions.
const maxFunction = 8000

// candidate is a variant together with its origin.
type candidate struct {
	Variant
	kind, original string
}

// Run breaks functions of the package in dir and returns those for which tests fail.
func (h Harvest) Run(ctx context.Context, cfg Config, dir string) ([]*Task, Yield, error) {
	y := Yield{}
	p, err := Load(ctx, cfg, dir)
	if err != nil {
		return nil, y, err
	}
	y.Pkg = p.ImportPath
	seed := fnv.New64a()
	seed.Write([]byte(p.ImportPath))
	rng := rand.New(rand.NewPCG(h.Seed, seed.Sum64()))
	list, err := h.candidates(p, rng)
	if err != nil {
		return nil, y, err
	}
	variants := make([]Variant, len(list))
	for i, c := range list {
		variants[i] = c.Variant
	}
	y.Variants = len(list)
	if len(list) == 0 {
		return nil, y, fmt.Errorf("verify: break %s: %w: nothing to break", p.ImportPath, ErrUnfit)
	}
	begin := time.Now()
	b, err := Build(ctx, cfg, p, variants)
	if err != nil {
		return nil, y, err
	}
	defer b.Close()
	y.Build, y.Dropped = time.Since(begin), len(b.Dropped)
	begin = time.Now()
	if err := b.Baseline(ctx); err != nil {
		return nil, y, err
	}
	y.Baseline, y.Tests = time.Since(begin), len(b.tests)
	begin = time.Now()
	tasks, err := h.verify(ctx, b, list, &y)
	y.Verify = time.Since(begin)
	return tasks, y, err
}

// candidates draws the variants of a package. It draws more than are needed, since some variants do
// not compile and tests miss others.
func (h Harvest) candidates(p *Package, rng *rand.Rand) ([]candidate, error) {
	type function struct {
		fn   repair.Function
		file *File
		decl *ast.FuncDecl
	}
	var all []function
	for _, f := range p.Files {
		if ast.IsGenerated(f.AST) || strings.Contains(string(f.Src), "\n//line ") || strings.Contains(string(f.Src), "/*line ") {
			continue
		}
		fns, err := repair.Functions(f.Name, f.Src)
		if err != nil {
			return nil, err
		}
		decls := map[int]*ast.FuncDecl{}
		for _, d := range f.AST.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				decls[p.Fset.Position(d.Pos()).Line] = d
			}
		}
		for _, fn := range fns {
			d := decls[fn.Start]
			if d != nil && Fit(d) == nil && len(fn.Text) <= maxFunction && (h.Take == nil || h.Take(fn.Text)) {
				all = append(all, function{fn, f, d})
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	m := mutate.New(p.Info)
	var list []candidate
	for _, f := range all {
		if len(list) >= 3*h.PerPackage {
			break
		}
		lines := strings.Split(f.fn.Text, "\n")
		for _, x := range mutate.Pick(rng, m.All(f.file.Src, f.decl, p.Fset), h.PerFunction+1) {
			original := strings.TrimSpace(lines[x.Line-1])
			list = append(list, candidate{Variant{f.fn, x.Line, x.Text}, x.Kind, original})
		}
	}
	return list, nil
}

// verify runs variants until there are enough tasks.
func (h Harvest) verify(ctx context.Context, b *Binary, list []candidate, y *Yield) ([]*Task, error) {
	var tasks []*Task
	perFunction := map[string]int{}
	begin := time.Now()
	for _, id := range b.Usable() {
		c := list[id-1]
		at := place(c.Function)
		if perFunction[at] >= h.PerFunction {
			continue
		}
		if len(tasks) >= h.PerPackage || !h.Until.IsZero() && time.Now().After(h.Until) || h.Longest > 0 && time.Since(begin) > b.scale(h.Longest) {
			break
		}
		if len(b.relevant(c.Function)) == 0 {
			y.Unreached++
			continue
		}
		o, err := b.Run(ctx, id)
		if err != nil {
			return tasks, err
		}
		switch {
		case o.Flaky:
			y.Flaky++
		case o.Timeout: // a test that never ends cannot be used to check a repair
			y.Hung++
		case !o.Killed():
			y.Survived++
		default:
			t, err := b.task(c, o)
			if err != nil {
				return tasks, err
			}
			y.Killed++
			perFunction[at]++
			tasks = append(tasks, t)
		}
	}
	y.Runs, _ = b.Runs()
	return tasks, nil
}

// task creates the task for a killed variant.
func (b *Binary) task(c candidate, o *Outcome) (*Task, error) {
	broken := c.Function
	broken.Text = c.Function.Edited(c.Line, c.Text)
	ranking, buggy, shown, err := o.Suspects(b.Package.Names(), b.functions, broken)
	if err != nil {
		return nil, err
	}
	t := &Task{
		Pkg: b.Package.ImportPath, File: filepath.Base(broken.File),
		Function: broken, Kind: c.kind, Line: c.Line, Original: c.original,
		Failed: o.Failed, Output: shorten(o.Output), Ended: o.ended(),
		Marks:   shown.Marks,
		Names:   shown.Names,
		Like:    shown.Like,
		Buggy:   buggy,
		Ranking: ranking,
	}
	t.ID = fmt.Sprintf("%s/%s:%d:%s:%d:%s", t.Pkg, t.File, broken.Start, broken.Name, c.Line, c.Text)
	return t, nil
}

// Suspects ranks the functions of a package, one of which is broken, and completes the data that a
// model is shown about them. It returns at most [repair.MaxCandidates] functions. It also returns
// the broken function as shown, and its index buggy, which is -1 if the function is not among them.
func (o *Outcome) Suspects(names *repair.Names, fns []repair.Function, broken repair.Function) (ranking []repair.Ranked, buggy int, shown repair.Ranked, err error) {
	e, err := o.Evidence()
	if err != nil {
		return nil, -1, shown, err
	}
	is := func(f repair.Function) bool { return place(f) == place(broken) }
	fns = slices.Clone(fns)
	for i, f := range fns {
		if is(f) {
			fns[i] = broken
		}
	}
	ranking = repair.Rank(fns, e)
	ranking = ranking[:min(len(ranking), repair.MaxCandidates)]
	names.Fill(ranking, o.Failed)
	if buggy = slices.IndexFunc(ranking, func(r repair.Ranked) bool { return is(r.Function) }); buggy >= 0 {
		return ranking, buggy, ranking[buggy], nil
	}
	shown = repair.Ranked{Function: broken, Marks: repair.Marks(broken, e)}
	names.Complete(&shown, o.Failed)
	return ranking, buggy, shown, nil
}

// Evidence returns the outcome in the form that package repair uses for ranking and marks.
func (o *Outcome) Evidence() (repair.Evidence, error) {
	e := repair.Evidence{Failed: o.Failed}
	if o.Panic || o.Timeout {
		e.Stack = repair.Stack(o.Output)
	}
	failing := o.Each
	if len(failing) == 0 {
		failing = [][]byte{o.Failing}
	}
	var err error
	if e.Failing, err = parse(failing...); err != nil {
		return e, err
	}
	e.Passing, err = parse(o.Passing)
	return e, err
}

// parse parses the profiles that are not nil.
func parse(profiles ...[]byte) ([]repair.Profile, error) {
	var out []repair.Profile
	for _, data := range profiles {
		if data == nil {
			continue
		}
		p, err := repair.ParseProfile(data)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// ended returns a description of how the tests ended early.
func (o *Outcome) ended() string {
	switch {
	case o.Timeout:
		return "timeout"
	case o.Panic:
		return "panic"
	case o.Exit:
		return "exit"
	}
	return ""
}
