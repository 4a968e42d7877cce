package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
	"github.com/luthier-dev/luthier/internal/atomicfile"
)

// rlRound holds the results of a round: a line of rl.jsonl.
type rlRound struct {
	Round   int
	Method  string
	Prompts int
	Answers int // number of judged answers
	Unknown int // number of answers that could not be judged

	Reward   float64 // mean reward
	Right    float64 // share of the answers with the full reward
	Solved   float64 // share of the prompts with at least one answer with the full reward
	Fixed    float64 // share of the edits of the right function that repair it
	Refused  float64 // share of the edits of the right function that are refused
	Distinct int     // number of distinct answers, summed over the prompts
	Runs     int     // number of test runs
	Known    int     // edits that were judged in an earlier round
	Builds   int     // number of test binaries built

	Lessons, Steps, Skipped, Tokens int
	Loss, GradNorm                  float64 // of the last step
	Load, Overflow                  float64 // largest values of any step: the busiest expert's tokens divided by the mean; share of tokens beyond the capacity

	Sample, Judge, Learn float64 // seconds
	Seconds              float64 // of all rounds so far
}

// count adds up the answers.
func (s *rlRound) count(prompts []*prompt) {
	s.Prompts = len(prompts)
	edits, fixed, refused, right, solved := 0, 0, 0, 0, 0
	for _, p := range prompts {
		texts, any := map[string]bool{}, false
		for _, a := range p.answers {
			texts[a.text] = true
			if !a.counts {
				s.Unknown++
				continue
			}
			s.Answers++
			s.Reward += a.reward
			if a.reward == rewardRight {
				right++
				any = true
			}
			if a.read == 0 && p.buggy() {
				edits++
				fixed += is(a.judged.Verdict == reward.Fixed)
				refused += is(a.judged.Verdict == reward.Refused)
			}
		}
		s.Distinct += len(texts)
		solved += is(any)
	}
	s.Reward /= float64(max(1, s.Answers))
	s.Right, s.Solved = part(right, s.Answers), part(solved, s.Prompts)
	s.Fixed, s.Refused = part(fixed, edits), part(refused, edits)
}

func is(b bool) int {
	if b {
		return 1
	}
	return 0
}

func part(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// step adds the results of a training step.
func (s *rlRound) step(x train.Stats) {
	s.Steps++
	s.Tokens += x.Tokens
	s.Skipped += is(x.Skipped)
	s.Loss, s.GradNorm = x.Loss, x.GradNorm
	s.Load, s.Overflow = max(s.Load, x.MaxLoad()), max(s.Overflow, x.Overflow)
}

// line formats a round for people.
func (s *rlRound) line() string {
	return fmt.Sprintf("round %d (%s): reward %.3f, right %.1f%% of %d answers (%d unknown), %.1f%% of %d prompts solved; edits fixed %.1f%%, refused %.1f%%; "+
		"%d distinct, %d test runs, %d known, %d builds; learned %d in %d steps, load %.2f, over %.1f%%; sample %.0fs judge %.0fs learn %.0fs",
		s.Round, s.Method, s.Reward, 100*s.Right, s.Answers, s.Unknown, 100*s.Solved, s.Prompts, 100*s.Fixed, 100*s.Refused,
		s.Distinct, s.Runs, s.Known, s.Builds, s.Lessons, s.Steps, s.Load, 100*s.Overflow, s.Sample, s.Judge, s.Learn)
}

// writeRounds replaces rl.jsonl and reward.html. It first writes new files next to the old ones, so
// that readers see only complete files.
func writeRounds(dir string, rounds []rlRound) error {
	var lines, page bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, r := range rounds {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if err := rewardTemplate.Execute(&page, drawRewards(rounds)); err != nil {
		return err
	}
	return errors.Join(
		atomicfile.WriteBytes(filepath.Join(dir, "rl.jsonl"), atomicfile.Options{Perm: 0o644}, lines.Bytes()),
		atomicfile.WriteBytes(filepath.Join(dir, "reward.html"), atomicfile.Options{Perm: 0o644}, page.Bytes()))
}

// rewardTemplate plots the rounds on a scale from 0 to 1, and prints their numbers.
var rewardTemplate = template.Must(template.New("reward").Parse(`<!doctype html>
<meta charset="utf-8"><title>Rewards</title>
<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:right}</style>
<svg viewBox="0 0 800 330" width="800" role="img" aria-label="rewards over rounds">
{{range .Ticks}}<path d="M50 {{.At}}H780" stroke="#ddd"/><text x="44" y="{{.At}}" text-anchor="end" dominant-baseline="middle" font-size="12">{{.Label}}</text>{{end}}
{{range .Lines}}<path d="{{.Path}}" fill="none" stroke="{{.Colour}}" stroke-width="2"/><text x="{{.X}}" y="324" fill="{{.Colour}}" font-size="13">{{.Name}}</text>{{end}}
</svg>
<table><tr><th>round<th>method<th>reward<th>right<th>solved<th>fixed<th>refused<th>test runs<th>load<th>overflow</tr>
{{range .Rounds}}<tr><td>{{.Round}}<td>{{.Method}}<td>{{printf "%.3f" .Reward}}<td>{{printf "%.3f" .Right}}<td>{{printf "%.3f" .Solved}}<td>{{printf "%.3f" .Fixed}}<td>{{printf "%.3f" .Refused}}<td>{{.Runs}}<td>{{printf "%.2f" .Load}}<td>{{printf "%.3f" .Overflow}}</tr>
{{end}}</table>
`))

// drawRewards returns the curves for rewardTemplate.
func drawRewards(rounds []rlRound) map[string]any {
	type tick struct{ At, Label string }
	type curve struct {
		Name, Path, Colour string
		X                  int
	}
	y := func(v float64) float64 { return 290 - 270*min(1, max(-0.1, v)) }
	var ticks []tick
	for i := range 6 {
		ticks = append(ticks, tick{fmt.Sprintf("%.0f", y(float64(i)/5)), fmt.Sprintf("%.1f", float64(i)/5)})
	}
	curves := []curve{{Name: "mean reward", Colour: "#0b62a4"}, {Name: "edits that mend", Colour: "#2a9134"},
		{Name: "prompts solved", Colour: "#c47f00"}, {Name: "edits refused", Colour: "#d1495b"}}
	for c := range curves {
		var path strings.Builder
		for i, r := range rounds {
			value := []float64{r.Reward, r.Fixed, r.Solved, r.Refused}[c]
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], 60+float64(i)*710/float64(max(1, len(rounds)-1)), y(value))
		}
		curves[c].Path, curves[c].X = path.String(), 60+170*c
	}
	return map[string]any{"Ticks": ticks, "Lines": curves, "Rounds": rounds}
}

