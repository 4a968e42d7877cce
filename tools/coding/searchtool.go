package coding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type searchIn struct {
	Query string `json:"query" jsonschema_description:"what you look for, in words"`
	K     int    `json:"k,omitempty" jsonschema:"minimum=0" jsonschema_description:"number of places; default 8"`
}

const (
	defaultHits = 8
	maxHits     = 50
	nearFiles   = 8   // files read or changed most recently
	heldFiles   = 100 // files shown most recently; others are not compared with their current content
)

// searchTool returns the search tool, or nil without an index: a tool that cannot answer is worse
// than none.
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

// tellIndex reports changed files to the index. A nil changes means that a program has run.
func (w *Workspace) tellIndex(changes []change) {
	changed := w.indexFeatures().Changed
	if changed == nil {
		return
	}
	paths := make([]string, len(changes))
	for i := range changes {
		paths[i] = changes[i].at.rel
	}
	changed(paths...)
}

func (w *Workspace) search(ctx context.Context, in searchIn) (string, error) {
	if strings.TrimSpace(in.Query) == "" {
		return "", errors.New("the query is empty; say in words what you look for")
	}
	k := in.K
	if k <= 0 {
		k = defaultHits
	}
	state := w.indexState()
	l := lookup{w: w, ctx: ctx, epoch: epochOf(ctx), files: map[string]*foundFile{}}
	hits, held, err := l.run(IndexQuery{Text: in.Query, K: min(k, maxHits), Near: w.views.worked(ctx, nearFiles)})
	if err != nil {
		return "", fmt.Errorf("%w; use grep meanwhile", err)
	}
	known := ""
	if len(held) > 0 {
		known = "already shown: " + placesName(held)
	}
	switch {
	case len(hits) == 0 && len(held) == 0:
		return joinLines(fmt.Sprintf("Nothing found for %q; try other words, or grep for a name.", in.Query), notes(state)), nil
	case len(hits) == 0:
		return joinLines("Nothing found that was not shown before.", notes(known, state)), nil
	}
	return joinLines(l.show(hits), notes(known, state)), nil
}

func (w *Workspace) indexState() string {
	if state := w.indexFeatures().State; state != nil {
		return state()
	}
	return ""
}

// A lookup is one call of the search tool. It reads each file only once.
type lookup struct {
	w     *Workspace
	ctx   context.Context
	epoch int
	files map[string]*foundFile
}

// run returns the places to show and, among equally good ones, those that were shown before. Places
// that the model already holds are looked up only if they are in the way, so that most calls search
// once.
func (l *lookup) run(q IndexQuery) (hits, held []Hit, err error) {
	if hits, err = l.find(q); err != nil {
		return nil, nil, err
	}
	if hits, held = l.split(hits); len(held) == 0 {
		return hits, nil, nil
	}
	if !l.w.indexFeatures().LeavesOutHeld {
		return hits, held, nil
	}
	q.Held = l.held()
	if hits, err = l.find(q); err != nil {
		return nil, nil, err
	}
	hits, _ = l.split(hits)
	return hits, held, nil
}

func (l *lookup) find(q IndexQuery) ([]Hit, error) {
	return l.w.cfg.Index.Search(l.ctx, q)
}

// split separates places that the model already has from new ones.
func (l *lookup) split(hits []Hit) (news, held []Hit) {
	for _, h := range hits {
		f := l.file(h.Path)
		v, ok := l.w.views.get(l.ctx, f.rel)
		if end := f.lastText(h.StartLine, h.EndLine); ok && f.ok && v.holds(l.epoch, f.text, h.StartLine, end) {
			h.EndLine = end
			held = append(held, h)
		} else {
			news = append(news, h)
		}
	}
	return news, held
}

// held returns all places that were shown to the model and have not changed since.
func (l *lookup) held() []IndexRange {
	order, views := l.w.views.all(l.ctx)
	var out []IndexRange
	for _, rel := range order[max(0, len(order)-heldFiles):] {
		v := views[rel]
		if !v.known || v.epoch != l.epoch || rel == resourceMemory {
			continue
		}
		f := l.file(rel)
		for _, r := range v.fresh {
			if f.ok && v.holds(l.epoch, f.text, r.first, r.last) {
				out = append(out, IndexRange{rel, r.first, f.nextText(r.last) - 1})
			}
		}
	}
	return out
}

// placesName names places in one line, grouped by file.
func placesName(hits []Hit) string {
	var order []string
	by := map[string][]lineRange{}
	for _, h := range hits {
		if by[h.Path] == nil {
			order = append(order, h.Path)
		}
		by[h.Path] = append(by[h.Path], lineRange{h.StartLine, h.EndLine})
	}
	var out []string
	for _, p := range order {
		for _, r := range slices.Clone(mergeRanges(by[p])) {
			out = append(out, fmt.Sprintf("%s:%d-%d", show.Path(p), r.first, r.last))
		}
	}
	return strings.Join(out, ", ")
}
