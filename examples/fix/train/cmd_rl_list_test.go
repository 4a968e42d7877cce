package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/reward"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
)

func TestChoiceOf(t *testing.T) {
	example := func(tokens []uint16, weights ...uint8) dataset.Example {
		return dataset.Example{Tokens: tokens, Weights: weights}
	}
	for name, c := range map[string]struct {
		answers []dataset.Example
		want    train.Sequence
	}{
		"other first tokens": {[]dataset.Example{example([]uint16{7, 8, 9, 1, 2}, 0, 20, 5, 100, 20), example([]uint16{7, 8, 9, 3}, 0, 20, 5, 100)},
			train.Sequence{Tokens: []int32{7, 8, 9, 1, 2, 9, 3}, Weights: []float32{0, 0.2, 0, 1, 0.2, 0, 1}, Answers: []int32{2, 5}}},
		"a digit in common": {[]dataset.Example{example([]uint16{7, 8, 1, 2}, 0, 5, 100, 100), example([]uint16{7, 8, 1, 3}, 0, 5, 100, 100)},
			train.Sequence{Tokens: []int32{7, 8, 1, 2, 8, 1, 3}, Weights: []float32{0, 0, 1, 1, 0, 1, 1}, Answers: []int32{1, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, choiceOf(c.answers)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestTails checks that of the wrong answers to a prompt, the model learns only from those that
// change the line in one place, and only from the tokens after that place.
func TestTails(t *testing.T) {
	r := openRL(t, microRL(t, "-method", "tail"))
	task := smallTask(t, "Sum", "total += n", "total -= n")
	p := &prompt{task: task, shown: 1, right: 1, others: 1, function: strings.Split(task.Function.Text, "\n")}
	p.state = repair.State{Report: "FAIL TestSum", Function: task.Function.Text}
	edit := func(line int, text string, worth float64) answer {
		return answer{text: repair.AnswerEdit(line, text), edit: reward.Candidate{Task: task, Line: line, Text: text}, reward: worth, counts: true}
	}
	p.answers = []answer{
		edit(task.Line, "total += n", rewardRight),
		edit(task.Line, "total *= n", rewardRun),
		edit(task.Line, "total *= m", rewardRefused), // changes two places
		edit(task.Line, "total -= n", rewardRefused), // changes nothing
		edit(1000, "total *= n", rewardRefused),      // there is no such line
		{text: repair.AnswerRead(1), read: 1, counts: true},
		edit(5, "return total, fmt.Sprint(label, total, label)", rewardRun),
	}
	got, err := r.listOf(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !got[0].Apart || len(got[0].Answers) != 3 {
		t.Fatalf("%+v, want one sequence of three answers that stand apart", got)
	}
	var learnt [3]string
	for i, id := range got[0].Tokens {
		of := 0
		for of < 2 && i >= int(got[0].Answers[of+1]) {
			of++
		}
		switch w := got[0].Weights[i]; {
		case w == 1 && of == 0, w == 0.5 && of > 0:
			learnt[of] = string(r.tok.AppendPiece([]byte(learnt[of]), id))
		case w > 0.2 || of > 0 && w > 0.1:
			t.Errorf("token %d of answer %d counts %v", i, of+1, w)
		}
	}
	const end = "\n</parameter>"
	if want := "total += n" + end; !strings.HasSuffix(learnt[0], want) {
		t.Errorf("of the right answer %q is learnt, want it to end with %q", learnt[0], want)
	}
	for i, whole := range []string{"*= n" + end, ", label)" + end} {
		rest := whole[strings.IndexByte(whole, ' '):]
		if got := learnt[i+1]; !strings.HasSuffix(whole, got) || !strings.HasSuffix(got, rest[strings.LastIndexByte(rest, ' '):]) || got == whole {
			t.Errorf("behind the departure %q is learnt, want an end of %q", got, whole)
		}
	}
}

func TestOnePlace(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    bool
	}{
		{"a := b + c", "a := b - c", true},
		{"a := b + c", "a  :=  b+c", false}, // only spaces
		{"f(a, b)", "f(b, a)", false},
		{"f(a, b)", "f(a, b, c)", true},
		{"f(a, b)", "f(a)", true},
		{"return", "return a, b, c, d", false}, // more than a few
		{"if a {", "if !a {", true},
		{"if a && b {", "if a {", true},
		{"x++", "x--", true},
		{"", "x++", true},
		{"s := \"a\"", "s := \"b", true}, // an invalid token also counts as one token
	} {
		if got := onePlace(c.was, c.is); got != c.want {
			t.Errorf("%q to %q: %v, want %v", c.was, c.is, got, c.want)
		}
	}
}
