package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/compaction/replay"
)

// A run of an agent that looked for a function in a long output, with a policy that keeps only the
// beginning and end of outputs.
func ExampleReplay() {
	record := `{"messages": [
		{"role": "user", "content": "Why does it crash?"},
		{"role": "assistant", "tool_calls": [{"id": "1", "name": "sh", "arguments": {"command": "cat server.log"}}]},
		{"role": "tool", "tool_call_id": "1", "content": "` + strings.Repeat("GET / 200\\n", 400) + `panic in read_header\n` + strings.Repeat("GET / 200\\n", 400) + `"},
		{"role": "assistant", "tool_calls": [{"id": "2", "name": "sh", "arguments": {"command": "grep -n read_header *.c"}}]},
		{"role": "tool", "tool_call_id": "2", "content": "http.c:71:int read_header(void)"},
		{"role": "assistant", "content": "read_header in http.c has no check of its input."}]}`
	run, err := replay.Read("crash", strings.NewReader(record))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	raw, err := replay.Replay(ctx, run, replay.Raw(), replay.Config{})
	if err != nil {
		log.Fatal(err)
	}
	cut, err := replay.Replay(ctx, run, replay.Truncate("cut", 1000), replay.Config{})
	if err != nil {
		log.Fatal(err)
	}
	score := replay.Compare(raw, cut)
	fmt.Println("cheaper:", score.Cost < 0.5)
	fmt.Printf("support: %.0f %%\n", 100*score.Support)
	fmt.Println("lost at the second step:", cut.Steps[1].Lost)
	if err := replay.WriteTable(os.Stderr, []replay.Score{score}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// cheaper: true
	// support: 0 %
	// lost at the second step: [{identifier read_header}]
}
