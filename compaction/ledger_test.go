package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
)

// work returns a history of some work: reads, an edit, tests that fail and then pass, a todo list.
func work() []agent.Message {
	ms := []agent.Message{agent.UserText("make the tests pass; keep the API")}
	ms = append(ms, exchange("c1", "read", `{"path":"store.go"}`, numberedFile(1, 30))...)
	ms = append(ms, exchange("c2", "shell", `{"command":"go test ./..."}`, "--- FAIL: TestPut (0.00s)\n    store_test.go:17: got 1, want 2\nFAIL\nFAIL\texample.com/store\t0.01s\nFAIL\n[exit code 1 after 2s]")...)
	ms = append(ms, exchange("c3", "edit", `{"path":"store.go","old":"x","new":"y"}`, "edited store.go")...)
	ms = append(ms, exchange("c4", "shell", `{"command":"go vet ./..."}`, "[exit code 0 after 1s]")...)
	ms = append(ms, exchange("c5", "todo", `{"todos":[{"text":"fix Put","status":"completed"},{"text":"fix Get","status":"in_progress"}]}`, "ok")...)
	return ms
}

func TestLedger(t *testing.T) {
	l := NewLedger(work())
	got := l.String()
	want := strings.TrimSpace(`
<ledger>
Files:
- store.go ⇒ changed 1×, read all #` + l.Files[0].Hash + `
Commands, the latest last:
- go test ./... ⇒ 1×, exit 1: ` + l.Commands[0].Result + `
- go vet ./... ⇒ 1×, exit 0
Failing tests:
- ` + strings.Join(l.Failing, "\n- ") + `
Todo:
- [x] fix Put
- [>] fix Get
</ledger>`)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(l.Failing) != 1 || !strings.Contains(l.Failing[0], "TestPut") || len(l.Files[0].Hash) != 8 {
		t.Errorf("failing %q, hash %q", l.Failing, l.Files[0].Hash)
	}
	ms := append(work(), exchange("c6", "shell", `{"command":"go test ./..."}`, "ok  \texample.com/store\t0.01s\n[exit code 0 after 2s]")...)
	if l := NewLedger(ms); len(l.Failing) != 0 || l.Commands[len(l.Commands)-1].Runs != 2 || l.Commands[len(l.Commands)-1].Exit != "0" {
		t.Errorf("after the tests passed: %s", l)
	}
}

// TestLedgerBelievesTheExitCode: a command that succeeded has no failing tests, whatever it
// printed.
func TestLedgerBelievesTheExitCode(t *testing.T) {
	ms := append(work(), exchange("c6", "shell", `{"command":"cat old.log"}`, "--- FAIL: TestOther (0.00s)\nFAIL\n[exit code 0 after 2s]")...)
	ms = append(ms, exchange("c7", "shell", `{"command":"./show old.log"}`, "--- FAIL: TestOther (0.00s)\nFAIL\n[exit code 0 after 2s]")...)
	if l := NewLedger(ms); len(l.Failing) != 1 || !strings.Contains(l.Failing[0], "TestPut") {
		t.Errorf("failing: %q, want TestPut alone", l.Failing)
	}
}

func TestLedgerIsReadBack(t *testing.T) {
	each(t, 150, func(t *testing.T, r *random, ms []agent.Message) {
		l := NewLedger(ms)
		again := parseLedger(l.String())
		if d := cmp.Diff(l.String(), again.String()); d != "" {
			t.Errorf("a ledger is not what its text says (-wrote +read):\n%s", d)
		}
	})
}

func TestLedgerMissing(t *testing.T) {
	l := NewLedger(work())
	full := "Changed store.go. go test ./... failed in " + strings.Join(l.Failing, ", ") + "; fix Get is next."
	if m := l.Missing(full); len(m) != 0 {
		t.Errorf("a full summary misses %q", m)
	}
	if m := l.Missing("I did things."); len(m) != 4 {
		t.Errorf("an empty one misses %q, want file, command, test and todo", m)
	}
}

// TestLedgerSurvives: what a ledger knows survives repeated compactions.
//
// Evidence: compaction · The ledger survives repeated compactions
func TestLedgerSurvives(t *testing.T) {
	ms := work()
	c := New(Config{Store: tools.NewMemStore()})
	for round := range 4 {
		for i := range 12 {
			id := fmt.Sprintf("r%d_%d", round, i)
			ms = append(ms, exchange(id, "shell", fmt.Sprintf(`{"command":"make step%d_%d"}`, round, i), strings.Repeat(fmt.Sprintf("compiled unit %d of the step\n", i), 80)+"[exit code 0 after 1s]")...)
		}
		ms, _ = compact(t, c, ms, 2500)
	}
	text := transcript(ms)
	for _, want := range []string{"make the tests pass; keep the API", "store.go ⇒ changed 1×", "TestPut", "[>] fix Get", "Left out earlier:"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is lost:\n%s", want, text)
		}
	}
}

func FuzzParseLedger(f *testing.F) {
	f.Add(NewLedger(work()).String())
	f.Add("<ledger>\nFiles:\n- a ⇒ changed ×, read # ⇒ x\nCommands, the latest last:\n- ⇒ \n- x ⇒ 3, exit : artifact-\n</ledger>")
	f.Fuzz(func(t *testing.T, text string) {
		l := parseLedger(text)
		again := parseLedger(l.String())
		if d := cmp.Diff(again.String(), parseLedger(again.String()).String()); d != "" {
			t.Errorf("(-first +second):\n%s", d)
		}
	})
}
