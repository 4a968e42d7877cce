package tools

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

func TestStores(t *testing.T) {
	dir, err := NewDirStore(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]agent.ArtifactStore{"memory": NewMemStore(), "directory": dir} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			data := []byte("text \x00\xff")
			h, err := s.Put(ctx, "../x.txt", data)
			if err != nil || !artifact.Valid(h) {
				t.Fatal(h, err)
			}
			again, err := s.Put(ctx, "other", data)
			if err != nil || again != h {
				t.Errorf("the same text has two handles: %s %s %v", h, again, err)
			}
			data[0] = 'X'
			if got, err := s.Get(ctx, h); err != nil || string(got) != "text \x00\xff" {
				t.Errorf("%q %v", got, err)
			}
			empty, err := s.Put(ctx, "e", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(ctx, empty); err != nil || len(got) != 0 {
				t.Errorf("%q %v", got, err)
			}
			for _, bad := range []string{"", "x", "../../etc/passwd", h + "0", strings.ToUpper(h), "artifact-" + strings.Repeat("0", 24)} {
				if _, err := s.Get(ctx, bad); !errors.Is(err, errNoArtifact) {
					t.Errorf("%q: %v", bad, err)
				}
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for _, text := range []string{"a", "b", "c"} {
						h, err := s.Put(ctx, "n", []byte(text))
						if got, gerr := s.Get(ctx, h); err != nil || gerr != nil || string(got) != text {
							t.Error(err, gerr)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestDirStoreAfterKill leaves what a process killed at any byte of a write can leave: a part of a
// temporary file or, on a file system that reorders writes, of the text itself. Neither may ever be
// read as the text.
func TestDirStoreAfterKill(t *testing.T) {
	dir := t.TempDir()
	s, err := NewDirStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("0123456789")
	h := artifact.Handle(data)
	for n := range len(data) {
		if err := os.WriteFile(filepath.Join(dir, ".tmp-1"), data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, h), data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), h); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if _, err := s.Put(t.Context(), "x", data); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), h); err != nil || string(got) != string(data) {
			t.Fatalf("after Put: %q %v", got, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(files) != 1 {
		t.Errorf("Put left files behind: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDirStore(filepath.Join(dir, "file")); err == nil {
		t.Error("a file was taken as a directory")
	}
}

// Evidence: tools · Long output is capped and can be read back
func TestReadArtifact(t *testing.T) {
	store := NewMemStore()
	h, err := store.Put(t.Context(), "log", []byte("one\ntwo error\nthree\nfour\nfive error\n"))
	if err != nil {
		t.Fatal(err)
	}
	long, err := store.Put(t.Context(), "long", []byte(strings.Repeat("ü", 40000)+"\nend\n"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := NewReadArtifact(store)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, args, want string }{
		{"all", `{"handle":"` + h + `"}`, "1\tone\n2\ttwo error\n3\tthree\n4\tfour\n5\tfive error\n[5 lines in all]"},
		{"range", `{"handle":"` + h + `","start_line":2,"lines":2}`, "2\ttwo error\n3\tthree\n[5 lines in all; go on with start_line 4]"},
		{"pattern", `{"handle":"` + h + `","pattern":"error$"}`, "2\ttwo error\n--\n5\tfive error\n[2 matching lines of 5]"},
		{"context", `{"handle":"` + h + `","pattern":"three","context":1}`, "2\ttwo error\n3\tthree\n4\tfour\n[1 matching lines of 5]"},
		{"overlapping context", `{"handle":"` + h + `","pattern":"error","context":2}`, "1\tone\n2\ttwo error\n3\tthree\n4\tfour\n5\tfive error\n[2 matching lines of 5]"},
		{"no match", `{"handle":"` + h + `","pattern":"zzz"}`, "[no line from 1 on matches; 5 lines in all]"},
		{"bytes", `{"handle":"` + h + `","offset":4,"bytes":3}`, "two\n[bytes 4 to 7 of 36]"},
		{"long line", `{"handle":"` + long + `"}`, "go on with start_line 1, or read the long line with offset and bytes]"},
		{"after the long line", `{"handle":"` + long + `","start_line":2}`, "2\tend\n[2 lines in all]"},
		{"past the end", `{"handle":"` + h + `","start_line":9}`, "error: start_line 9 is past the end; the text has 5 lines"},
		{"bytes past the end", `{"handle":"` + h + `","offset":99}`, "error: offset 99 is past the end; the text has 36 bytes"},
		{"unknown", `{"handle":"artifact-x"}`, `error: tools: get artifact "artifact-x": there is no artifact`},
		{"bad pattern", `{"handle":"` + h + `","pattern":"("}`, "error: pattern: error parsing regexp"},
		{"both", `{"handle":"` + h + `","start_line":1,"offset":1}`, "error: read_artifact was not run: give start_line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := tool.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(tt.args)})
			got := ""
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got = res.Text()
			}
			if got != tt.want && !(strings.HasPrefix(tt.want, "error") && strings.HasPrefix(got, tt.want)) && !(tt.name == "long line" && strings.HasSuffix(got, tt.want) && len(got) < readMaxBytes+200) {
				t.Errorf("got %.300q\nwant %q", got, tt.want)
			}
		})
	}
	if e := agent.EffectsOf(tool, agent.ToolCall{Args: json.RawMessage(`{"handle":"h"}`)}); !e.IsReadOnly() || e.Reads[0] != "artifact:h" {
		t.Errorf("%+v", e)
	}
	if _, err := NewReadArtifact(nil); err == nil {
		t.Error("a nil store was taken")
	}
}
