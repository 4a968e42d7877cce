package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// harvesting is one run of the verify step.
type harvesting struct {
	out, work   string
	harvest     verify.Harvest
	perRepo     int
	most        int
	workers     int
	seed        uint64
	deadline    time.Time
	tasks, done *verify.Lines

	mu      sync.Mutex
	seen    map[string]bool // packages that were processed
	ids     map[string]bool // ids of tasks that were written
	perMod  map[string]int
	count   int
	yield   verify.Yield // sums over all packages
	modules map[string]*checkout
	begun   time.Time
}

// done is a line in the journal that records that a package need not be tried again.
type done struct {
	Module string
	Dir    string
	verify.Yield
}

func runVerify(ctx context.Context, args []string) error {
	h := &harvesting{begun: time.Now()}
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	split := flags.String("split", "train", "which modules: train or heldout")
	only := flags.String("only", "", "only modules whose path contains this")
	flags.StringVar(&h.out, "out", "tasks.jsonl", "file of tasks, one a line; an existing one is continued")
	flags.StringVar(&h.work, "work", filepath.Join(os.TempDir(), "luthier-verify"), "directory for copies of modules and for test binaries")
	flags.IntVar(&h.harvest.PerFunction, "per-function", 2, "tasks from one function at most")
	flags.IntVar(&h.harvest.PerPackage, "per-package", 40, "tasks from one package at most")
	least := flags.Int("least-bytes", 0, "of a function; shorter ones are left out")
	flags.IntVar(&h.perRepo, "per-repo", 0, "tasks from one module at most; 0: any number")
	flags.IntVar(&h.most, "max", 0, "stop at so many tasks; 0: never")
	flags.IntVar(&h.workers, "workers", 2, "packages at a time")
	flags.Uint64Var(&h.seed, "seed", 1, "of the order of packages and of the slips")
	again := flags.String("again", "", "journal (FILE.packages) of an earlier run whose packages are broken anew, the most fruitful first")
	minutes := flags.Float64("minutes", 60, "stop after so long")
	if err := flags.Parse(args); err != nil {
		return err
	}
	h.harvest.Seed = h.seed
	h.deadline = h.begun.Add(time.Duration(*minutes * float64(time.Minute)))
	if err := h.open(); err != nil {
		return err
	}
	defer h.tasks.Close()
	defer h.done.Close()
	all, err := corpus.Manifest()
	if err != nil {
		return err
	}
	if corpus.Split(*split) == corpus.Train {
		h.harvest.Take = apart(ctx, all)
	}
	h.harvest.Take = longer(*least, h.harvest.Take)
	modules := slices.DeleteFunc(corpus.Of(all, corpus.Split(*split)), func(m corpus.Module) bool { return !strings.Contains(m.Path, *only) })
	if len(modules) == 0 {
		return fmt.Errorf("no module is on the side %q of the split", *split)
	}
	ctx, cancel := context.WithDeadline(ctx, h.deadline)
	defer cancel()
	jobs := h.plan(ctx, modules)
	if *again != "" {
		if jobs, err = fruitful(*again, jobs); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%d packages of %d modules; %d tasks are there already\n", len(jobs), len(modules), h.count)
	h.run(ctx, jobs)
	h.progress("end", "")
	return nil
}

// open reads the results of earlier runs.
func (h *harvesting) open() (err error) {
	h.seen, h.ids, h.perMod, h.modules = map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]*checkout{}
	for _, dir := range []string{"bins", "covers", "mods"} {
		if err := os.MkdirAll(filepath.Join(h.work, dir), 0o755); err != nil {
			return err
		}
	}
	h.tasks, err = verify.OpenLines(h.out, func(line []byte) error {
		var t struct{ ID, Module string }
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		h.ids[t.ID] = true
		h.perMod[t.Module]++
		h.count++
		return nil
	})
	if err != nil {
		return err
	}
	h.done, err = verify.OpenLines(h.out+".packages", func(line []byte) error {
		var d done
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		h.seen[d.Module+" "+d.Dir] = true
		return nil
	})
	return err
}

// A job is a package to break.
type job struct {
	source corpus.Source
	dir    string // relative to the module's root, "." for the root itself
}

// plan lists the packages in the order in which they are tried: in rounds, each with one package
// from every module.
func (h *harvesting) plan(ctx context.Context, modules []corpus.Module) []job {
	rng := rand.New(rand.NewPCG(h.seed, 0x7665726966790000))
	type placed struct {
		job
		round int
		key   float64
	}
	var all []placed
	for _, source := range download(ctx, modules) {
		dirs := packages(source.Dir)
		if source.Path == corpus.Std {
			dirs = slices.Clone(stdPackages)
		}
		rng.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		each := 1
		if source.Path == corpus.Std {
			each = 4
		}
		for i, d := range dirs {
			all = append(all, placed{job{source, d}, i / each, rng.Float64()})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		if a.round != b.round {
			return a.round - b.round
		}
		if a.key < b.key {
			return -1
		}
		return 1
	})
	jobs := make([]job, 0, len(all))
	for _, p := range all {
		if !h.seen[p.source.Path+" "+p.dir] {
			jobs = append(jobs, p.job)
		}
	}
	return jobs
}

