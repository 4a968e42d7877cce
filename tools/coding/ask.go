package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
)

type askIn struct {
	Question string   `json:"question" jsonschema_description:"one question, with what the person needs to answer it"`
	Options  []string `json:"options,omitempty" jsonschema_description:"answers to choose from"`
}

// askTool returns a tool that waits for a person without a time limit. Its calls touch nothing, so
// that asking needs no permission.
func (w *Workspace) askTool() (agent.Tool, error) {
	return newTool("ask_user", w.ask, toolParts[askIn]{
		any:      agent.ReadOnly(),
		effects:  func(askIn) agent.Effects { return agent.ReadOnly() },
		describe: titled(func(in askIn) string { return "ask: " + in.Question }),
		opts:     []tools.Option{tools.WithTimeout(-1)},
	})
}

func (w *Workspace) ask(ctx context.Context, in askIn) (string, error) {
	q := Question{Text: strings.TrimSpace(in.Question), Options: in.Options}
	if q.Text == "" {
		return "", errors.New("the question is empty")
	}
	if w.cfg.Ask == nil {
		return "Nobody is there to answer. Decide on your own: take the choice that is safest to undo, and say in your final answer what you assumed.", nil
	}
	unlock, err := w.locks.lock(ctx, resourceAsk)
	if err != nil {
		return "", err
	}
	defer unlock()
	answer, err := w.cfg.Ask(ctx, q)
	if err != nil {
		return "", fmt.Errorf("no answer: %w; decide on your own and say what you assumed", err)
	}
	if strings.TrimSpace(answer) == "" {
		return "The person gave an empty answer. Decide on your own and say what you assumed.", nil
	}
	return answer, nil
}

// resourceAsk makes one question wait for another: a person can be asked only one thing at a time.
const resourceAsk = "user:question"
