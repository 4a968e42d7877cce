package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/realfix"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// mining is one run of the realfix step.
type mining struct {
	work   string
	limit  int // limit of releases per module
	begun  time.Time
	fixes  *verify.Lines
	judged *verify.Lines

	mu    sync.Mutex
	seen  map[string]bool
	count map[string]int // fixes by kind
	tried int
}

// lode is a package of a release with lines that differ from the previous release.
type lode struct {
	Module, Licence string
	From, To        realfix.Release
	Dir, Kind       string
	Lines           []realfix.Candidate
	Needs           int // number of modules in the module's go.mod, which make building slow
}

// promise returns a score for a package: it is high if the package is cheap to judge and likely to
// contain a fix.
func (l *lode) promise() int {
	best := l.Lines[0].Promise()
	for _, c := range l.Lines {
		best = max(best, c.Promise())
	}
	return best - min(len(l.Lines), 20)/4 - min(l.Needs, 30)/2 - int(min(l.size()>>18, 6))
}

// size returns the bytes of the package's source files.
func (l *lode) size() int64 {
	names, _ := filepath.Glob(filepath.Join(l.To.Dir, l.Dir, "*.go"))
	var n int64
	for _, name := range names {
		if fi, err := os.Stat(name); err == nil {
			n += fi.Size()
		}
	}
	return n
}

func (l *lode) key() string { return l.Module + "@" + l.To.Version + " " + l.Dir + " " + l.Kind }

// runRealfix searches released modules for real one-line fixes and writes them as JSON.
func runRealfix(ctx context.Context, args []string) error {
	m := &mining{begun: time.Now(), seen: map[string]bool{}, count: map[string]int{}}
	flags := flag.NewFlagSet("realfix", flag.ContinueOnError)
	out := flags.String("out", "fixes.json", "file of fixes; what was compared, judged and found is kept beside it, so that a run goes on where one ended")
	flags.StringVar(&m.work, "work", filepath.Join(os.TempDir(), "luthier-realfix"), "directory for copies of modules and for test binaries")
	flags.IntVar(&m.limit, "releases", 40, "newest releases of each module to look at")
	workers := flags.Int("workers", 2, "packages at a time")
	minutes := flags.Float64("minutes", 60, "stop after so long")
	list := flags.Bool("list", false, "only list the packages that would be judged")
	only := flags.String("only", "", "only modules whose path contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if m.work, err = filepath.Abs(m.work); err != nil { // the go command runs in another directory
		return err
	}
	if err := os.MkdirAll(m.work, 0o755); err != nil {
		return err
	}
	if err := m.open(*out); err != nil {
		return err
	}
	defer m.fixes.Close()
	defer m.judged.Close()
	limited, cancel := context.WithTimeout(ctx, time.Duration(*minutes*float64(time.Minute)))
	defer cancel()
	half, stop := context.WithTimeout(ctx, time.Duration(*minutes*float64(time.Minute)/2))
	defer stop()
	lodes, err := m.survey(half, *out+".survey")
	if err != nil {
		return err
	}
	lodes = slices.DeleteFunc(lodes, func(l *lode) bool { return !strings.Contains(l.Module, *only) })
	if *list {
		for _, l := range lodes {
			fmt.Printf("%4d %s: %d lines\n", l.promise(), l.key(), len(l.Lines))
		}
		return nil
	}
	roots := map[string]string{}
	for _, l := range lodes {
		roots[l.Module+"@"+l.To.Version] = l.To.Dir
	}
	m.run(limited, lodes, *workers)
	return writeFixes(*out, roots)
}

// open reads the results of earlier runs.
func (m *mining) open(out string) (err error) {
	m.fixes, err = verify.OpenLines(out+".lines", func(line []byte) error {
		var f realfix.Fix
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		m.count[f.Kind]++
		m.seen[fixKey(f.Module, f)] = true
		return nil
	})
	if err != nil {
		return err
	}
	m.judged, err = verify.OpenLines(out+".judged", func(line []byte) error {
		var key string
		if err := json.Unmarshal(line, &key); err != nil {
			return err
		}
		m.seen[key] = true
		return nil
	})
	return err
}

// surveyed holds the packages to judge in the releases of a module.
type surveyed struct {
	Module string
	Lodes  []*lode
}

// survey lists the packages to judge: those in a file left by earlier runs, and those of further
// modules, whose releases it compares until ctx ends.
func (m *mining) survey(ctx context.Context, file string) ([]*lode, error) {
	if err := os.WriteFile(filepath.Join(m.work, "go.mod"), []byte("module scratch\n\ngo 1.21\n"), 0o644); err != nil {
		return nil, err
	}
	var all []*lode
	known := map[string]bool{}
	lines, err := verify.OpenLines(file, func(line []byte) error {
		var s surveyed
		err := json.Unmarshal(line, &s)
		all, known[s.Module] = append(all, s.Lodes...), true
		return err
	})
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	for _, module := range realfix.Modules() {
		if ctx.Err() != nil {
			break
		}
		if known[module] {
			continue
		}
		found, err := m.compare(ctx, module)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if err := lines.Append(surveyed{module, found}); err != nil {
			return nil, err
		}
		all = append(all, found...)
		fmt.Fprintf(os.Stderr, "%5.1f min %s: %d packages\n", time.Since(m.begun).Minutes(), module, len(found))
	}
	order(all)
	return all, nil
}

