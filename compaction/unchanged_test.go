package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

func numberedFile(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\tresult%d := transform(input, %d) // step of the way\n", i, i, i*7)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func exchange(id, tool, args, text string) []agent.Message {
	return []agent.Message{
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: tool, Args: []byte(args)}}},
		{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: text}}}}},
	}
}

func TestUnchanged(t *testing.T) {
	c := New(Config{})
	live := append([]agent.Message{agent.UserText("go")}, exchange("r1", "read", `{"path":"a.go"}`, numberedFile(1, 80))...)
	again := agent.ToolCall{ID: "r2", Name: "read", Args: []byte(`{"path":"a.go","offset":20,"limit":40}`)}

	t.Run("a part that stands above", func(t *testing.T) {
		got, ok := c.unchanged(again, numberedFile(20, 59), live)
		want := `[unchanged: lines 20-59 stand above in the result of read a.go (call r1)]`
		if !ok || got != want {
			t.Errorf("got %q, %v, want %q", got, ok, want)
		}
	})
	t.Run("lines that moved", func(t *testing.T) {
		moved := strings.Split(numberedFile(20, 59), "\n")
		for i, l := range moved {
			_, rest, _ := strings.Cut(l, "\t")
			moved[i] = fmt.Sprintf("%d\t%s", i+23, rest)
		}
		got, ok := c.unchanged(again, "22\tnew line\n"+strings.Join(moved, "\n"), live)
		if !ok || !strings.HasPrefix(got, "22\tnew line\n[unchanged: lines 23-62 (then 20-59) stand above") {
			t.Errorf("got %q, %v", got, ok)
		}
	})
	t.Run("around a change", func(t *testing.T) {
		text := strings.Replace(numberedFile(20, 59), "result40 :=", "other :=", 1)
		got, ok := c.unchanged(again, text, live)
		if !ok || strings.Count(got, unchangedMark) != 2 || !strings.Contains(got, "\n40\tother := transform") {
			t.Errorf("got %q, %v; want the changed line between two pointers", got, ok)
		}
	})
	t.Run("what changed is shown", func(t *testing.T) {
		if got, ok := c.unchanged(again, strings.ReplaceAll(numberedFile(20, 59), "transform", "convert"), live); ok {
			t.Errorf("every line is new, got %q", got)
		}
	})
	t.Run("what was pruned is shown", func(t *testing.T) {
		stub := append([]agent.Message{agent.UserText("go")}, exchange("r1", "read", `{"path":"a.go"}`, stubMark+"read a.go]\n"+numberedFile(1, 80))...)
		if got, ok := c.unchanged(again, numberedFile(20, 59), stub); ok {
			t.Errorf("the copy is not in the context, got %q", got)
		}
	})
	t.Run("who insists gets it", func(t *testing.T) {
		short, _ := c.unchanged(again, numberedFile(20, 59), live)
		insisting := append(live[:len(live):len(live)], exchange("r2", "read", string(again.Args), short)...)
		if got, ok := c.unchanged(again, numberedFile(20, 59), insisting); ok {
			t.Errorf("asked a second time, got %q", got)
		}
		spelled := again
		spelled.Args = []byte(`{ "limit": 40.0, "offset": 2e1, "path": "\u0061.go" }`)
		if got, ok := c.unchanged(spelled, numberedFile(20, 59), insisting); ok {
			t.Errorf("asked a second time in another spelling, got %q", got)
		}
	})
	t.Run("little is shown", func(t *testing.T) {
		if got, ok := c.unchanged(again, numberedFile(20, 23), live); ok {
			t.Errorf("four lines, got %q", got)
		}
	})
}

// TestPointersKeepTheirTarget checks that a result counts as read when a later result points at it,
// and that another result of the same age is removed instead.
func TestPointersKeepTheirTarget(t *testing.T) {
	ms := append([]agent.Message{agent.UserText("go")}, exchange("r1", "read", `{"path":"a.go"}`, numberedFile(1, 300))...)
	ms = append(ms, exchange("o1", "read", `{"path":"b.go"}`, strings.ReplaceAll(numberedFile(1, 300), "result", "other"))...)
	for i := range 10 {
		ms = append(ms, exchange(fmt.Sprint("x", i), "shell", `{"command":"true"}`, "ok")...)
	}
	ms = append(ms, exchange("r2", "read", `{"path":"a.go","offset":20,"limit":40}`, numberedFile(20, 59))...)
	ms = append(ms, exchange("y1", "shell", `{"command":"true"}`, "ok")...)
	c := New(Config{Calls: 1000})
	text := func(ms []agent.Message, i int) string { return firstText(ms[i].Parts[0].(agent.ToolResult).Parts) }
	for name, ms := range map[string][]agent.Message{"as it comes in": ms[:len(ms)-2], "later": func() []agent.Message {
		out, _ := compact(t, New(Config{OnlyWhenFull: true}), ms[:len(ms)-2], 1<<30)
		return append(out[:len(out):len(out)], ms[len(ms)-2:]...)
	}()} {
		out, _ := compact(t, c, ms, 1<<30)
		last := text(out, len(ms[:27])-1)
		if !strings.HasPrefix(last, unchangedMark) || isStub(text(out, 2)) || !isStub(text(out, 4)) {
			t.Errorf("%s: the second read is %.80q, its target a stub: %v, the other file: %v", name, last, isStub(text(out, 2)), isStub(text(out, 4)))
		}
	}
}

