package retrieval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/retrieval/embed"
)

// concepts is a server of the embeddings API whose vectors count words with the same meaning.
func concepts(t *testing.T, texts *atomic.Int64) *embed.OpenAI {
	groups := [][]string{{"car", "automobile", "vehicle"}, {"bread", "bakery", "loaf"}, {"rain", "weather", "umbrella"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		json.NewDecoder(r.Body).Decode(&in)
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out struct {
			Data []item `json:"data"`
		}
		for i, text := range in.Input {
			texts.Add(1)
			v := make([]float32, len(groups)+1)
			v[len(groups)] = 0.1
			for g, words := range groups {
				for _, word := range words {
					v[g] += float32(strings.Count(strings.ToLower(text), word))
				}
			}
			out.Data = append(out.Data, item{i, v})
		}
		json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	e, err := embed.NewOpenAI(embed.OpenAIConfig{BaseURL: s.URL, Model: "concepts"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Evidence: retrieval · Any embedding model can join, and nothing is embedded twice
func TestEmbedder(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"garage.go": "package p\n\n// park puts the car away.\nfunc park(car int) {}\n",
		"oven.go":   "package p\n\n// bake makes a loaf of bread.\nfunc bake() {}\n",
		"sky.go":    "package p\n\n// forecast tells the weather.\nfunc forecast() {}\n",
	}
	for i := range 20 {
		files[fmt.Sprintf("other%d.go", i)] = fmt.Sprintf("package p\n\n// other is number %d of nothing.\nfunc other%d() {}\n", i, i)
	}
	dir, cache := tree(t, files), t.TempDir()
	var texts atomic.Int64
	x := open(t, dir, retrieval.Config{CacheDir: cache, Embedder: concepts(t, &texts)})
	deadline := time.Now().Add(time.Minute)
	for {
		if got := first(t, x, "automobile"); got == "garage.go" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not found by meaning; status\n%v", x.Status())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := first(t, x, "forecast"); got != "sky.go" {
		t.Errorf("by word: %q", got)
	}
	x.Close()
	before := texts.Load()
	x = open(t, dir, retrieval.Config{CacheDir: cache, Embedder: concepts(t, &texts)})
	for first(t, x, "umbrella") != "sky.go" {
		if time.Now().After(deadline) {
			t.Fatal("not found by meaning after opening again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := texts.Load() - before; n >= int64(len(files)) {
		t.Errorf("%d texts were embedded again", n)
	}
}

// failing is an Embedder whose server is unreachable while down is set.
type failing struct {
	retrieval.Embedder
	down atomic.Bool
}

func (f *failing) Embed(ctx context.Context, texts []string, kind retrieval.EmbedKind) ([][]float32, error) {
	if f.down.Load() {
		return nil, errors.New("no route to host")
	}
	return f.Embedder.Embed(ctx, texts, kind)
}

// TestEmbedderFails checks that searches use only words while the Embedder fails, that Status
// reports the failure, and that Status no longer reports it once the Embedder works again.
func TestEmbedderFails(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	var texts atomic.Int64
	e := &failing{Embedder: concepts(t, &texts)}
	e.down.Store(true)
	x := open(t, dir, retrieval.Config{Embedder: e})
	status := func() *retrieval.EmbeddingStatus { return x.Status().Embedding }
	eventually(t, "a failed filling is told", func() bool { return status().Err != nil && status().Missing > 0 })
	if s := x.Status().String(); !strings.Contains(s, "no route to host") || !strings.Contains(s, "without a vector") {
		t.Errorf("the status does not tell it:\n%s", s)
	}
	if got := first(t, x, "cart"); got == "" {
		t.Error("nothing is found by words")
	}
	e.down.Store(false)
	put(t, dir, "later.go", animal("stoat"))
	if err := x.Update(t.Context(), "later.go"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a filling that works is told", func() bool { s := status(); return s.Err == nil && s.Missing == 0 && s.Chunks > 0 })
	e.down.Store(true)
	first(t, x, "cart")
	if s := status(); s.Err == nil || !strings.Contains(s.Err.Error(), "embed query") {
		t.Errorf("a failed query is not told: %v", s)
	}
	e.down.Store(false)
	first(t, x, "cart")
	if s := status(); s.Err != nil {
		t.Errorf("a query that works again: %v", s)
	}
	plain := open(t, dir, retrieval.Config{})
	if s := plain.Status(); s.Embedding != nil {
		t.Errorf("without an Embedder: %v", s.Embedding)
	}
}