// order sorts packages by promise, the most promising first. It distributes the packages of a
// module: between two of them come the packages of other modules with nearly the same promise.
func order(all []*lode) {
	promise := map[*lode]int{}
	for _, l := range all {
		promise[l] = l.promise()
	}
	slices.SortStableFunc(all, func(a, b *lode) int { return promise[b] - promise[a] })
	rank := map[*lode]int{}
	nth := map[string]int{}
	for _, l := range all {
		rank[l] = promise[l] - nth[l.Module]
		nth[l.Module]++
	}
	slices.SortStableFunc(all, func(a, b *lode) int { return rank[b] - rank[a] })
}

// compare compares each release of a module with the next one.
func (m *mining) compare(ctx context.Context, module string) ([]*lode, error) {
	releases, err := realfix.Releases(ctx, m.work, module, m.limit)
	if err != nil {
		return nil, err
	}
	var all []*lode
	for i := len(releases) - 1; i > 0; i-- {
		licence, ok, err := corpus.Licence(releases[i].Dir)
		if err != nil || !ok {
			continue
		}
		lines, err := realfix.Diff(releases[i-1].Dir, releases[i].Dir)
		if err != nil {
			return all, err
		}
		file, _ := os.ReadFile(filepath.Join(releases[i].Dir, "go.mod"))
		byDir := map[[2]string]*lode{}
		for _, c := range lines {
			l := byDir[[2]string{c.Dir, c.Kind}]
			if l == nil {
				l = &lode{Module: module, Licence: licence, From: releases[i-1], To: releases[i], Dir: c.Dir, Kind: c.Kind, Needs: bytes.Count(file, []byte(" v"))}
				byDir[[2]string{c.Dir, c.Kind}] = l
				all = append(all, l)
			}
			l.Lines = append(l.Lines, c)
		}
	}
	return all, nil
}

func (m *mining) run(ctx context.Context, lodes []*lode, workers int) {
	lodes = slices.DeleteFunc(lodes, func(l *lode) bool { return m.seen[l.key()] })
	fmt.Fprintf(os.Stderr, "%d packages to judge\n", len(lodes))
	queue := make(chan *lode)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for l := range queue {
				m.judge(ctx, w, l, len(lodes))
			}
		})
	}
	for _, l := range lodes {
		if ctx.Err() != nil {
			break
		}
		queue <- l
	}
	close(queue)
	wg.Wait()
}

// judge proves the fixes of one package and records them.
func (m *mining) judge(ctx context.Context, worker int, l *lode, of int) {
	limited, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	begun := time.Now()
	fixes, err := m.prove(limited, worker, l)
	if ctx.Err() != nil {
		return // interrupted; judged again in a later run
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range fixes {
		key := fixKey(l.Module, f)
		if m.seen[key] {
			continue
		}
		m.seen[key] = true
		f.Module, f.From, f.Version, f.Licence = l.Module, l.From.Version, l.To.Version, l.Licence
		m.count[f.Kind]++
		if err := m.fixes.Append(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Fprintf(os.Stderr, "FIX %v: %q -> %q (%s)\n", f, f.Old, f.New, strings.Join(f.Tests, " "))
	}
	if err := m.judged.Append(l.key()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	m.tried++
	result := fmt.Sprintf("%d of %d lines are fixes", len(fixes), len(l.Lines))
	if err != nil {
		result, _, _ = strings.Cut(err.Error(), "\n")
	}
	fmt.Fprintf(os.Stderr, "%5.1f min %d/%d %v | %s: %s (%.1fs)\n", time.Since(m.begun).Minutes(), m.tried, of, m.count, l.key(), result, time.Since(begun).Seconds())
}

func (m *mining) prove(ctx context.Context, worker int, l *lode) ([]realfix.Fix, error) {
	dir := filepath.Join(m.work, fmt.Sprintf("worker%d", worker))
	root, bins, covers := filepath.Join(dir, "module"), filepath.Join(dir, "bins"), filepath.Join(dir, "covers")
	for _, d := range []string{bins, covers} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := copyModule(l.To.Dir, root, l.Module); err != nil {
		return nil, err
	}
	sb, err := confine(ctx, root, bins, covers)
	if err != nil {
		return nil, err
	}
	defer sb.Close()
	p := &realfix.Prover{
		Root: root, Bins: bins, Limit: 90 * time.Second, Run: sb, Build: verify.Plain{Env: os.Environ()},
		Env: []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0"},
	}
	p.Only = realfix.ChangedTests(l.From.Dir, l.To.Dir, l.Dir)
	return p.Prove(ctx, l.Dir, l.Lines)
}

// fixKey identifies a fix, regardless of the releases in which it is found.
func fixKey(module string, f realfix.Fix) string {
	return fmt.Sprintf("%s %s %s %q %q", module, f.File, f.Function, f.Old, f.New)
}

// writeFixes writes the fixes found by this and earlier runs, in order. The parameter roots has the
// directories of unpacked modules.
func writeFixes(out string, roots map[string]string) error {
	all := []realfix.Fix{}
	lines, err := verify.OpenLines(out+".lines", func(line []byte) error {
		var f realfix.Fix
		err := json.Unmarshal(line, &f)
		all = append(all, f)
		return err
	})
	if err != nil {
		return err
	}
	defer lines.Close()
	slices.SortFunc(all, func(a, b realfix.Fix) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Version, b.Version), cmp.Compare(a.File, b.File), a.FileLine-b.FileLine)
	})
	slips := realfix.NewSlips()
	for i, f := range all {
		root, ok := roots[f.Module+"@"+f.Version]
		if !ok {
			continue // the fix is from an earlier run and already has its kind
		}
		if all[i].Slip, err = slips.Of(root, f); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o644)
}
