package coding_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// project creates a small directory to work in.
func project() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	text := "package main\n\n// main greets.\nfunc main() {\n\tprintln(\"hello\")\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir
}

// call runs one tool as a model would call it.
func call(r *tools.Registry, name, args string) {
	res := r.Call(context.Background(), agent.ToolCall{ID: "1", Name: name, Args: []byte(args)})
	fmt.Println(res.Text())
}

func Example() {
	dir := project()
	defer os.RemoveAll(dir)
	ws, err := coding.Open(dir, coding.Config{Only: []string{"read", "edit"}})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, err := ws.Tools()
	if err != nil {
		log.Fatal(err)
	}
	registry, err := tools.NewRegistry(ts...)
	if err != nil {
		log.Fatal(err)
	}
	call(registry, "read", `{"path": "main.go", "offset": 4}`)
	call(registry, "edit", `{"path": "main.go", "old": "hello", "new": "hello, world"}`)
	// Output:
	// 4	func main() {
	// 5		println("hello")
	// 6	}
	// (lines 4-6 of 6, the end)
	// Edited main.go: 1 replacement.
	// 3	// main greets.
	// 4	func main() {
	// 5		println("hello, world")
	// 6	}
}

func ExampleWorkspace_Tools() {
	dir := project()
	defer os.RemoveAll(dir)
	ws, err := coding.Open(dir, coding.Config{Only: []string{"write", "grep"}, Ripgrep: "none"})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, _ := ws.Tools()
	registry, _ := tools.NewRegistry(ts...)
	call(registry, "grep", `{"pattern": "func \\w+\\(", "type": "go"}`)
	call(registry, "write", `{"path": "main.go", "content": "package main\n"}`)
	call(registry, "write", `{"path": "../escape.txt", "content": "x"}`)
	// Output:
	// main.go
	// 4:func main() {
	// (1 matching line in 1 file)
	// write: main.go exists (6 lines) and was not read yet; read it first so that nothing in it is lost, use edit to change a part of it, or set overwrite to replace it unseen
	// write: ../escape.txt: it is outside the workspace; use a path relative to it, without ..
}

func ExampleConfig_ask() {
	dir := project()
	defer os.RemoveAll(dir)
	ws, err := coding.Open(dir, coding.Config{
		Only: []string{"ask_user"},
		Ask: func(ctx context.Context, q coding.Question) (string, error) {
			return "the second: " + q.Options[1], nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	ts, _ := ws.Tools()
	registry, _ := tools.NewRegistry(ts...)
	call(registry, "ask_user", `{"question": "Tabs or spaces?", "options": ["tabs", "spaces"]}`)
	// Output:
	// the second: spaces
}
