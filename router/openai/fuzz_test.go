package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// seedStreams returns the streams of the golden transcripts.
func seedStreams(f *testing.F, prefix string) {
	files, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "responses-") != (prefix == "responses-") {
			continue
		}
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data)
	}
}

// FuzzChatStream and FuzzResponsesStream check the rules of a stream on arbitrary bytes: it ends
// with one Finish or one typed error, calls are numbered from 0 and have unique ids, and what was
// read can be sent back.
func FuzzChatStream(f *testing.F) {
	seedStreams(f, "")
	fuzzStream(f, Chat)
}

func FuzzResponsesStream(f *testing.F) {
	seedStreams(f, "responses-")
	fuzzStream(f, Responses)
}

func fuzzStream(f *testing.F, api API) {
	m, err := New(Config{Model: "m", API: api, BaseURL: "http://localhost:1/v1", NoKey: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		res := &http.Response{Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data))}
		var chunks []agent.Chunk
		ids := map[string]bool{}
		finished := 0
		err := m.read(t.Context(), res, m.newDecoder(hello()), func(c agent.Chunk, err error) bool {
			if finished > 0 || err != nil {
				t.Fatalf("chunk %#v or error %v after the finish", c, err)
			}
			switch c := c.(type) {
			case nil:
				t.Fatal("nil chunk")
			case agent.ToolCallStart:
				if c.Index != len(ids) || c.ID == "" || ids[c.ID] {
					t.Fatalf("call %+v after %v", c, ids)
				}
				ids[c.ID] = true
			case agent.ToolCallDelta:
				if c.Index < 0 || c.Index >= len(ids) {
					t.Fatalf("arguments of call %d of %d", c.Index, len(ids))
				}
			case agent.Finish:
				finished++
			}
			chunks = append(chunks, c)
			return true
		})
		if (err == nil) != (finished == 1) {
			t.Fatalf("finished %d times with error %v", finished, err)
		}
		resp, _ := agent.Generate(t.Context(), replay(chunks), hello())
		req := &agent.Request{Messages: []agent.Message{agent.UserText("x"), resp.Message}}
		write := m.chatBody
		if api == Responses {
			write = m.responsesBody
		}
		if body, err := write(nil, req); err != nil || !json.Valid(body) {
			t.Fatalf("what was read cannot be sent back: %v\n%s", err, body)
		}
	})
}

// replay returns a model that answers with the chunks.
func replay(chunks []agent.Chunk) agent.Model { return agenttest.Script(agenttest.Chunks(chunks...)) }
