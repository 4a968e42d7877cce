package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/internal/tokencount"
	"github.com/luthier-dev/luthier/tools"
)

// recorded returns what Record makes of the output of a command.
func recorded(t *testing.T, cfg compaction.Config, text string) string {
	t.Helper()
	h := compaction.New(cfg).Record()(func(_ context.Context, op *agent.Op) error {
		op.Result = &agent.ToolResult{CallID: "1", Parts: []agent.Part{agent.Text{Text: text}}}
		return nil
	})
	op := &agent.Op{Call: &agent.ToolCall{ID: "1", Name: "shell", Args: json.RawMessage(`{"command":"./report"}`)}}
	if err := h(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	return op.Result.Text()
}

// TestEndsOfLongTables: of an output that is no log and too long, the first and the last lines stay
// as they were, and the notes say which lines are missing and how to read them.
func TestEndsOfLongTables(t *testing.T) {
	for name, row := range map[string]string{"csv": "    %d,user%[1]d,error\n", "yaml": "  - id: %d\n    name: x\n", "json": "{\"id\": %d, \"error\": \"ValueError: no\"}\n", "tree": "│   ├── file%d.go\n"} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&b, row, i+1)
			}
			text := b.String() + "[exit code 0 after 3ms]"
			got := recorded(t, compaction.Config{Store: tools.NewMemStore()}, text)
			m := regexp.MustCompile(`(?s)^(.*\n)\[… lines (\d+) to (\d+) left out …\]\n(.*)\n\[beginning and end of (\d+) tokens, (\d+) lines; whole: read_artifact (artifact-\w+), by lines or pattern\]$`).FindStringSubmatch(got)
			if m == nil {
				t.Fatalf("recorded as\n%s", got)
			}
			lines := strings.SplitAfter(text, "\n")
			var from, to int
			fmt.Sscan(m[2]+" "+m[3], &from, &to)
			if m[1] != strings.Join(lines[:from-1], "") || m[4] != strings.Join(lines[to:], "") {
				t.Errorf("lines %d to %d are not what is missing:\n%s", from, to, got)
			}
			if n := tokencount.Estimate(got); n < 3000 || n > 4200 {
				t.Errorf("%d tokens are kept", n)
			}
			if short := recorded(t, compaction.Config{Store: tools.NewMemStore(), WholeTokens: 1000}, text); tokencount.Estimate(short) > 1100 {
				t.Errorf("%d tokens are kept of 1000", tokencount.Estimate(short))
			}
			if off := recorded(t, compaction.Config{Store: tools.NewMemStore(), ResultTokens: -1}, text); off != text {
				t.Errorf("turned off, %d bytes of %d are kept", len(off), len(text))
			}
			if none := recorded(t, compaction.Config{}, text); none != text {
				t.Errorf("without a store, %d bytes of %d are kept", len(none), len(text))
			}
		})
	}
}
