package openai

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/agent"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// show writes a stream's chunks one per line.
func show(m agent.Model, req *agent.Request) string {
	var b strings.Builder
	for c, err := range m.Stream(context.Background(), req) {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			continue
		}
		switch c := c.(type) {
		case agent.TextDelta:
			fmt.Fprintf(&b, "text %q\n", c.Text)
		case agent.ThinkingDelta:
			fmt.Fprintf(&b, "thinking %q %q\n", c.Text, c.Signature)
		case agent.ToolCallStart:
			fmt.Fprintf(&b, "call %d %s %s\n", c.Index, c.ID, c.Name)
		case agent.ToolCallDelta:
			fmt.Fprintf(&b, "args %d %s\n", c.Index, c.Args)
		case agent.Opaque:
			fmt.Fprintf(&b, "opaque %s %s\n", c.Provider, c.Data)
		case agent.Usage:
			fmt.Fprintf(&b, "usage in=%d cached=%d written=%d out=%d reasoning=%d\n", c.Input, c.CachedInput, c.CacheWrite, c.Output, c.Reasoning)
		case agent.Finish:
			fmt.Fprintf(&b, "finish %s\n", c.Reason)
		}
	}
	return b.String()
}

// TestStreams plays the streams in testdata/streams and compares the chunks. The comment in a file
// says what it checks. The streams were written by hand from what is known about the servers they
// name; they are not recordings.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range ar.Files {
				sections[f.Name] = string(f.Data)
			}
			contentType, cfg := "text/event-stream", Config{}
			stream, ok := sections["stream"]
			if !ok {
				contentType, stream = "application/json", sections["json"]
			}
			if strings.HasPrefix(filepath.Base(file), "responses-") {
				cfg.API = Responses
			}
			m := serve(t, cfg, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", contentType)
				io.WriteString(w, stream)
			})
			got := show(m, hello())
			if *update {
				ar.Files = append(ar.Files[:1:1], txtar.File{Name: "chunks", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(sections["chunks"], got); diff != "" {
				t.Errorf("%s(-want +got):\n%s", ar.Comment, diff)
			}
		})
	}
}
