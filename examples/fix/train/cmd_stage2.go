package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// stage2 converts verified tasks to the decisions of whole repairs.
type stage2 struct {
	tok     *tokenizer.Tokenizer
	w       *dataset.Writer
	context int
	both    bool

	tasks, long, outside, unseen int
	kinds                        map[uint8]int
	tokens                       int
}

// The probabilities with which decisions that are the same in every repair are written. They are
// learned quickly, but their prompts cost as much as others.
const (
	oftenRun      = 0.05 // run the tests first
	oftenReadOne  = 0.2  // read the only function of the report
	oftenRunAgain = 0.06 // run the tests after an edit
	oftenDone     = 0.06 // end when they pass
	cleanFirst    = 0.5  // share of the repairs in a whole package in which functions without a fault are read first
)

func runStage2(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stage2", flag.ContinueOnError)
	in := flags.String("in", "tasks.jsonl", "files of tasks, separated by commas; a task that is in several is taken once")
	out := flags.String("out", "stage2.tok", "file of examples to write")
	vocab := flags.String("vocab", "vocab.json", "vocabulary")
	seed := flags.Uint64("seed", 1, "of the choices")
	s := &stage2{kinds: map[uint8]int{}}
	flags.BoolVar(&s.both, "both", false, "write every repair twice: of the one function, and among the package's functions")
	flags.IntVar(&s.context, "context", 1024, "longest example in tokens; longer ones are left out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, err := bpe.Load(*vocab)
	if err != nil {
		return err
	}
	if s.tok, err = v.Tokenizer(); err != nil {
		return err
	}
	if s.w, err = dataset.Create(*out, s.tok.Size()); err != nil {
		return err
	}
	defer s.w.Abort()
	seen := map[string]bool{}
	each := func(t *verify.Task) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[t.ID] || t.Ended == "timeout" { // tasks whose tests hang are not used, because running them takes too long
			return nil
		}
		seen[t.ID] = true
		h := fnv.New64a()
		h.Write([]byte(t.ID))
		s.task(t, rand.New(rand.NewPCG(*seed, h.Sum64())))
		return nil
	}
	for _, path := range strings.Split(*in, ",") {
		if err := verify.ReadTasks(path, each); err != nil {
			return err
		}
	}
	if err := s.w.Close(); err != nil {
		return err
	}
	summary, _ := json.Marshal(s.kinds)
	fmt.Fprintf(os.Stderr, "%d tasks: %d examples, %d tokens, by kind %s; %d longer than %d tokens left out; %d faults not among the candidates, %d on lines left out\n",
		s.tasks, s.w.Count(), s.tokens, summary, s.long, s.context, s.outside, s.unseen)
	return nil
}

// task writes the decisions of one repair. In half of the repairs the function is known; in the
// others, it is chosen from the package's functions.
func (s *stage2) task(t *verify.Task, rng *rand.Rand) {
	s.tasks++
	if t.Buggy < 0 {
		s.outside++
	}
	choice := t.Buggy >= 0 && len(t.Ranking) > 1
	whole := choice && (s.both || rng.IntN(2) == 0)
	s.repair(t, whole, rng)
	if whole && s.both {
		s.repair(t, false, rng)
	}
}

// repair writes the decisions of one repair. If whole is true, the function is chosen from those of
// the package.
func (s *stage2) repair(t *verify.Task, whole bool, rng *rand.Rand) {
	names, number := []string{t.Function.Name}, 1
	if whole {
		number = t.Buggy + 1
		names = nil
		for _, r := range t.Ranking {
			names = append(names, r.Name)
		}
	}
	report := t.Report(names)
	if rng.Float64() < oftenRun {
		s.put(repair.State{}, repair.AnswerRun())
	}
	if whole || rng.Float64() < oftenReadOne {
		s.put(repair.State{Report: report}, repair.AnswerRead(number))
	}
	if whole && rng.Float64() < cleanFirst {
		for _, i := range cleanOnes(t, rng) {
			s.put(repair.State{Report: report, Function: t.Ranking[i].ReadBeside(report, i+1, s.tok.Count)}, repair.AnswerRead(number))
		}
	}
	shown, ok := t.Shown().ReadLine(t.Line, report, number, s.tok.Count)
	if !ok { // the right answer cannot be determined
		s.unseen++
		return
	}
	s.put(repair.State{Report: report, Function: shown}, repair.AnswerEdit(t.Line, t.Original))
	if rng.Float64() < oftenRunAgain {
		s.put(repair.State{Report: report, Function: shown, Edited: true}, repair.AnswerRun())
	}
	if rng.Float64() < oftenDone {
		s.put(repair.State{Report: report, Function: shown, OK: true}, repair.AnswerDone())
	}
}

// cleanOnes draws one or two candidates without the fault. Those ranked before the faulty one come
// first, because they are likely to be read by mistake.
func cleanOnes(t *verify.Task, rng *rand.Rand) []int {
	var order []int
	for i := range t.Ranking {
		if i != t.Buggy {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case a < t.Buggy && b > t.Buggy:
			return -1
		case b < t.Buggy && a > t.Buggy:
			return 1
		}
		return 0
	})
	near := order[:min(len(order), max(2, t.Buggy))]
	rng.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	return near[:min(len(near), 1+rng.IntN(2))]
}

// put writes one decision.
func (s *stage2) put(state repair.State, answer string) {
	e, err := dataset.Encode(s.tok, state.Prompt(), answer, 0)
	if err != nil || len(e.Tokens) > s.context {
		s.long++
		return
	}
	if err := s.w.Write(e); err != nil {
		s.long++
		return
	}
	s.kinds[e.Kind]++
	s.tokens += len(e.Tokens)
}
