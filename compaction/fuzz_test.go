package compaction

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/tools"
)

// FuzzCompact compacts a history with arbitrary results, arguments and words.
func FuzzCompact(f *testing.F) {
	f.Add("shell", `{"command":"go test"}`, "--- FAIL: TestX\n[exit code 1]", "I think", uint16(300))
	f.Add("read", `{"path":"a.go"}`, numberedFile(1, 50), "", uint16(100))
	f.Add("grep", `{"pattern":"x"}`, strings.Repeat("a/b.go:12:x\n", 90), "```go\nx\n```", uint16(2000))
	f.Add("x", `{`, stubMark+"artifact-", foldMark+ledgerBegin, uint16(1))
	f.Add("ls", `{"command":"ls -R"}`, "\x1b[31m\r\n\xff\x00"+unchangedMark+"(call c0)]", leftOut+"…]", uint16(50))
	f.Fuzz(func(t *testing.T, tool, args, result, words string, budget uint16) {
		if len(result) > 1<<16 || len(args) > 1<<14 || len(words) > 1<<14 {
			return
		}
		valid := utf8.ValidString(result) && utf8.ValidString(args) && utf8.ValidString(words) && utf8.ValidString(tool)
		ms := []agent.Message{agent.UserText("task")}
		for i := range 9 {
			ex := exchange(strings.Repeat("c", i+1), tool, args, result+strings.Repeat("\n", i%3))
			ex[0].Parts = append([]agent.Part{agent.Text{Text: words}}, ex[0].Parts...)
			ms = append(ms, ex...)
		}
		c := New(Config{Store: tools.NewMemStore(), Calls: 50})
		out, rep, err := c.Compact(ctx, ms, int(budget)+30)
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.CheckPairing(out); err != nil {
			t.Error(err)
		}
		if rep.After > int(budget)+30 {
			t.Errorf("%d tokens, the budget is %d", rep.After, int(budget)+30)
		}
		for _, m := range out {
			if valid && !utf8.ValidString(transcript([]agent.Message{m})) {
				t.Errorf("not UTF-8: %q", transcript([]agent.Message{m}))
			}
		}
	})
}

// TestHugeInputsStayLinear: megabytes of one byte, of line ends or of escape bytes take linear
// time.
func TestHugeInputsStayLinear(t *testing.T) {
	for _, unit := range []string{"x", "\n", "\x1b", "a/b ", "7\t\n", "[compacted: ", "artifact-"} {
		begin := time.Now()
		text := strings.Repeat(unit, tier.Pick(1<<20, 4<<20, 16<<20)/len(unit))
		for _, call := range [][2]string{{"shell", `{"command":"make"}`}, {"read", `{"path":"a.go"}`}, {"ls", `{"command":"ls"}`}} {
			ms := append([]agent.Message{agent.UserText("task")}, exchange("c", call[0], call[1], text)...)
			ms = append(ms, exchange("d", "shell", `{"command":"true"}`, "ok")...)
			if _, rep, err := New(Config{}).Compact(ctx, ms, 400); err != nil || rep.After > 400 {
				t.Errorf("%q in %s: %+v, %v", unit, call[0], rep, err)
			}
		}
		if d := time.Since(begin); d > 2*time.Minute {
			t.Errorf("%q took %s", unit, d)
		}
	}
}
