package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

const smallModule = "../internal/verify/testdata/small"

// microRL writes a vocabulary, an untrained micro model and two tasks, and returns the flags of a
// run that uses them.
func microRL(t *testing.T, more ...string) []string {
	t.Helper()
	dir := t.TempDir()
	src, err := os.ReadFile(filepath.Join(smallModule, "small.go"))
	if err != nil {
		t.Fatal(err)
	}
	vocab, err := bpe.Train(slices.Values([]string{string(src)}), 480, vocabSpecial(), vocabWords()...)
	if err != nil {
		t.Fatal(err)
	}
	shape := train.Micro(len(vocab.Tokens))
	shape.Context = 1024
	model, err := train.New(shape, 1)
	if err == nil {
		err = model.Save(filepath.Join(dir, "init.gguf"))
	}
	if err == nil {
		err = vocab.Save(filepath.Join(dir, "vocab.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, err := verify.OpenLines(filepath.Join(dir, "tasks.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	if err := lines.Append(smallTask(t, "Sum", "total += n", "total -= n"), smallTask(t, "Factorial", "n * Factorial", "n + Factorial")); err != nil {
		t.Fatal(err)
	}
	return append([]string{"-init", filepath.Join(dir, "init.gguf"), "-vocab", filepath.Join(dir, "vocab.json"), "-tasks", filepath.Join(dir, "tasks.jsonl"),
		"-out", filepath.Join(dir, "out"), "-trajectories", filepath.Join(dir, "trajectories.jsonl"), "-workers", "1"}, more...)
}

// smallTask breaks a function of the small module; the other functions are candidates, too.
func smallTask(t *testing.T, function, old, text string) *verify.Task {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(smallModule, "small.go"))
	if err != nil {
		t.Fatal(err)
	}
	fns, err := repair.Functions("small.go", src)
	if err != nil {
		t.Fatal(err)
	}
	task := &verify.Task{ID: function, Module: "example.com/small", Pkg: "example.com/small", File: "small.go", Failed: []string{"Test" + function}}
	for i, f := range fns[:4] {
		if f.Name == function {
			broken := strings.Replace(f.Text, old, text, 1)
			task.Line = 1 + strings.Count(f.Text[:strings.Index(f.Text, old)], "\n")
			task.Original = strings.TrimSpace(strings.Split(f.Text, "\n")[task.Line-1])
			f.Text, task.Buggy = broken, i
			task.Function = f
		}
		task.Ranking = append(task.Ranking, repair.Ranked{Function: f})
	}
	return task
}

func openRL(t *testing.T, args []string) *rl {
	t.Helper()
	r := &rl{say: t.Logf}
	if err := r.parse(args); err != nil {
		t.Fatal(err)
	}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

// TestRLRewardRises: an untrained model must choose one of four functions, and learns the right one
// from nothing but the rewards of its choices.
//
// Evidence: training · The model learns from its own answers
func TestRLRewardRises(t *testing.T) {
	for _, method := range []string{methodGRPO, methodReject, methodList} {
		t.Run(method, func(t *testing.T) {
			r := openRL(t, microRL(t, "-method", method, "-lr", "0.01", "-group", "8"))
			task := r.tasks[0][0]
			mean := func(seed uint64, learn bool) float64 {
				m, err := r.engine()
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				var prompts []*prompt
				var sum rlRound
				for i := range uint64(3) {
					p := &prompt{task: task, scope: "package", right: 3, others: 4, state: repair.State{Report: "FAIL TestSum\n1 a\n2 b\n3 c\n4 d"}}
					if err := r.answers(context.Background(), m, p, seed+i); err != nil {
						t.Fatal(err)
					}
					for j := range p.answers {
						if !p.answers[j].settle(p) {
							t.Fatal("the answer does not read a function")
						}
					}
					prompts = append(prompts, p)
				}
				if learn {
					if err := r.learn(rand.New(rand.NewPCG(1, seed)), prompts, &sum); err != nil {
						t.Fatal(err)
					}
				}
				if method == methodList { // this method lists all possible answers, so check their order
					for _, p := range prompts {
						p.answers = p.answers[:1]
					}
				}
				sum.count(prompts)
				return sum.Reward
			}
			before := mean(1, true)
			for seed := range uint64(12) {
				mean(100*seed, true)
			}
			after := mean(7, false)
			t.Logf("mean reward %.2f before, %.2f after", before, after)
			if before > 0.6 || after < 0.8 {
				t.Errorf("mean reward %.2f before and %.2f after 12 rounds; want less than 0.6 and more than 0.8", before, after)
			}
		})
	}
}

// TestRLRounds runs whole rounds with real tests as the judge, and then continues the run.
//
// Evidence: training · The model learns from its own answers
func TestRLRounds(t *testing.T) {
	args := microRL(t, "-method", "grpo", "-group", "2", "-prompts", "3", "-per-package", "3", "-rounds", "1", "-slots", "4", "-package", "0.8")
	judged := smallJudge(t)
	r := openRL(t, args)
	r.judged = judged
	if err := r.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.close()
	if err := new(rl).parseAndOpen(args); err == nil || !strings.Contains(err.Error(), "-resume") {
		t.Errorf("a run over another: %v, want an error that names -resume", err)
	}
	r = openRL(t, append(args, "-resume", "-rounds", "2"))
	r.judged = judged
	if err := r.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.out, "rl.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var rounds []int
	for line := range strings.Lines(string(data)) {
		var x rlRound
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, x.Round)
		if x.Answers+x.Unknown != 4 || x.Prompts != 2 { // there are two tasks
			t.Errorf("round %d: %d answers to %d prompts, want 4 to 2", x.Round, x.Answers+x.Unknown, x.Prompts)
		}
	}
	if d := cmp.Diff([]int{1, 2}, rounds); d != "" {
		t.Errorf("rounds (-want +got):\n%s", d)
	}
	checkTrajectories(t, r.trajectories)
	for _, name := range []string{"reward.html", train.CheckpointFile} {
		if _, err := os.Stat(filepath.Join(r.out, name)); err != nil {
			t.Error(err)
		}
	}
}

// smallJudge judges with the real tests of the small module.
func smallJudge(t *testing.T) func(ctx context.Context, cs []reward.Candidate) ([]reward.Judgement, rlJudging, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(smallModule)); err != nil {
		t.Fatal(err)
	}
	judge := reward.Judge{Config: verify.Config{Scratch: t.TempDir(), Exec: verify.Plain{Env: os.Environ()}}}
	return func(ctx context.Context, cs []reward.Candidate) ([]reward.Judgement, rlJudging, error) {
		out, cost, err := judge.Package(ctx, dir, cs)
		return out, rlJudging{Cost: cost}, err
	}
}

// TestRLReward checks the rewards of answers, with real test runs where they are needed.
//
// Evidence: training · Answers are judged by the packages' own tests
func TestRLReward(t *testing.T) {
	sum := smallTask(t, "Sum", "total += n", "total -= n")
	edit := func(line int, text string) answer {
		return answer{text: repair.AnswerEdit(line, text), edit: reward.Candidate{Task: sum, Line: line, Text: text}}
	}
	read := func(n int) answer { return answer{text: repair.AnswerRead(n), read: n} }
	shown := &prompt{task: sum, shown: 1, right: 1, others: 4, answers: []answer{
		edit(3, "total += n"), edit(3, "total = n + total"), edit(3, "total += 2*n"), edit(3, "total -= n"), edit(3, "total += m"), {}, read(2)}}
	clean := &prompt{task: sum, shown: 2, right: 1, others: 4, answers: []answer{read(1), read(3), edit(3, "total += n")}}
	r := &rl{judged: smallJudge(t)}
	var round rlRound
	if err := r.reward(context.Background(), []*prompt{shown, clean}, &round); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, a := range append(shown.answers, clean.answers...) {
		got = append(got, a.reward)
	}
	want := []float64{rewardRight, rewardRight, rewardRun, rewardRefused, rewardRefused, rewardRefused, 0, rewardRight, 0, rewardRun}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rewards (-want +got):\n%s", d)
	}
	if round.Builds != 1 || round.Runs != 3 || round.Answers != 10 || round.Unknown != 0 {
		t.Errorf("%+v, want 1 build, 3 runs (the fault and two edits) and 10 answers", round)
	}
}