// trajectory is an answer in the form of an agent's messages, with its reward: a line of the
// -trajectories file.
type trajectory struct {
	ID       string // identifies the line: round, prompt and answer
	Round    int
	Task     string
	Module   string
	Scope    string
	Messages []agent.Message
	Tools    []rlTool
	Reward   float64
	Verdict  reward.Verdict
	Why      string `json:",omitempty"`
	Right    string // the answer that reverts the fault
}

// rlTool is a tool as offered to the model.
type rlTool struct {
	Name   string
	Schema json.RawMessage
}

// openRollouts opens the file of trajectories.
func (r *rl) openRollouts() (err error) {
	if r.trajectories == "" {
		return nil
	}
	r.seen = map[string]bool{}
	r.rollouts, err = verify.OpenLines(r.trajectories, func(line []byte) error {
		var t struct{ ID string }
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		r.seen[t.ID] = true
		return nil
	})
	return err
}

// keep writes the trajectories of a round. If a round is repeated after a crash, its trajectories
// are already there.
func (r *rl) keep(n int, prompts []*prompt) error {
	if r.rollouts == nil {
		return nil
	}
	var lines []any
	for i, p := range prompts {
		req := p.request()
		var tools []rlTool
		for _, spec := range req.Tools {
			tools = append(tools, rlTool{spec.Name, spec.Schema})
		}
		for j := range p.answers {
			a := &p.answers[j]
			id := fmt.Sprintf("%s seed %d round %d prompt %d answer %d", r.method, r.seed, n, i, j)
			if !a.counts || r.seen[id] {
				continue
			}
			lines = append(lines, trajectory{ID: id, Round: n, Task: p.task.ID, Module: p.task.Module, Scope: p.scope, Tools: tools,
				Messages: append(req.Messages[:len(req.Messages):len(req.Messages)], a.messages(p)...),
				Reward:   a.reward, Verdict: a.judged.Verdict, Why: a.judged.Why, Right: p.rightAnswer()})
		}
	}
	return r.rollouts.Append(lines...)
}

// messages returns the answer's messages and, for an edit, the results of the tools.
func (a *answer) messages(p *prompt) []agent.Message {
	out := []agent.Message{a.message}
	calls := a.message.Calls()
	if a.text == "" || a.read > 0 || len(calls) != 1 {
		return out
	}
	if a.judged.Verdict == reward.Refused {
		return append(out, resultMessage(calls[0].ID, repair.ResultRefused(a.judged.Why)))
	}
	out = append(out, resultMessage(calls[0].ID, repair.ResultEdited(a.edit.Line)))
	id := calls[0].ID + "run"
	result := repair.ResultFailing
	if a.judged.Verdict == reward.Fixed {
		result = repair.ResultOK
	}
	return append(out, callMessage(id, repair.ToolRun, `{}`), resultMessage(id, result))
}

// rightAnswer returns the answer used in supervised learning.
func (p *prompt) rightAnswer() string {
	if p.buggy() {
		return repair.AnswerEdit(p.task.Line, p.task.Original)
	}
	return repair.AnswerRead(p.right)
}
