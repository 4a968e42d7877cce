package router

import (
	"fmt"
	"strconv"
	"strings"
)

// The texts for planner and actor, in prompts/. The rules are appended to the actor's instructions
// and never change, so that the actor's prompt cache can still be used. The other texts are
// messages appended to the request: for the planner when a plan is needed, for the actor after a
// plan that was just written or after the text of the response so far.
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

// marks holds the elements of a text that concern the plan. If the text has both a plan and a
// request for another one, the later one counts.
type marks struct {
	plan   bool   // the text ends with a plan
	steps  int    // number of steps that the plan expects; 0 if it is not stated
	replan string // if the text ends with a request for another plan, the reason for it
}

// readMarks finds a complete <plan> or <replan> element. The text comes from a model and may
// contain anything.
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

// maxSteps limits the number of steps that a plan may claim.
const maxSteps = 1000

// stepsOf parses the attribute steps="N".
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
