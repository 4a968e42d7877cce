package compaction_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/tools"
)

// A history that is too long: a file that was read long ago becomes a stub with its outline and a
// handle; the user's words and the latest turns stay.
func ExampleCompactor_Compact() {
	source := "package store\n\n// Put stores a value.\nfunc (s *Store) Put(key string, value []byte) error {\n" +
		strings.Repeat("\ts.log(\"storing one of many values\")\n", 120) + "\treturn nil\n}\n"
	history := []agent.Message{agent.UserText("Make Put safe for concurrent use.")}
	for i := range 12 {
		id := fmt.Sprintf("call%d", i)
		history = append(history,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: "read", Args: []byte(fmt.Sprintf(`{"path":"store%d.go"}`, i))}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: source}}}}})
	}

	c := compaction.New(compaction.Config{Store: tools.NewMemStore()})
	short, report, err := c.Compact(context.Background(), history, 12_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("fits:", report.After <= 12_000, "and pairs:", agent.CheckPairing(short) == nil)
	fmt.Println(short[0].Text())
	head, outline, _ := strings.Cut(short[2].Parts[0].(agent.ToolResult).Text(), "\n")
	what, where, _ := strings.Cut(head, ", ")
	fmt.Println(what, "… read back with read_artifact:", strings.Contains(where, "whole: read_artifact artifact-"))
	fmt.Println(outline)
	// Output:
	// fits: true and pairs: true
	// Make Put safe for concurrent use.
	// [compacted: read store0.go … read back with read_artifact: true
	// 4: func (s *Store) Put(key string, value []byte) error
}

// A ledger of a conversation, gathered by code alone.
func ExampleNewLedger() {
	turn := func(id, tool, args, result string) []agent.Message {
		return []agent.Message{
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: tool, Args: []byte(args)}}},
			{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: result}}}}},
		}
	}
	history := []agent.Message{agent.UserText("Make the tests pass.")}
	history = append(history, turn("1", "edit", `{"path":"store.go","old":"a","new":"b"}`, "edited store.go")...)
	history = append(history, turn("2", "shell", `{"command":"go test ./..."}`, "--- FAIL: TestPut (0.00s)\n    store_test.go:17: got 1, want 2\nFAIL\nFAIL\texample.com/store\t0.01s\n[exit code 1 after 2s]")...)
	fmt.Println(compaction.NewLedger(history))
	// Output:
	// <ledger>
	// Files:
	// - store.go ⇒ changed 1×
	// Commands, the latest last:
	// - go test ./... ⇒ 1×, exit 1: FAIL example.com/store 0.01s
	// Failing tests:
	// - TestPut
	// </ledger>
}