// fruitful returns the jobs that produced tasks in the run of a journal, those with the most tasks
// per second first.
func fruitful(journal string, jobs []job) ([]job, error) {
	data, err := os.ReadFile(journal)
	if err != nil {
		return nil, err
	}
	rate := map[string]float64{}
	for line := range strings.SplitSeq(string(data), "\n") {
		var d done
		if json.Unmarshal([]byte(line), &d) == nil && d.Killed > 0 {
			rate[d.Module+" "+d.Dir] = float64(d.Killed) / (d.Build + d.Baseline + d.Verify).Seconds()
		}
	}
	of := func(j job) float64 { return rate[j.source.Path+" "+j.dir] }
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return of(j) == 0 })
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(of(b), of(a)) })
	return jobs, nil
}

// download returns the modules that are available.
func download(ctx context.Context, modules []corpus.Module) []corpus.Source {
	if all, err := corpus.Download(ctx, modules); err == nil {
		return all
	}
	var list []corpus.Source
	for _, m := range modules {
		got, err := corpus.Download(ctx, []corpus.Module{m})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		list = append(list, got...)
	}
	return list
}

// apart returns a function that reports whether a text does not nearly repeat any held-out
// function.
func apart(ctx context.Context, all []corpus.Module) func(text string) bool {
	var near corpus.Near
	for _, source := range download(ctx, corpus.Of(all, corpus.HeldOut)) {
		for _, text := range corpus.Scan(source) {
			near.Add(text)
		}
	}
	return func(text string) bool { return !near.Has(text) }
}

// longer returns a filter that accepts functions of at least the given number of bytes if the
// function take accepts them; nil accepts all.
func longer(least int, take func(text string) bool) func(text string) bool {
	return func(text string) bool { return len(text) >= least && (take == nil || take(text)) }
}

// packages lists the directories of a module that contain a package with tests.
func packages(root string) []string {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		name := d.Name()
		if path != root {
			if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		tests, _ := filepath.Glob(filepath.Join(path, "*_test.go"))
		sources, _ := filepath.Glob(filepath.Join(path, "*.go"))
		if len(tests) > 0 && len(sources) > len(tests) {
			rel, _ := filepath.Rel(root, path)
			dirs = append(dirs, rel)
		}
		return nil
	})
	return dirs
}

