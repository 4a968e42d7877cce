package harness_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/harness"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// TestRepairsShareAModel: repairs that run at once on one model go as each would alone.
func TestRepairsShareAModel(t *testing.T) {
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	repairing := func() string {
		var steps strings.Builder
		res, err := harness.Run(context.Background(), harness.Config{Model: m, Case: onPaper{"nothing"}, Edits: 4, OnStep: func(s harness.Step) {
			fmt.Fprintf(&steps, "%d %s %s\n", s.N, s.Tool, s.Args)
		}})
		fmt.Fprintln(&steps, res.Why, err)
		return steps.String()
	}
	want := repairing()
	got := make(chan string)
	for range 3 {
		go func() { got <- repairing() }()
	}
	for range 3 {
		if g := <-got; g != want {
			t.Errorf("beside others:\n%s\nalone:\n%s", g, want)
		}
	}
}
