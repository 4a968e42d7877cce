package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// rl trains on the model's own answers: in each round the model answers prompts several times,
// tests judge the answers, and the weights change so that good answers become likelier.
type rl struct {
	init, vocabFile, tasksFile, out, data, trajectories string
	resume                                              bool
	rounds                                              int
	minutes                                             float64
	method                                              string
	seed                                                uint64
	ask                                                 rlAsk
	teach                                               rlTeach
	judge                                               rlJudge
	config                                              train.Config

	vocab    *bpe.Vocab
	tok      *tokenizer.Tokenizer
	tasks    [][]*verify.Task // by package
	mixed    []train.Mixed
	trainer  *train.Trainer
	progress rlProgress
	rollouts *verify.Lines
	seen     map[string]bool // trajectories that are already in the file
	say      func(format string, args ...any)
	judged   func(ctx context.Context, cs []reward.Candidate) ([]reward.Judgement, rlJudging, error)
}

// The training methods.
const (
	methodReject = "reject"
	methodGRPO   = "grpo"
	methodList   = "list"
	methodTail   = "tail"
)

var methods = [...]string{methodReject, methodGRPO, methodList, methodTail}

// rlProgress is the part of a checkpoint about the rounds.
type rlProgress struct {
	Rounds  []rlRound
	Seconds float64
}

func runRL(ctx context.Context, args []string) error {
	r := &rl{say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	switch err := r.parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	defer r.close()
	done, err := r.judge.open(ctx, r)
	if err != nil {
		return err
	}
	defer done()
	return r.run(ctx)
}

func (r *rl) parse(args []string) error {
	f := flag.NewFlagSet("rl", flag.ContinueOnError)
	f.StringVar(&r.init, "init", "", "`checkpoint` to start from")
	f.StringVar(&r.vocabFile, "vocab", "vocab.json", "`vocabulary` of its tokens")
	f.StringVar(&r.tasksFile, "tasks", "tasks.jsonl", "`files` of tasks, separated by commas")
	f.StringVar(&r.out, "out", "", "`directory` of the checkpoint, rl.jsonl and the curve of rewards")
	f.BoolVar(&r.resume, "resume", false, "go on with the checkpoint in -out")
	f.StringVar(&r.data, "data", "", "dataset files mixed in, so that the model does not drift, `file:share,...`")
	f.StringVar(&r.trajectories, "trajectories", "", "`file` to which the answers are appended with their rewards")
	f.IntVar(&r.rounds, "rounds", 3, "rounds in all")
	f.Float64Var(&r.minutes, "minutes", 0, "begin no round after so many `minutes` in all; 0 for no limit")
	f.StringVar(&r.method, "method", methodReject, "how to learn: reject (from answers that are right), grpo (from better and worse answers), list (to choose the right answer among the likeliest ones) or tail (to leave the rest of a line as it was where one of those departs from it)")
	f.Uint64Var(&r.seed, "seed", 1, "of all choices")
	r.ask.flags(f)
	r.teach.flags(f)
	r.judge.flags(f)
	f.Float64Var(&r.config.Rate, "lr", 0.0003, "learning rate of matrices")
	f.Float64Var(&r.config.AdamRate, "adam-lr", 0, "learning rate of embedding, norms and routers; 0 for one and a half times -lr")
	f.Float64Var(&r.config.WeightDecay, "decay-weights", -1, "weight decay; negative for none")
	f.IntVar(&r.config.Workers, "workers", 0, "goroutines that compute; 0 for one for each processor")
	if err := f.Parse(args); err != nil {
		return err
	}
	if r.config.Workers == 0 {
		r.config.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected %q behind the flags", f.Arg(0))
	case r.out == "" || r.init == "" && !r.resume:
		return errors.New("-out and -init are needed; see -help")
	case !slices.Contains(methods[:], r.method):
		return fmt.Errorf("method %q; there are %s", r.method, strings.Join(methods[:], ", "))
	case r.ask.group < 2 || r.ask.prompts < 1 || r.ask.each < 1 || r.ask.slots < 1:
		return errors.New("-group must be 2 or more, -prompts, -per-package and -slots 1 or more")
	case r.teach.share < 0 || r.teach.share >= 1:
		return errors.New("-share must be at least 0 and less than 1")
	}
	return nil
}

// open reads everything that a run needs and creates its directory.
func (r *rl) open() (err error) {
	if r.vocab, err = bpe.Load(r.vocabFile); err != nil {
		return err
	}
	if r.tok, err = r.vocab.Tokenizer(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(r.out, train.CheckpointFile)
	_, missing := os.Stat(path)
	switch {
	case r.resume && missing == nil:
		r.trainer, err = train.LoadTrainer(path, r.config, &r.progress)
	case missing == nil:
		return fmt.Errorf("there is a checkpoint in %s; give -resume to go on with it, or another directory", r.out)
	case r.init == "":
		return fmt.Errorf("there is no checkpoint in %s to go on with", r.out)
	default:
		var m *train.Model
		if m, err = train.LoadModel(r.init); err == nil {
			r.trainer, err = train.NewTrainer(m, r.config)
		}
	}
	if err != nil {
		return err
	}
	size := r.trainer.Model().Shape().Vocab
	if r.tok.Size() != size {
		return fmt.Errorf("%s has %d tokens, the model %d: it was not trained with this vocabulary", r.vocabFile, r.tok.Size(), size)
	}
	if r.data != "" {
		if r.mixed, _, err = train.OpenData(r.data, size); err != nil {
			return err
		}
	}
	if r.tasks, err = readPackages(r.tasksFile, r.judge.only); err != nil {
		return err
	}
	return r.openRollouts()
}

func (r *rl) close() {
	if r.trainer != nil {
		r.trainer.Close()
	}
	if r.rollouts != nil {
		r.rollouts.Close()
	}
}

// run runs the remaining rounds.
func (r *rl) run(ctx context.Context) error {
	for len(r.progress.Rounds) < r.rounds {
		if r.minutes > 0 && r.progress.Seconds >= 60*r.minutes {
			r.say("the time is up after %d rounds", len(r.progress.Rounds))
			break
		}
		if err := r.round(ctx, len(r.progress.Rounds)+1); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("stopped in round %d; -resume goes on from the end of the one before", len(r.progress.Rounds)+1)
			}
			return err
		}
	}
	return nil
}

// round samples, judges, trains and records the results. Every choice in a round depends only on
// the seed and the round's number.
func (r *rl) round(ctx context.Context, n int) error {
	begin := time.Now()
	rng := rand.New(rand.NewPCG(r.seed, uint64(n)))
	sum := rlRound{Round: n, Method: r.method}
	prompts, err := r.sample(ctx, n, rng)
	if err != nil {
		return err
	}
	sum.Sample = time.Since(begin).Seconds()
	if err := r.reward(ctx, prompts, &sum); err != nil {
		return err
	}
	sum.Judge = time.Since(begin).Seconds() - sum.Sample
	if err := r.keep(n, prompts); err != nil {
		return err
	}
	if err := r.learn(rng, prompts, &sum); err != nil {
		return err
	}
	sum.Learn = time.Since(begin).Seconds() - sum.Sample - sum.Judge
	r.progress.Seconds += time.Since(begin).Seconds()
	sum.Seconds = r.progress.Seconds
	r.progress.Rounds = append(r.progress.Rounds, sum)
	if err := r.trainer.Save(filepath.Join(r.out, train.CheckpointFile), &r.progress); err != nil {
		return err
	}
	r.say("%s", sum.line())
	return writeRounds(r.out, r.progress.Rounds)
}
