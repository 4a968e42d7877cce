package router

import (
	"fmt"
	"strconv"
	"strings"
)

// The texts for planner and actor, in prompts/. The rules are put behind the actor's instructions;
// they do not change, so that its prompt cache holds. The others are messages behind the request:
// the planner's when a plan is wanted, the actor's behind a plan that was just written, or behind
// what the response says already.
const (
	plannerAsk   = "plan.md"
	lookAround   = "plan_look.md"
	lookedEnough = "plan_enough.md"
	planAgain    = "plan_again.md"
	actorRules   = "plan_rules.md"
	actorAsk     = "plan_carry_out.md"
	actorGoOn    = "plan_go_on.md"
)

func askForPlan(left int, stray string) string {
	look := promptText(lookAround)
	if left <= 0 {
		look = promptText(lookedEnough)
	}
	if stray != "" {
		look = fmt.Sprintf(promptText(planAgain), stray) + "\n" + look
	}
	return fmt.Sprintf(promptText(plannerAsk), look)
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
