package embed_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/retrieval/embed"
)

// Any server with OpenAI's embeddings API works; this one returns a single vector.
func ExampleNewOpenAI() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[0.6,0.8]}]}`)
	}))
	defer server.Close()
	embedder, err := embed.NewOpenAI(embed.OpenAIConfig{BaseURL: server.URL + "/v1", Model: "nomic-embed-text"})
	if err != nil {
		log.Fatal(err)
	}
	vectors, err := embedder.Embed(context.Background(), []string{"where are locks taken?"}, retrieval.EmbedQuery)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(vectors, embedder.Dim())
	// Output: [[0.6 0.8]] 2
}
