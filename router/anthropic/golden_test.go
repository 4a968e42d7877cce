package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/agent"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata")

// golden runs f on every archive of a folder and compares what it returns with the section want.
func golden(t *testing.T, dir, want string, f func(t *testing.T, section func(string) []byte) string) {
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			index := map[string]int{}
			for i, file := range archive.Files {
				index[file.Name] = i
			}
			got := f(t, func(name string) []byte {
				if i, ok := index[name]; ok {
					return archive.Files[i].Data
				}
				return nil
			})
			file := &archive.Files[index[want]]
			if *update {
				file.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(file.Data), got); diff != "" {
				t.Errorf("(-golden +got; -update rewrites):\n%s", diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	golden(t, "bodies", "body.json", func(t *testing.T, section func(string) []byte) string {
		cfg := Config{Model: "claude-sonnet-4-5", APIKey: "k"}
		unmarshal(t, section("config.json"), &cfg)
		var req agent.Request
		unmarshal(t, section("request.json"), &req)
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		body, _, merr := m.encode(&req)
		if merr != nil {
			t.Fatal(merr)
		}
		if err := checkRequest(body); err != nil {
			t.Errorf("the API would refuse it: %v", err)
		}
		var out bytes.Buffer
		if err := json.Indent(&out, body, "", "  "); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		return out.String() + "\n"
	})
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func TestStreams(t *testing.T) {
	golden(t, "streams", "chunks", func(t *testing.T, section func(string) []byte) string {
		tool := strings.TrimSpace(string(section("output-tool")))
		whole := transcript(bytes.NewReader(section("stream")), tool, t)
		piecewise := transcript(iotest.OneByteReader(bytes.NewReader(section("stream"))), tool, t)
		if diff := cmp.Diff(whole, piecewise); diff != "" {
			t.Errorf("the chunks depend on how the bytes arrive:\n%s", diff)
		}
		return whole
	})
}

// transcript writes a stream's chunks one a line, and its error last.
func transcript(src io.Reader, outputTool string, t *testing.T) string {
	var b strings.Builder
	err := read(t.Context(), src, outputTool, provider, func(c agent.Chunk, err error) bool {
		data, merr := json.Marshal(c)
		if merr != nil || err != nil {
			t.Error(merr, err)
		}
		fmt.Fprintf(&b, "%s %s\n", strings.TrimPrefix(fmt.Sprintf("%T", c), "agent."), data)
		return true
	})
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", error(err))
		if errors.Unwrap(err) == nil {
			t.Error("the error has no cause")
		}
	}
	return b.String()
}
