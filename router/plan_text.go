package router

import (
	"fmt"
	"strconv"
	"strings"
)

// plannerAsk is put behind the request when a plan is wanted.
const plannerAsk = `<reminder>
Do not carry out this task yourself: write the plan for it. A faster model carries it out and sees this conversation.
%s
When you know enough, answer with the plan and no tool call:

<plan steps="N">
1. what to do, in which file or by which command, and how to see that it worked
2. …
</plan>

N is how many model requests you expect it to take. Name files, functions and commands exactly; leave no decision open.
If there is nothing to carry out, such as for a question, just answer.
</reminder>`

// actorRules are put behind the actor's instructions. They do not change, so that its prompt cache holds.
const actorRules = `

Where the conversation has a plan (<plan>…</plan>), carry it out step by step; the last one counts. If it turns out to be
wrong or does not say what to do, do not improvise: answer with <replan>what is wrong</replan> and no tool call.`

// actorAsk is put behind a plan that was just written.
const actorAsk = "<reminder>\nCarry out the plan. Begin with its first step now.\n</reminder>"

func askForPlan(left int, stray string) string {
	look := "First look around with tools, as far as you must: read, search, run; change nothing."
	if left <= 0 {
		look = "You have looked around enough: write the plan now."
	}
	if stray != "" {
		look = "The last plan did not work out: " + stray + ". Find out why, and plan what is left to do.\n" + look
	}
	return fmt.Sprintf(plannerAsk, look)
}

// marks are what a text says of the plan: the last of a plan and a call for another counts.
type marks struct {
	plan   bool   // it ends in a plan
	steps  int    // that the plan expects, 0 if it does not say
	replan string // it ends in a call for another plan, because of this
}

// readMarks finds a complete <plan> or <replan> element. Text that a model wrote may hold anything.
func readMarks(text string) marks {
	if !strings.Contains(text, "plan>") {
		return marks{}
	}
	i, j := strings.LastIndex(text, "</plan>"), strings.LastIndex(text, "</replan>")
	switch {
	case j > i:
		if k := strings.LastIndex(text[:j], "<replan>"); k >= 0 && k > i {
			return marks{replan: orWord(strings.TrimSpace(text[k+len("<replan>"):j]), "it asked for another plan")}
		}
		if i < 0 {
			return marks{}
		}
		fallthrough
	case i >= 0:
		k := strings.LastIndex(text[:i], "<plan")
		if k < 0 {
			return marks{}
		}
		head, _, ok := strings.Cut(text[k+len("<plan"):i], ">")
		if !ok || head != "" && head[0] != ' ' {
			return marks{}
		}
		return marks{plan: true, steps: stepsOf(head)}
	}
	return marks{}
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return cut(s, 500)
}

// maxSteps bounds what a plan may claim.
const maxSteps = 1000

// stepsOf reads the attribute steps="N".
func stepsOf(head string) int {
	_, rest, ok := strings.Cut(head, "steps=")
	if !ok {
		return 0
	}
	digits := strings.TrimLeft(rest, `"'`)
	end := 0
	for end < len(digits) && end < 6 && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(digits[:end])
	if err != nil {
		return 0
	}
	return min(n, maxSteps)
}