// TestPointersKeepWhatWasReadAgain checks that a result does not become out of date when a later
// one repeats it by pointing at it.
func TestPointersKeepWhatWasReadAgain(t *testing.T) {
	ms := append([]agent.Message{agent.UserText("go")}, exchange("r1", "read", `{"path":"a.go"}`, numberedFile(1, 300))...)
	ms = append(ms, exchange("r2", "read", `{"path":"./a.go"}`, numberedFile(1, 300))...)
	ms, _ = compact(t, New(Config{OnlyWhenFull: true}), ms, 1<<30)
	for i := range 4 {
		ms = append(ms[:len(ms):len(ms)], exchange(fmt.Sprint("x", i), "shell", `{"command":"true"}`, "ok")...)
	}
	out, rep := compact(t, New(Config{Calls: 1000}), ms, 1<<30)
	if isStub(firstText(out[2].Parts[0].(agent.ToolResult).Parts)) {
		t.Errorf("what the second read points at was pruned: %+v", rep)
	}
}

// TestUnchangedIsTrue expands the pointers of random results and checks that the original text
// comes back.
//
// Evidence: compaction · Text that is still in the context is not repeated
func TestUnchangedIsTrue(t *testing.T) {
	found := 0
	for seed := range uint64(300) {
		r := newRandom(seed)
		lines := strings.Split(numberedFile(1, 120), "\n")
		live := []agent.Message{agent.UserText("go")}
		texts := map[string][]numberedLine{}
		c := New(Config{})
		for i := range 6 {
			switch r.IntN(3) {
			case 0:
				lines[r.IntN(len(lines))] = "changed " + r.text(3)
			case 1:
				at := r.IntN(len(lines))
				lines = append(lines[:at:at], append([]string{"inserted " + r.text(2)}, lines[at:]...)...)
			}
			from := r.IntN(60)
			text := strings.Join(lines[from:from+10+r.IntN(50)], "\n")
			id := fmt.Sprint("c", i)
			got, ok := c.unchanged(agent.ToolCall{ID: id, Name: "read", Args: []byte(fmt.Sprint(i))}, text, live)
			if ok {
				found++
				undo(t, got, text, texts)
			} else {
				got = text
			}
			texts[id] = splitNumbered(got)
			live = append(live, exchange(id, "read", fmt.Sprint(i), got)...)
		}
	}
	if found < 50 {
		t.Errorf("only %d results pointed at another", found)
	}
}

// undo checks that the result named by each pointer in short has the lines of text that the pointer
// replaces.
func undo(t *testing.T, short, text string, texts map[string][]numberedLine) {
	t.Helper()
	want := splitNumbered(text)
	at := 0
	for line := range strings.SplitSeq(short, "\n") {
		if !strings.HasPrefix(line, unchangedMark) {
			if at >= len(want) || splitNumbered(line)[0] != want[at] {
				t.Fatalf("%q does not stand in the result at line %d", line, at)
			}
			at++
			continue
		}
		var id string
		for id = range pointedAt(line) {
		}
		var n, k int
		if _, err := fmt.Sscanf(line, unchangedMark+"lines %d-%d", &n, &k); err == nil {
			n = k - n + 1
		} else if _, err := fmt.Sscanf(line, unchangedMark+"%d lines", &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !holds(texts[id], want[at:at+n]) {
			t.Fatalf("%s does not have the %d lines of %q", id, n, line)
		}
		at += n
	}
	if at != len(want) {
		t.Errorf("%d of %d lines are told", at, len(want))
	}
}

func holds(old, run []numberedLine) bool {
	for i := 0; i+len(run) <= len(old); i++ {
		same := true
		for j := range run {
			same = same && old[i+j].text == run[j].text
		}
		if same {
			return true
		}
	}
	return false
}
