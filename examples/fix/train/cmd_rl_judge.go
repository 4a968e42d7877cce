package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// The rewards of answers. A repair needs one test run, so an edit that does not help wastes a run.
// A refused call shows that the model does not know the code.
const (
	rewardRight   = 1
	rewardRun     = -0.05
	rewardRefused = -0.1
)

// rlJudge judges answers in sandboxes.
type rlJudge struct {
	work, only string
	longest    time.Duration
	jobs       int

	checkouts *harvesting
	sources   map[string]corpus.Source
	known     map[string]reward.Judgement // by candidate
	journal   *verify.Lines
}

// rlJudging is the cost of judging.
type rlJudging struct {
	reward.Cost
	Known int // number of edits that were judged in an earlier round
}

// verdictLine is a line in the journal of verdicts.
type verdictLine struct {
	Key string
	reward.Judgement
}

func (j *rlJudge) flags(f *flag.FlagSet) {
	f.StringVar(&j.work, "work", filepath.Join(os.TempDir(), "luthier-rl"), "`directory` for copies of modules and for test binaries; one run at a time")
	f.StringVar(&j.only, "only", "", "only tasks of modules whose path contains this")
	f.DurationVar(&j.longest, "longest", time.Minute, "how long the edits of one package are run in a round; 0 for no limit")
	f.IntVar(&j.jobs, "jobs", 2, "packages that are judged at a time")
}

