package main

import (
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

	"github.com/luthier-dev/luthier/internal/train/corpus"
	"github.com/luthier-dev/luthier/internal/train/realfix"
	"github.com/luthier-dev/luthier/internal/train/verify"
)

// mining is one run of the realfix step.
type mining struct {
	work   string
	limit  int // releases of a module
	begun  time.Time
	fixes  *verify.Lines
	judged *verify.Lines

	mu    sync.Mutex
	seen  map[string]bool
	count map[string]int // fixes by kind
	tried int
}

// lode is a package of a release with lines that differ from the release before.
type lode struct {
	module, licence   string
	from, to          realfix.Release
	dir               string
	lines             []realfix.Candidate
	tested, sole, nth int // how good it looks, and how many of its module are before it
}

func (l *lode) key() string { return l.module + "@" + l.to.Version + " " + l.dir }

// runRealfix searches released modules for real one-line fixes and writes them as JSON.
func runRealfix(ctx context.Context, args []string) error {
	m := &mining{begun: time.Now(), seen: map[string]bool{}, count: map[string]int{}}
	flags := flag.NewFlagSet("realfix", flag.ContinueOnError)
	out := flags.String("out", "fixes.json", "file of fixes; what was found before is kept beside it, so that a run goes on where one ended")
	flags.StringVar(&m.work, "work", filepath.Join(os.TempDir(), "luthier-realfix"), "directory for copies of modules and for test binaries")
	flags.IntVar(&m.limit, "releases", 40, "newest releases of each module to look at")
	workers := flags.Int("workers", 2, "packages at a time")
	minutes := flags.Float64("minutes", 60, "stop after so long")
	only := flags.String("only", "", "only modules whose path contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(m.work, 0o755); err != nil {
		return err
	}
	var all []realfix.Fix
	if err := m.open(*out, &all); err != nil {
		return err
	}
	defer m.fixes.Close()
	defer m.judged.Close()
	limited, cancel := context.WithTimeout(ctx, time.Duration(*minutes*float64(time.Minute)))
	defer cancel()
	m.run(limited, m.lodes(limited, *only), *workers)
	return writeFixes(*out)
}

// open reads what earlier runs have left.
func (m *mining) open(out string, all *[]realfix.Fix) (err error) {
	m.fixes, err = verify.OpenLines(out+".lines", func(line []byte) error {
		var f realfix.Fix
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		*all = append(*all, f)
		m.count[f.Kind]++
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

// lodes lists the packages to judge, the most promising first and the modules in turn.
func (m *mining) lodes(ctx context.Context, only string) []*lode {
	scratch := filepath.Join(m.work, "go.mod")
	if err := os.WriteFile(scratch, []byte("module scratch\n\ngo 1.21\n"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	var all []*lode
	for _, module := range realfix.Modules() {
		if !strings.Contains(module, only) || ctx.Err() != nil {
			continue
		}
		found, err := m.survey(ctx, module)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b *lode) int {
		return cmp.Or(b.tested-a.tested, b.sole-a.sole, a.nth-b.nth)
	})
	return all
}

// survey compares the releases of a module, each with the next.
func (m *mining) survey(ctx context.Context, module string) ([]*lode, error) {
	releases, err := realfix.Releases(ctx, m.work, module, m.limit)
	if err != nil {
		return nil, err
	}
	var all []*lode
	nth := map[[2]int]int{}
	for i := len(releases) - 1; i > 0; i-- {
		licence, ok, err := corpus.Licence(releases[i].Dir)
		if err != nil || !ok {
			continue
		}
		lines, err := realfix.Diff(releases[i-1].Dir, releases[i].Dir)
		if err != nil {
			return all, err
		}
		byDir := map[string]*lode{}
		for _, c := range lines {
			l := byDir[c.Dir]
			if l == nil {
				l = &lode{module: module, licence: licence, from: releases[i-1], to: releases[i], dir: c.Dir}
				byDir[c.Dir] = l
				all = append(all, l)
			}
			l.lines = append(l.lines, c)
			if c.Tested {
				l.tested = 1
			}
			if c.Sole {
				l.sole = 1
			}
		}
		for _, l := range byDir {
			class := [2]int{l.tested, l.sole}
			l.nth = nth[class]
			nth[class]++
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

// judge proves the fixes of one package and writes them down.
func (m *mining) judge(ctx context.Context, worker int, l *lode, of int) {
	limited, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	begun := time.Now()
	fixes, err := m.prove(limited, worker, l)
	if ctx.Err() != nil {
		return // cut short: judged another time
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range fixes {
		f.Module, f.From, f.Version, f.Licence = l.module, l.from.Version, l.to.Version, l.licence
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
	result := fmt.Sprintf("%d of %d lines are fixes", len(fixes), len(l.lines))
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
	if err := copyModule(l.to.Dir, root, l.module); err != nil {
		return nil, err
	}
	sb, err := confine(ctx, root, bins, covers)
	if err != nil {
		return nil, err
	}
	defer sb.Close()
	p := &realfix.Prover{
		Root: root, Bins: bins, Limit: time.Minute, Run: sb, Build: verify.Plain{Env: os.Environ()},
		Env: []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0"},
	}
	return p.Prove(ctx, l.dir, l.lines)
}

// writeFixes writes the fixes found so far, by this and earlier runs, in order.
func writeFixes(out string) error {
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
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o644)
}
