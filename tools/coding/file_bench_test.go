package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

func benchCall(b *testing.B, w *Workspace, name string, in args) {
	b.Helper()
	tool := toolOf(b, w, name)
	raw, err := json.Marshal(in)
	must(b, err)
	if _, err := tool.Call(context.Background(), agent.ToolCall{Name: name, Args: raw}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Call(context.Background(), agent.ToolCall{Name: name, Args: raw}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGrep searches the Go distribution's source with the built-in search, through ripgrep,
// and with rg alone.
func BenchmarkGrep(b *testing.B) {
	dir := filepath.Join(runtime.GOROOT(), "src")
	if _, err := os.Stat(dir); err != nil {
		b.Skip("the Go distribution's source is not there")
	}
	for name, in := range map[string]args{
		"literal": {"pattern": "errors.Is(err", "literal": true}, "regexp": {"pattern": `func \(\w+ \*\w+\) Close\(`}, "rare": {"pattern": "no such text anywhere here"},
	} {
		b.Run(name+"/builtin", func(b *testing.B) { benchCall(b, openAt(b, dir, Config{Ripgrep: noRipgrep}), "grep", in) })
		if _, err := exec.LookPath("rg"); err != nil {
			continue
		}
		b.Run(name+"/ripgrep", func(b *testing.B) { benchCall(b, openAt(b, dir, Config{}), "grep", in) })
		b.Run(name+"/rg-alone", func(b *testing.B) {
			flag := "--regexp"
			pattern := in["pattern"].(string)
			if in["literal"] == true {
				flag = "-Fe"
			}
			for b.Loop() {
				_ = exec.Command("rg", "--hidden", "--line-number", flag, pattern, dir).Run()
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	w := openWith(b, Config{}, files{"f.go": "package f\n" + strings.Repeat("\tx := compute(a, b, c) // a comment of usual length\n", 1000)})
	benchCall(b, w, "read", args{"path": "f.go"})
}

// BenchmarkEdit makes an edit and reverts it, in a file of 1,000 lines, including the sync to disk.
func BenchmarkEdit(b *testing.B) {
	w := openWith(b, Config{}, files{"f.txt": strings.Repeat("\tx := compute(a, b, c) // a comment of usual length\n", 1000) + "mark one\n"})
	edit := toolOf(b, w, "edit")
	calls := []agent.ToolCall{
		{Name: "edit", Args: json.RawMessage(`{"path": "f.txt", "old": "mark one", "new": "mark two"}`)},
		{Name: "edit", Args: json.RawMessage(`{"path": "f.txt", "old": "mark two", "new": "mark one"}`)},
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := edit.Call(context.Background(), calls[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGlob(b *testing.B) {
	w := openWith(b, Config{}, nil)
	for i := range 5000 {
		files{fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%7, i): ""}.write(b, w.Dir())
	}
	benchCall(b, w, "glob", args{"pattern": "**/*.go"})
}
