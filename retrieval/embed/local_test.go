package embed

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/retrieval"
)

// counting is a model that embeds by counting bytes.
type counting struct {
	name  string
	texts []string
	spoil func([][]float32) ([][]float32, error)
}

func (c *counting) Name() string { return c.name }

func (c *counting) Embed(_ context.Context, texts []string) (all [][]float32, err error) {
	c.texts = append(c.texts, texts...)
	for _, t := range texts {
		all = append(all, vectorOf(t))
	}
	if c.spoil != nil {
		return c.spoil(all)
	}
	return all, nil
}

// TestLocal embeds with a model in this process.
func TestLocal(t *testing.T) {
	m := &counting{name: "e5-small"}
	e, err := NewLocal(m, LocalConfig{MaxText: 5})
	if err != nil {
		t.Fatal(err)
	}
	if e.Dim() != 0 || e.Name() != `local e5-small, texts to 5 bytes after "passage: "` {
		t.Errorf("%d, %s", e.Dim(), e.Name())
	}
	for kind, prefix := range map[retrieval.EmbedKind]string{retrieval.EmbedDocument: "passage: ", retrieval.EmbedQuery: "query: "} {
		m.texts = nil
		got, err := e.Embed(t.Context(), []string{"abc", "defghijk"}, kind)
		want := []string{prefix + "abc", prefix + "defgh"}
		if d := cmp.Diff(want, m.texts); d != "" || err != nil {
			t.Error(err, d)
		}
		if d := cmp.Diff([][]float32{vectorOf(want[0]), vectorOf(want[1])}, got); d != "" || e.Dim() != 4 {
			t.Error(d)
		}
	}
	if none, err := e.Embed(t.Context(), nil, retrieval.EmbedQuery); err != nil || none != nil {
		t.Error(none, err)
	}
}

// TestLocalRefuses checks that errors of the model are passed on, and that invalid embeddings are
// refused.
func TestLocalRefuses(t *testing.T) {
	broken := errors.New("broken")
	for name, spoil := range map[string]func([][]float32) ([][]float32, error){
		"error":   func([][]float32) ([][]float32, error) { return nil, broken },
		"too few": func(v [][]float32) ([][]float32, error) { return v[1:], nil },
		"zeros":   func(v [][]float32) ([][]float32, error) { clear(v[1]); return v, nil },
		"sizes":   func(v [][]float32) ([][]float32, error) { v[1] = v[1][1:]; return v, nil },
	} {
		e, err := NewLocal(&counting{name: "x", spoil: spoil}, LocalConfig{Prefixes: &Prefixes{}})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := e.Embed(t.Context(), []string{"a", "b"}, retrieval.EmbedQuery); err == nil || name == "error" && !errors.Is(err, broken) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	for _, m := range []Model{nil, &counting{}} {
		if _, err := NewLocal(m, LocalConfig{}); err == nil {
			t.Error("an embedder was made of a model that is nil or has no name")
		}
	}
}
