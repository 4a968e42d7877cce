package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// MapIndex is an [Index] that can outline the whole tree. With it the repo_map tool is offered.
type MapIndex interface {
	// Map returns the most important definitions with their files, in at most so many tokens. Those that have to do with
	// the files near, or with the words of text, come first; both may be empty.
	Map(ctx context.Context, tokens int, near []string, text string) (string, error)
}

type mapIn struct {
	Files  []string `json:"files,omitempty" jsonschema_description:"files the task is about, relative to the workspace: what they use and what uses them counts more"`
	Words  string   `json:"words,omitempty" jsonschema_description:"the task in words: what they name counts more"`
	Tokens int      `json:"tokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"size of the outline; default 1500, at most 8000"`
}

const (
	defaultMapTokens = 1500
	minMapTokens     = 100
	maxMapTokens     = 8000
)

// mapTool is nil without an index that can make the outline.
func (w *Workspace) mapTool() (agent.Tool, error) {
	if _, ok := w.cfg.Index.(MapIndex); !ok {
		return nil, nil
	}
	return newTool("repo_map", w.repoMap, toolParts[mapIn]{
		any:     agent.ReadOnly("."),
		effects: func(mapIn) agent.Effects { return agent.ReadOnly(".") },
		describe: titled(func(in mapIn) string {
			return strings.TrimSpace("outline of the repository " + strings.Join(in.Files, " ") + " " + in.Words)
		}),
	})
}

func (w *Workspace) repoMap(ctx context.Context, in mapIn) (string, error) {
	ix, ok := w.cfg.Index.(MapIndex)
	if !ok {
		return "", errors.New("the index makes no outlines; use list and symbols")
	}
	n := in.Tokens
	if n <= 0 {
		n = defaultMapTokens
	}
	var near []string
	for _, p := range in.Files {
		t, err := w.resolve(p)
		if err != nil {
			return "", err
		}
		if t.info == nil {
			return "", w.missing(t.rel)
		}
		near = append(near, t.rel)
	}
	text, err := ix.Map(ctx, min(max(n, minMapTokens), maxMapTokens), near, strings.TrimSpace(in.Words))
	if err != nil {
		return "", fmt.Errorf("%w; use list and symbols meanwhile", err)
	}
	if strings.TrimSpace(text) == "" {
		text = "There are no definitions to outline; use list to see the files."
	}
	return strings.TrimRight(text, "\n"), nil
}
