package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

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

// mapTool returns the repo_map tool, or nil if the index cannot make an outline.
func (w *Workspace) mapTool() (agent.Tool, error) {
	if w.indexFeatures().Map == nil {
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
	outline := w.indexFeatures().Map
	if outline == nil {
		return "", errors.New("the index makes no outlines; use list and symbols")
	}
	n := in.Tokens
	if n <= 0 {
		n = defaultMapTokens
	}
	near, err := viewing(ctx, w, in.Files, opened.existing)
	if err != nil {
		return "", err
	}
	text, err := outline(ctx, min(max(n, minMapTokens), maxMapTokens), near, strings.TrimSpace(in.Words))
	if err != nil {
		return "", fmt.Errorf("%w; use list and symbols meanwhile", err)
	}
	if strings.TrimSpace(text) == "" {
		text = "There are no definitions to outline; use list to see the files."
	}
	return strings.TrimRight(text, "\n"), nil
}

// existing returns the canonical paths of files and directories that must exist.
func (w opened) existing(ctx context.Context, paths []string) (rels []string, err error) {
	for _, p := range paths {
		t, err := w.found(ctx, p)
		if err != nil {
			return nil, err
		}
		rels = append(rels, t.rel)
	}
	return rels, nil
}
