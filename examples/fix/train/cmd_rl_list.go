package main

import (
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
)

// listOf makes one sequence from the right answer and the wrong ones that were found.
func (r *rl) listOf(p *prompt) ([]train.Sequence, error) {
	right, err := dataset.Encode(r.tok, p.state.Prompt(), p.rightAnswer(), 0)
	room := r.trainer.Model().Shape().Context
	if err != nil || len(right.Tokens) > room {
		return nil, err
	}
	answers, texts := []dataset.Example{right}, []string{p.rightAnswer()}
	for i := range p.answers {
		a := &p.answers[i]
		if !a.counts || a.reward == rewardRight || a.text == "" || slices.Contains(texts, a.text) {
			continue
		}
		texts = append(texts, a.text)
		e, err := dataset.Encode(r.tok, p.state.Prompt(), a.text, 0)
		if err == nil && r.method == methodTail {
			e, err = r.tailOf(p, a, e)
		}
		if err != nil {
			return nil, err
		}
		if len(e.Tokens) > 0 && len(e.Tokens) <= room {
			answers = append(answers, e)
		}
	}
	if len(answers) < 2 {
		return nil, nil // there is nothing to choose from, and no wrong answer to train on
	}
	s := choiceOf(answers)
	s.Apart = r.method == methodTail
	return []train.Sequence{s}, nil
}

// choiceOf makes a sequence from examples of one prompt, with the examples as answers of which the
// first is the right choice. The common beginning of all answers becomes part of the prompt, except
// for its last token, with which each answer begins.
func choiceOf(answers []dataset.Example) train.Sequence {
	at := len(answers[0].Tokens)
	for _, e := range answers[1:] {
		at = min(at, sameStart(e.Tokens, answers[0].Tokens))
	}
	at--
	for at > 1 && answers[0].Weights[at] >= dataset.Decision { // the digits of a number are not separated
		at--
	}
	out := sequenceOf(answers[0], 1)
	out.Tokens, out.Weights = out.Tokens[:at], out.Weights[:at]
	for _, e := range answers {
		s := sequenceOf(e, 1)
		s.Weights[at] = 0
		out.Answers = append(out.Answers, int32(len(out.Tokens)))
		out.Tokens, out.Weights = append(out.Tokens, s.Tokens[at:]...), append(out.Weights, s.Weights[at:]...)
	}
	return out
}

// tailOf reduces the weights of a wrong edit's example: only the tokens after the one that differs
// from the original line keep half their weight, all others get none. A beam search follows many
// such wrong edits, and ranks them correctly only if their remaining tokens, which are those of the
// original line, are as certain as in a right answer. So tailOf does not apply to an edit that
// changes more than one place, or to an answer that is not an edit.
func (r *rl) tailOf(p *prompt, a *answer, e dataset.Example) (dataset.Example, error) {
	if a.read > 0 || a.edit.Line < 1 || a.edit.Line > len(p.function) {
		return dataset.Example{}, nil
	}
	was := strings.TrimSpace(p.function[a.edit.Line-1])
	if !onePlace(was, a.edit.Text) {
		return dataset.Example{}, nil
	}
	old, err := dataset.Encode(r.tok, p.state.Prompt(), repair.AnswerEdit(a.edit.Line, was), 0)
	if err != nil {
		return dataset.Example{}, err
	}
	departs := sameStart(e.Tokens, old.Tokens)
	for i := range e.Weights {
		if e.Weights[i] /= 2; i <= departs {
			e.Weights[i] = 0
		}
	}
	return e, nil
}

// onePlace reports whether two lines differ in one place: in one token, or in a few tokens that
// only one of the lines has.
func onePlace(was, is string) bool {
	const few = 4
	old, text := lineTokens(was), lineTokens(is)
	n := sameStart(old, text)
	old, text = old[n:], text[n:]
	slices.Reverse(old)
	slices.Reverse(text)
	n = sameStart(old, text)
	gone, come := len(old)-n, len(text)-n
	return max(gone, come) == 1 || min(gone, come) == 0 && max(gone, come) > 0 && max(gone, come) <= few
}

func lineTokens(line string) []string {
	return strings.FieldsFunc(repair.Tokens(line), func(c rune) bool { return c == 0 })
}

// sameStart returns the length of the common beginning of two lists.
func sameStart[T comparable](a, b []T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
