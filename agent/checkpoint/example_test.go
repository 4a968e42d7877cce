package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/agent/checkpoint"
)

func Example() {
	work, _ := os.MkdirTemp("", "work")
	store, _ := os.MkdirTemp("", "store")
	defer os.RemoveAll(work)
	defer os.RemoveAll(store)
	file := filepath.Join(work, "main.go")
	show := func(what string) {
		text, _ := os.ReadFile(file)
		fmt.Printf("%s: %s\n", what, text)
	}

	ctx := context.Background()
	s, err := checkpoint.Open(work, store, checkpoint.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()

	os.WriteFile(file, []byte("good"), 0o644)
	id, _ := s.Snapshot(ctx, "before the agent's turn")
	os.WriteFile(file, []byte("bad"), 0o644)
	changed, _ := s.Changes(ctx, id, checkpoint.Now)
	fmt.Println("changed:", changed)

	undo, _ := s.Restore(ctx, id)
	show("restored")
	s.Restore(ctx, undo)
	show("restore undone")
	// Output:
	// changed: [main.go]
	// restored: good
	// restore undone: bad
}
