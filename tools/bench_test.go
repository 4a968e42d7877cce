package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

func BenchmarkCall(b *testing.B) {
	tool := mustNew(b, "edit", echo)
	r, err := NewRegistry(tool)
	if err != nil {
		b.Fatal(err)
	}
	content, _ := json.Marshal(strings.Repeat("line of text\n", 2000))
	for _, bb := range []struct{ name, args string }{
		{"right", `{"path":"a.go","limit":5,"tags":["x"]}`},
		{"right/26KB", `{"limit":5,"path":` + string(content) + `}`},
		{"defaults", `{"path":"a.go"}`},
		{"mended", `{'path':'a.go','limit':'5',}`},
	} {
		call := agent.ToolCall{ID: "1", Name: "edit", Args: json.RawMessage(bb.args)}
		b.Run(bb.name+"/tool", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := tool.Call(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bb.name+"/registry", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if res := r.Call(b.Context(), call); res.IsError {
					b.Fatal(res.Text())
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		mustNew(b, "edit", echo)
	}
}
