package luthier_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// BenchmarkRemoteCall compares calls of tools over a workspace on an environment server, over
// loopback, with the same calls in place.
func BenchmarkRemoteCall(b *testing.B) {
	dir := b.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	opts := luthier.Options{Model: agenttest.Script(), StateDir: b.TempDir(), NoIndex: true}
	here, err := luthier.New(b.Context(), dir, opts)
	if err != nil {
		b.Skip(err)
	}
	defer here.Close()
	w, err := luthier.Open(b.Context(), farServer(b, luthier.ToolboxOptions{NoIndex: true})(dir))
	if err != nil {
		b.Skip(err)
	}
	defer w.Close()
	opts.Workspace = w
	far, err := luthier.New(b.Context(), "", opts)
	if err != nil {
		b.Fatal(err)
	}
	defer far.Close()
	for name, args := range map[string]string{"read": `{"path":"f1.txt"}`, "list": `{"path":"."}`, "grep": `{"pattern":"two","mode":"count"}`} {
		for where, c := range map[string]*luthier.Coder{"here": here, "far": far} {
			b.Run(name+"/"+where, func(b *testing.B) {
				for b.Loop() {
					r := c.Registry.Call(b.Context(), agent.ToolCall{ID: "c", Name: name, Args: json.RawMessage(args)})
					if r.IsError {
						b.Fatal(r.Text())
					}
				}
			})
		}
	}
}
