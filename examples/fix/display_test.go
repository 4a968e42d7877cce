package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// TestRefusalsAreFolded checks that hundreds of refused edits take only a few lines on the screen,
// but all appear in JSON.
func TestRefusalsAreFolded(t *testing.T) {
	steps := make([]harness.Step, 0, 12)
	for i := range 10 {
		steps = append(steps, harness.Step{N: i + 1, Tool: repair.ToolEdit, Args: json.RawMessage(`{"line":1,"text":"x"}`), Result: "it does not compile", Failed: true})
	}
	steps = append(steps, harness.Step{N: 11, Tool: repair.ToolRun, Result: repair.ResultOK})
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		d := &display{w: &out, json: asJSON}
		for _, s := range steps {
			d.step(s)
		}
		got := strings.Count(out.String(), "it does not compile")
		if want := map[bool]int{false: 3, true: 10}[asJSON]; got != want {
			t.Errorf("json %v: %d refusals are shown, want %d:\n%s", asJSON, got, want, &out)
		}
		if folded := strings.Contains(out.String(), "… 7 more edits refused\n"); folded == asJSON {
			t.Errorf("json %v: the others are told of: %v\n%s", asJSON, folded, &out)
		}
	}
}