func (r *rl) parseAndOpen(args []string) error {
	if err := r.parse(args); err != nil {
		return err
	}
	defer r.close()
	return r.open()
}

func checkTrajectories(t *testing.T, path string) {
	t.Helper()
	n, ids := 0, map[string]bool{}
	lines, err := verify.OpenLines(path, func(line []byte) error {
		var x trajectory
		if err := json.Unmarshal(line, &x); err != nil {
			return err
		}
		n++
		ids[x.ID] = true
		if len(x.Messages) < 4 || x.Messages[0].Role != agent.RoleUser || x.Right == "" {
			t.Errorf("trajectory %s: %d messages", x.ID, len(x.Messages))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines.Close()
	if n == 0 || len(ids) != n {
		t.Errorf("%d trajectories with %d names", n, len(ids))
	}
}

func TestGains(t *testing.T) {
	answers := []answer{{reward: 1, counts: true}, {reward: -0.05, counts: true}, {reward: 1}, {reward: -0.1, counts: true}, {reward: -0.05, counts: true}}
	if d := cmp.Diff([]float64{1, 0, 0, 0, 0}, rarity(answers)); d != "" {
		t.Errorf("rarity (-want +got):\n%s", d)
	}
	near := cmpopts.EquateApprox(0, 0.001)
	if d := cmp.Diff([]float64{1.731, -0.547, 0, -0.655 + 0.017, -0.547}, advantages(answers), cmpopts.EquateApprox(0, 0.02)); d != "" {
		t.Errorf("advantages (-want +got):\n%s", d)
	}
	sum := 0.0
	for _, g := range advantages(answers) {
		sum += g
	}
	if !cmp.Equal(0.0, sum, near) {
		t.Errorf("advantages add up to %v, want 0", sum)
	}
	same := []answer{{reward: 1, counts: true}, {reward: 1, counts: true}, {reward: 0}}
	if d := cmp.Diff([]float64{0, 0, 0}, advantages(same)); d != "" {
		t.Errorf("a group that agrees (-want +got):\n%s", d)
	}
}

// TestSampled checks that if the tokens of an answer are split differently, the tokens of its
// decisions still have the weights.
func TestSampled(t *testing.T) {
	r := openRL(t, microRL(t))
	state := repair.State{Report: "FAIL TestSum\n1 Sum", Function: "func 1 a.go\n1\tx"}
	e, err := dataset.Encode(r.tok, state.Prompt(), repair.AnswerEdit(1, "total += n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	begin := slices.IndexFunc(e.Weights, func(w uint8) bool { return w > 0 })
	var tokens []int32
	for _, id := range e.Tokens[begin:] {
		tokens = append(tokens, int32(id))
	}
	decided := func(s train.Sequence) string {
		var text []byte
		for i, id := range s.Tokens {
			if s.Weights[i] == -2 {
				text = r.tok.AppendPiece(text, id)
			} else if s.Weights[i] != 0 {
				t.Errorf("token %d counts %v", i, s.Weights[i])
			}
		}
		return string(text)
	}
	want := "edit_line" + "1" + "total += n" + "\n</parameter>"
	if got := decided(sampled(r.tok, e, tokens, -2)); got != want {
		t.Errorf("decisions %q, want %q", got, want)
	}
	at := slices.IndexFunc(tokens, func(id int32) bool {
		return len(r.tok.AppendPiece(nil, id)) > 1 && r.tok.AppendPiece(nil, id)[0] == 't'
	})
	var split []int32
	for _, c := range r.tok.AppendPiece(nil, tokens[at]) {
		split = append(split, r.tok.Encode(string(c), false)...)
	}
	tokens = slices.Replace(tokens, at, at+1, split...)
	if got := decided(sampled(r.tok, e, tokens, -2)); got != want {
		t.Errorf("decisions of other tokens %q, want %q", got, want)
	}
}
