package coding

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeIndex returns the places it was set up with, and records the queries and changes it receives.
type fakeIndex struct {
	hits    []Hit
	plain   bool // it only searches
	queries []IndexQuery
	changed []string
}

func (x *fakeIndex) Search(_ context.Context, q IndexQuery) ([]Hit, error) {
	x.queries = append(x.queries, q)
	return x.hits[:min(len(x.hits), q.K)], nil
}

func (x *fakeIndex) Features() IndexFeatures {
	if x.plain {
		return IndexFeatures{}
	}
	none := func(context.Context, string) ([]string, error) { return nil, nil }
	return IndexFeatures{
		LeavesOutHeld: true, Declaring: none, Using: none,
		Changed: func(paths ...string) { x.changed = append(x.changed, paths...) },
		State:   func() string { return "it is a fake" },
		Map:     func(context.Context, int, []string, string) (string, error) { return "an outline", nil },
	}
}

var lamps = files{"a/lamp.go": "package a\n\nfunc Lamp() {}\n", "b/notes.go": "package b\n\nfunc other() {}\n"}

var lampHit = []Hit{{Path: "a/lamp.go", StartLine: 3, EndLine: 3, Symbol: "Lamp", Snippet: "func Lamp() {}"}}

// TestPlainIndex: with an index that only searches, search works and each tool does without the
// missing features.
func TestPlainIndex(t *testing.T) {
	x := &fakeIndex{hits: lampHit, plain: true}
	w := openWith(t, Config{Index: x}, lamps)
	query := args{"query": "lamp", "k": 1}
	if d := cmp.Diff("a/lamp.go:3-3 Lamp\n  3\tfunc Lamp() {}", do(t, w, "search", query)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	contains(t, do(t, w, "search", query), "already shown: a/lamp.go:3-3")
	if len(x.queries) != 2 {
		t.Errorf("it was asked %d times by two searches, although it cannot leave out what is held", len(x.queries))
	}
	do(t, w, "write", args{"path": "new.go", "content": "package p\n"})
	contains(t, do(t, w, "symbols", args{"name": "Lamp"}), "a/lamp.go:3")
	for _, name := range namesOf(t, w) {
		if name == "repo_map" {
			t.Error("repo_map is offered")
		}
	}
}

func namesOf(t *testing.T, w *Workspace) (out []string) {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	for _, tool := range ts {
		out = append(out, tool.Spec().Name)
	}
	return out
}

// TestIndexIsAsked: each feature of an index is used, and a search receives the places that the
// session holds.
func TestIndexIsAsked(t *testing.T) {
	x := &fakeIndex{hits: lampHit}
	w := openWith(t, Config{Index: x}, lamps)
	query := args{"query": "lamp", "k": 1}
	contains(t, do(t, w, "search", query), "func Lamp", "(it is a fake)")
	do(t, w, "search", query)
	if len(x.queries) != 3 || len(x.queries[2].Held) != 1 || x.queries[2].Held[0].Path != "a/lamp.go" || x.queries[2].Held[0].StartLine != 3 {
		t.Errorf("the queries %+v do not end with what is held", x.queries)
	}
	if d := cmp.Diff("an outline", do(t, w, "repo_map", args{})); d != "" {
		t.Error(d)
	}
	contains(t, do(t, w, "symbols", args{"name": "Lamp"}), "a/lamp.go:3") // the index knows no file, so all are read
}

// TestWorkedOn: files that a session reads and writes count as worked on, the latest first; files
// that a search has shown do not.
func TestWorkedOn(t *testing.T) {
	x := &fakeIndex{hits: lampHit}
	w := openWith(t, Config{Index: x}, lamps)
	query := args{"query": "lamp", "k": 1}
	worked := func(want ...string) {
		t.Helper()
		if d := cmp.Diff(strings.Join(want, " "), strings.Join(w.views.worked(t.Context(), 9), " ")); d != "" {
			t.Errorf("worked on (-want +got):\n%s", d)
		}
	}
	do(t, w, "search", query)
	worked()
	do(t, w, "read", args{"path": "b/notes.go"})
	worked("b/notes.go")
	do(t, w, "search", query)
	if d := cmp.Diff([]string{"b/notes.go"}, x.queries[len(x.queries)-1].Near); d != "" {
		t.Errorf("near (-want +got):\n%s", d)
	}
	do(t, w, "edit", args{"path": "a/lamp.go", "old": "Lamp()", "new": "Lamp(n int)"})
	worked("a/lamp.go", "b/notes.go")
}

// TestNotesAreNotIndexed: the notes of the memory tool, which are kept elsewhere, are not reported
// to the index.
func TestNotesAreNotIndexed(t *testing.T) {
	x := &fakeIndex{}
	w := openWith(t, Config{Index: x, MemoryDir: t.TempDir()}, nil)
	do(t, w, "memory", args{"action": "append", "text": "Ask before noon."})
	if len(x.changed) > 0 {
		t.Errorf("the index was told of %v", x.changed)
	}
	do(t, w, "write", args{"path": "a.go", "content": "package a\n"})
	if d := cmp.Diff([]string{"a.go"}, x.changed); d != "" {
		t.Errorf("changed (-want +got):\n%s", d)
	}
}