// run processes the jobs.
func (h *harvesting) run(ctx context.Context, jobs []job) {
	queue := make(chan job)
	var wg sync.WaitGroup
	for range h.workers {
		wg.Go(func() {
			for j := range queue {
				h.one(ctx, j)
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil || h.enough("") {
			break
		}
		if !h.enough(j.source.Path) {
			queue <- j
		}
	}
	close(queue)
	wg.Wait()
}

// enough reports whether no more tasks of a module are wanted. If the module name is empty, it
// reports whether no more tasks are wanted at all.
func (h *harvesting) enough(module string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if module == "" {
		return h.most > 0 && h.count >= h.most
	}
	return h.perRepo > 0 && h.perMod[module] >= h.perRepo
}

// one breaks a package and records the results.
func (h *harvesting) one(ctx context.Context, j job) {
	tasks, yield, err := h.guarded(ctx, j)
	if ctx.Err() != nil && len(tasks) == 0 {
		return
	}
	if err != nil {
		yield.Error = err.Error()
		if len(yield.Error) > 500 {
			yield.Error = yield.Error[:500]
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var values []any
	for _, t := range tasks {
		t.Module, t.Version = j.source.Path, j.source.Version
		if h.ids[t.ID] || h.perRepo > 0 && h.perMod[t.Module] >= h.perRepo {
			continue
		}
		h.ids[t.ID] = true
		h.perMod[t.Module]++
		h.count++
		values = append(values, t)
	}
	if err := h.tasks.Append(values...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if err := h.done.Append(done{j.source.Path, j.dir, yield}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	h.yield.Runs += yield.Runs
	h.yield.Killed += yield.Killed
	h.yield.Build += yield.Build
	h.yield.Baseline += yield.Baseline
	h.yield.Verify += yield.Verify
	line := fmt.Sprintf("+%d of %d (%d dropped, %d unreached, %d survived, %d flaky) build %.1fs tests %.1fs runs %.1fs", len(values), yield.Variants,
		yield.Dropped, yield.Unreached, yield.Survived, yield.Flaky, yield.Build.Seconds(), yield.Baseline.Seconds(), yield.Verify.Seconds())
	if yield.Error != "" {
		line, _, _ = strings.Cut(yield.Error, "\n")
	}
	h.progress(j.source.Path+" "+j.dir, line)
}

// progress prints the progress of the run. The caller holds the lock, or is the only goroutine.
func (h *harvesting) progress(what, line string) {
	busy := h.yield.Verify.Hours()
	rate := 0.0
	if busy > 0 {
		rate = float64(h.yield.Runs) / busy
	}
	fmt.Fprintf(os.Stderr, "%5.1f min %6d tasks %5.0f runs/h | %s %s\n", time.Since(h.begun).Minutes(), h.count, rate, what, line)
}

// guarded runs a harvest and turns panics into errors: a single faulty package must not end a long
// run.
func (h *harvesting) guarded(ctx context.Context, j job) (tasks []*verify.Task, yield verify.Yield, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	c, err := h.checkout(j.source)
	if err != nil {
		return nil, yield, err
	}
	covers, err := os.MkdirTemp(filepath.Join(h.work, "covers"), "")
	if err != nil {
		return nil, yield, err
	}
	defer os.RemoveAll(covers)
	bins := filepath.Join(h.work, "bins")
	sb, err := confine(ctx, c.root, bins, covers)
	if err != nil {
		return nil, yield, err
	}
	defer sb.Close()
	cfg := c.cfg
	cfg.Slowest = time.Second
	cfg.Scratch, cfg.Covers, cfg.Exec = bins, covers, sb
	harvest := h.harvest
	harvest.Longest = 45 * time.Second
	harvest.Until = h.deadline.Add(-10 * time.Second)
	return harvest.Run(ctx, cfg, filepath.Join(c.src, j.dir))
}

// checkout is the copy of a module.
type checkout struct {
	sync.Mutex // held while the module is copied and while its files are replaced
	ready      bool
	root, src  string // the copy, and the directory that packages are relative to
	cfg        verify.Config
}

// checkout copies a module when it is first requested.
func (h *harvesting) checkout(s corpus.Source) (*checkout, error) {
	h.mu.Lock()
	c := h.modules[s.Path]
	if c == nil {
		c = &checkout{}
		h.modules[s.Path] = c
	}
	h.mu.Unlock()
	c.Lock()
	defer c.Unlock()
	if c.ready {
		return c, nil
	}
	c.cfg.Lock = c
	if s.Path == corpus.Std {
		c.root = filepath.Join(h.work, "goroot")
		c.src = filepath.Join(c.root, "src")
		c.cfg.Go = filepath.Join(c.root, "bin", "go")
		c.cfg.Env = []string{"GOROOT=" + c.root, "GOFLAGS=", "GOTOOLCHAIN=local", "GOWORK=off"}
		if err := copyGoroot(filepath.Dir(s.Dir), c.root); err != nil {
			return nil, err
		}
	} else {
		c.root = filepath.Join(h.work, "mods", strings.ReplaceAll(s.Path, "/", "_")+"@"+s.Version)
		c.src = c.root
		c.cfg.Env = []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off"}
		if err := copyModule(s.Dir, c.root, s.Path); err != nil {
			return nil, err
		}
	}
	c.ready = true
	return c, nil
}

// stdPackages are packages of the standard library on which few others depend, so that a broken
// package does not break the test run itself.
var stdPackages = []string{
	"archive/tar", "archive/zip", "bufio", "compress/bzip2", "compress/flate", "compress/gzip", "compress/lzw", "compress/zlib",
	"container/heap", "container/list", "container/ring", "database/sql", "encoding/ascii85", "encoding/asn1", "encoding/base32",
	"encoding/base64", "encoding/binary", "encoding/csv", "encoding/gob", "encoding/hex", "encoding/json", "encoding/pem",
	"encoding/xml", "expvar", "flag", "go/ast", "go/build/constraint", "go/constant", "go/doc", "go/doc/comment", "go/format", "go/parser",
	"go/printer", "go/scanner", "go/token", "go/version", "hash/adler32", "hash/crc32", "hash/crc64", "hash/fnv", "hash/maphash", "html", "html/template",
	"image", "image/color", "image/draw", "image/gif", "image/jpeg", "image/png", "index/suffixarray", "io/fs", "log", "log/slog",
	"maps", "math", "math/big", "math/bits", "math/cmplx", "math/rand", "math/rand/v2", "mime", "mime/multipart", "mime/quotedprintable",
	"net/http/cookiejar", "net/mail", "net/netip", "net/textproto", "net/url", "path", "path/filepath", "regexp", "regexp/syntax",
	"slices", "sort", "strconv", "strings", "testing/fstest", "text/scanner", "text/tabwriter", "text/template", "text/template/parse", "time",
	"unicode/utf16", "unicode/utf8", "bytes", "debug/dwarf", "debug/elf", "go/build", "container/heap", "encoding", "cmp", "iter", "unique",
}
