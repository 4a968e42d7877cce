package luthier_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestSearchAfterUndo: a search right after an undo or a redo finds what the workspace holds then,
// in place, in a copy and beyond a pipe.
//
// Evidence: luthier · A search right after an undo finds what is there then
func TestSearchAfterUndo(t *testing.T) {
	tier.Normal(t)
	for name, open := range map[string]func(dir string) *wired{
		"in place": func(dir string) *wired { return openInPlace(t, dir).(*wired) },
		"snapshot": func(dir string) *wired { return over(t, opened(t, luthier.Snapshot(dir))) },
		"command":  func(dir string) *wired { return over(t, opened(t, toolhost(dir))) },
	} {
		t.Run(name, func(t *testing.T) {
			w := open(shopIn(t))
			defer w.Close()
			search, ok := w.coder.Registry.Lookup("search")
			if !ok {
				t.Fatal("there is no tool search")
			}
			check := func(when string, want bool) {
				t.Helper()
				r, err := search.Call(t.Context(), agent.ToolCall{ID: "s", Name: "search", Args: json.RawMessage(`{"query":"perigee apogee"}`)})
				must(t, err)
				if got := strings.Contains(r.Text(), "orbit.txt"); got != want {
					t.Errorf("%s, it is found: %v\n%s", when, got, r.Text())
				}
			}
			if w.coder.Index != nil {
				must(t, w.coder.Index.Wait(t.Context()))
			}
			check("before", false)
			w.ok(t, "write", `{"path":"orbit.txt","content":"perigee is nearest, apogee is farthest.\n"}`)
			check("written", true)
			must(t, w.Undo(t.Context()))
			check("undone", false)
			_, err := w.coder.Redo(t.Context(), w.session)
			must(t, err)
			check("redone", true)
		})
	}
}