// open finds the modules of the tasks and reads the verdicts of earlier rounds.
func (j *rlJudge) open(ctx context.Context, r *rl) (closed func(), err error) {
	j.checkouts = &harvesting{work: j.work, modules: map[string]*checkout{}}
	for _, dir := range []string{"bins", "covers", "mods"} {
		if err := os.MkdirAll(filepath.Join(j.work, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := j.locate(ctx, r); err != nil {
		return nil, err
	}
	j.known = map[string]reward.Judgement{}
	j.journal, err = verify.OpenLines(filepath.Join(r.out, "verdicts.jsonl"), func(line []byte) error {
		var v verdictLine
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		j.known[v.Key] = v.Judgement
		return nil
	})
	r.judged = j.judge
	return func() { j.journal.Close() }, err
}

// locate finds the modules' sources. Tasks of modules that are not available are left out.
func (j *rlJudge) locate(ctx context.Context, r *rl) error {
	all, err := corpus.Manifest()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, tasks := range r.tasks {
		wanted[tasks[0].Module] = true
	}
	var modules []corpus.Module
	for _, m := range all {
		if wanted[m.Path] {
			modules = append(modules, m)
		}
	}
	j.sources = map[string]corpus.Source{}
	for _, s := range download(ctx, modules) {
		j.sources[s.Path] = s
	}
	kept := r.tasks[:0]
	for _, tasks := range r.tasks {
		if _, ok := j.sources[tasks[0].Module]; ok {
			kept = append(kept, tasks)
		}
	}
	if r.tasks = kept; len(kept) == 0 {
		return fmt.Errorf("none of the tasks' modules is in the manifest")
	}
	return nil
}

// judge judges candidates from any packages.
func (j *rlJudge) judge(ctx context.Context, cs []reward.Candidate) ([]reward.Judgement, rlJudging, error) {
	out := make([]reward.Judgement, len(cs))
	var cost rlJudging
	todo := map[string][]int{}
	var order []string
	for i, c := range cs {
		if v, ok := j.known[c.Key()]; ok {
			out[i] = v
			cost.Known++
			continue
		}
		key := c.Task.Module + " " + c.Task.Pkg
		if todo[key] == nil {
			order = append(order, key)
		}
		todo[key] = append(todo[key], i)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	queue := make(chan []int)
	for range max(1, j.jobs) {
		wg.Go(func() {
			for at := range queue {
				part := make([]reward.Candidate, len(at))
				for k, i := range at {
					part[k] = cs[i]
				}
				verdicts, spent, err := j.guarded(ctx, part)
				if err != nil && ctx.Err() == nil {
					first, _, _ := strings.Cut(err.Error(), "\n")
					fmt.Fprintln(os.Stderr, first)
				}
				mu.Lock()
				cost.Add(spent)
				for k, i := range at {
					if k < len(verdicts) {
						out[i] = verdicts[k]
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, key := range order {
		queue <- todo[key]
	}
	close(queue)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, cost, err
	}
	return out, cost, j.remember(cs, out)
}

// remember records verdicts, so that an edit is tested only once in a run.
func (j *rlJudge) remember(cs []reward.Candidate, out []reward.Judgement) error {
	var lines []any
	for i, c := range cs {
		if _, ok := j.known[c.Key()]; !ok && out[i].Verdict != reward.Unknown {
			j.known[c.Key()] = out[i]
			lines = append(lines, verdictLine{c.Key(), out[i]})
		}
	}
	return j.journal.Append(lines...)
}

// guarded judges candidates of one package in a sandbox and turns panics into errors: a single
// faulty package must not end a long run.
func (j *rlJudge) guarded(ctx context.Context, cs []reward.Candidate) (out []reward.Judgement, cost reward.Cost, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("judge %s: panic: %v\n%s", cs[0].Task.Pkg, x, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if out, ok := glanceAll(cs); ok {
		return out, cost, nil
	}
	t := cs[0].Task
	c, err := j.checkouts.checkout(j.sources[t.Module])
	if err != nil {
		return nil, cost, err
	}
	covers, err := os.MkdirTemp(filepath.Join(j.work, "covers"), "")
	if err != nil {
		return nil, cost, err
	}
	defer os.RemoveAll(covers)
	bins := filepath.Join(j.work, "bins")
	sb, err := confine(ctx, c.root, bins, covers)
	if err != nil {
		return nil, cost, err
	}
	defer sb.Close()
	cfg := c.cfg
	cfg.Scratch, cfg.Covers, cfg.Exec = bins, covers, sb
	dir := filepath.Join(c.src, filepath.FromSlash(t.Pkg))
	if t.Module != corpus.Std {
		dir = filepath.Join(c.src, filepath.FromSlash(strings.TrimPrefix(t.Pkg, t.Module)))
	}
	return reward.Judge{Config: cfg, Longest: j.longest}.Package(ctx, dir, cs)
}

// glanceAll judges candidates without running tests. It reports false if one of them needs a test
// run.
func glanceAll(cs []reward.Candidate) ([]reward.Judgement, bool) {
	out := make([]reward.Judgement, len(cs))
	for i, c := range cs {
		var decided bool
		if out[i], decided = reward.Glance(c); !decided {
			return nil, false
		}
	}
	return out, true
}

// reward judges the answers of a round.
func (r *rl) reward(ctx context.Context, prompts []*prompt, sum *rlRound) error {
	var cs []reward.Candidate
	var owners []*answer
	for _, p := range prompts {
		for i := range p.answers {
			a := &p.answers[i]
			if !a.settle(p) {
				cs, owners = append(cs, a.edit), append(owners, a)
			}
		}
	}
	verdicts, cost, err := r.judged(ctx, cs)
	if err != nil {
		return err
	}
	for i, a := range owners {
		a.value(verdicts[i])
	}
	sum.Builds, sum.Runs, sum.Known = cost.Builds, cost.Runs, cost.Known
	sum.count(prompts)
	return nil
}

// settle sets the reward of an answer that needs no test run. It reports whether it did.
func (a *answer) settle(p *prompt) bool {
	a.counts = true
	switch {
	case a.text == "":
		a.judged, a.reward = reward.Judgement{Verdict: reward.Refused, Why: "it was cut off"}, rewardRefused
	case a.read > 0 && a.read == p.right && !p.buggy():
		a.reward = rewardRight
	case a.read > 0:
		// Reading another function is neither progress nor harm.
	case !p.buggy(): // an edit of a function that is already right
		a.judged, a.reward = reward.Judgement{Verdict: reward.StillFails, Why: "there is nothing wrong with the function"}, rewardRun
	default:
		return false
	}
	return true
}

// value sets the reward of an edit according to its verdict.
func (a *answer) value(j reward.Judgement) {
	a.judged = j
	switch j.Verdict {
	case reward.Fixed:
		a.reward = rewardRight
	case reward.StillFails:
		a.reward = rewardRun
	case reward.Refused:
		a.reward = rewardRefused
	default:
		a.counts = false
	}
}
