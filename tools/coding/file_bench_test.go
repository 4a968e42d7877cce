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
	benchCalls(b, w, name, []args{in})
}

// benchCalls makes the calls in turn, after one round that is not measured.
func benchCalls(b *testing.B, w *Workspace, name string, ins []args) {
	b.Helper()
	tool := toolOf(b, w, name)
	var calls []agent.ToolCall
	for _, in := range ins {
		raw, err := json.Marshal(in)
		must(b, err)
		calls = append(calls, agent.ToolCall{ID: "1", Name: name, Args: raw})
	}
	call := func(i int) {
		if _, err := tool.Call(context.Background(), calls[i%len(calls)]); err != nil {
			b.Fatal(err)
		}
	}
	for i := range calls {
		call(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		call(i)
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
	benchCalls(b, w, "edit", []args{{"path": "f.txt", "old": "mark one", "new": "mark two"}, {"path": "f.txt", "old": "mark two", "new": "mark one"}})
}

func BenchmarkGlob(b *testing.B) {
	w := openWith(b, Config{}, nil)
	for i := range 5000 {
		files{fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%7, i): ""}.write(b, w.Dir())
	}
	benchCall(b, w, "glob", args{"pattern": "**/*.go"})
}
