package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

type searchIn struct {
	Query string `json:"query" jsonschema_description:"what you look for, in words"`
	K     int    `json:"k,omitempty" jsonschema:"minimum=0" jsonschema_description:"number of places; default 8"`
}

const (
	defaultHits = 8
	maxHits     = 50
	snippetSize = 1500
)

// searchTool is nil without an index: a tool that cannot answer is worse than none.
func (w *Workspace) searchTool() (agent.Tool, error) {
	if w.cfg.Index == nil {
		return nil, nil
	}
	return newTool("search", w.search, toolParts[searchIn]{
		any:      agent.ReadOnly("."),
		effects:  func(searchIn) agent.Effects { return agent.ReadOnly(".") },
		describe: titled(func(in searchIn) string { return "search " + in.Query }),
	})
}

func (w *Workspace) search(ctx context.Context, in searchIn) (string, error) {
	if strings.TrimSpace(in.Query) == "" {
		return "", errors.New("the query is empty; say in words what you look for")
	}
	k := in.K
	if k <= 0 {
		k = defaultHits
	}
	hits, err := w.cfg.Index.Search(ctx, in.Query, min(k, maxHits))
	if err != nil {
		return "", fmt.Errorf("%w; use grep meanwhile", err)
	}
	if len(hits) == 0 {
		return fmt.Sprintf("Nothing found for %q; try other words, or grep for a name.", in.Query), nil
	}
	var b strings.Builder
	for i, h := range hits {
		if b.Len() > w.cfg.Limits.ReadBytes {
			fmt.Fprintf(&b, "(%d more places are not shown)\n", len(hits)-i)
			break
		}
		fmt.Fprintf(&b, "%s:%d-%d", quotePath(h.Path), h.StartLine, h.EndLine)
		if h.Symbol != "" {
			fmt.Fprintf(&b, " %s", h.Symbol)
		}
		b.WriteByte('\n')
		for i, line := range strings.Split(strings.TrimRight(clip(h.Snippet, snippetSize), "\n"), "\n") {
			if h.Snippet != "" {
				fmt.Fprintf(&b, "  %d\t%s\n", h.StartLine+i, cutLine(line, w.cfg.Limits.LineBytes))
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
