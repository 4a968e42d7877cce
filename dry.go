package luthier

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding"
)

// triable are the effects that a trial keeps from the workspace, or shows before they count.
// Reading a secret, for example, is none.
const triable = agent.EffectDelete | agent.EffectKill | agent.EffectNetwork | agent.EffectExec | agent.EffectObeyed

// dryRules returns the policy for agent.AutonomyDry: calls that run in a trial are allowed to run,
// since the host is asked before they have an effect.
func dryRules() agent.Policy {
	rules := agent.StandardRules(agent.AutonomyDry)
	return agent.PolicyFunc(func(ctx context.Context, req *agent.PermissionRequest) agent.Verdict {
		v := rules.Decide(ctx, req)
		if v.Decision == agent.Ask && req.Description.Sandboxed && req.Effects.Flags&^triable == 0 && readsInside(req) && coding.Tries(req.Call) {
			return agent.Verdict{Decision: agent.Allow, Rule: "trial"}
		}
		return v
	})
}

// readsInside reports whether a call is known to read nothing outside the workspace.
func readsInside(req *agent.PermissionRequest) bool {
	for _, p := range req.Effects.Reads {
		if !agent.PathUnder(p, ".") {
			return false
		}
	}
	return true
}

// oneAtATime returns a function that asks one question at a time.
func oneAtATime(ask agent.AskFunc) agent.AskFunc {
	if ask == nil {
		return nil
	}
	var mu sync.Mutex
	return func(ctx context.Context, req *agent.PermissionRequest, v agent.Verdict) agent.Answer {
		mu.Lock()
		defer mu.Unlock()
		return ask(ctx, req, v)
	}
}

// askAfterTrial returns the function that shows the host what a command changed, and asks whether
// that is to be kept.
func askAfterTrial(ask agent.AskFunc) coding.TrialFunc {
	return func(ctx context.Context, t coding.CommandTrial) (bool, string) {
		if ask == nil {
			return false, "there is nobody to ask whether to keep them"
		}
		effects := effectsOf(t.Changes)
		effects.Reasons = []string{fmt.Sprintf("it has run in a trial, and changed %d paths", len(t.Changes))}
		var detail strings.Builder
		fmt.Fprintf(&detail, "%s\n\n%s. It changed %s.\n", t.Command, t.Ended, pathsOf(t.Changes))
		for _, f := range t.Review {
			effects.Flags |= agent.EffectObeyed
			effects.Reasons = append(effects.Reasons, f.String())
			fmt.Fprintf(&detail, "! %s\n", f)
		}
		fmt.Fprintf(&detail, "\n%s", t.Diff)
		title, _, _ := strings.Cut(strings.TrimSpace(t.Command), "\n")
		answer := ask(ctx, &agent.PermissionRequest{
			Call: agent.ToolCall{ID: t.CallID, Name: "shell"}, Effects: effects,
			Description: agent.CallDescription{Title: "keep what it changed: " + agent.Visible(title), Detail: agent.Visible(detail.String()), Where: "a trial", Sandboxed: true},
			SessionID:   sessionID(ctx),
		}, agent.Verdict{Decision: agent.Ask, Rule: "trial", Reason: "it has run in a trial; its changes are not in the workspace yet"})
		switch {
		case answer.Allow:
			return true, ""
		case answer.Reason != "":
			return false, answer.Reason
		}
		return false, "the user did not want them. Do not repeat the command; ask what they want instead"
	}
}

func sessionID(ctx context.Context) string {
	if s := agent.SessionFrom(ctx); s != nil {
		return s.ID()
	}
	return ""
}
