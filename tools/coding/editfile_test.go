//go:build unix

package coding

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

func TestEdit(t *testing.T) {
	w := openWith(t, Config{}, files{"a.go": "package a\n\nfunc A() int {\n\treturn 1\n}\n\nfunc B() int {\n\treturn 2\n}\n"})
	got := do(t, w, "edit", args{"path": "a.go", "old": "return 1", "new": "return 10"})
	contains(t, got, "Edited a.go: 1 replacement.", "4\t\treturn 10")
	if strings.Contains(got, "func B") {
		t.Errorf("shows more than the change:\n%s", got)
	}
	contains(t, do(t, w, "edit", args{"path": "a.go", "old": "return 10\n}", "new": "return 10\n"}), "no longer parses")
	contains(t, do(t, w, "edit", args{"path": "a.go", "old": "return 10\n", "new": "return 10\n}\n"}), "parses again")
	refused(t, w, "edit", args{"path": "a.go", "old": "return", "new": "x"}, "ambiguous", "4, 9")
	refused(t, w, "edit", args{"path": "a.go", "old": "nothing like it", "new": "x"}, "not found")
	refused(t, w, "edit", args{"path": "b.go", "old": "x", "new": "y"}, "a.go", "use write")
	refused(t, w, "edit", args{"path": "a.go", "old": "x", "new": "y", "edits": []args{{"old": "a", "new": "b"}}}, "not both")
	refused(t, w, "edit", args{"path": "a.go"})
}

func TestMultiEditIsAllOrNothing(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "one\ntwo\nthree\n"})
	refused(t, w, "edit", args{"path": "f", "edits": []args{{"old": "one", "new": "1"}, {"old": "absent", "new": "x"}}}, "edit 2 of 2", "None of the 2 edits")
	if got := content(t, w, "f"); got != "one\ntwo\nthree\n" {
		t.Errorf("half an edit was made: %q", got)
	}
	// A later edit sees what an earlier one wrote.
	contains(t, do(t, w, "edit", args{"path": "f", "edits": []args{{"old": "one", "new": "1"}, {"old": "1\ntwo", "new": "1\n2"}, {"old": "e", "new": "E", "all": true}}}), "4 replacements")
	if got := content(t, w, "f"); got != "1\n2\nthrEE\n" {
		t.Errorf("got %q", got)
	}
}

// TestEditAfterSomebodyElse edits a place that has moved, and one that somebody else has changed,
// since the model read the file.
//
// Evidence: coding · Changes by others are merged or refused
func TestEditAfterSomebodyElse(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "a\nb\nc\nd\n"})
	at := filepath.Join(w.Dir(), "f")
	do(t, w, "read", args{"path": "f"})
	must(t, os.WriteFile(at, []byte("new\na\nb\nc\nD\n"), 0o644))
	do(t, w, "edit", args{"path": "f", "old": "a\nb", "new": "a\nB"})
	if got := content(t, w, "f"); got != "new\na\nB\nc\nD\n" {
		t.Errorf("got %q", got)
	}
	refused(t, w, "edit", args{"path": "f", "old": "c\nd", "new": "c\ne"}, "change")
	// The model's own edit does not count as somebody else's.
	do(t, w, "edit", args{"path": "f", "old": "B", "new": "BB"})
	if got := content(t, w, "f"); got != "new\na\nBB\nc\nD\n" {
		t.Errorf("got %q", got)
	}
}

// TestPartlyShownStaysPartlyShown checks that edits do not turn unseen lines into seen ones.
func TestPartlyShownStaysPartlyShown(t *testing.T) {
	w := openWith(t, Config{}, files{"f": strings.Repeat("line\n", 50) + "mark\n" + strings.Repeat("tail\n", 49)})
	do(t, w, "read", args{"path": "f", "limit": 60})
	do(t, w, "edit", args{"path": "f", "old": "mark\n", "new": ""})
	do(t, w, "read", args{"path": "f", "offset": 61})
	refused(t, w, "write", args{"path": "f", "content": "x"}, "only lines")
}

func TestParallelEdits(t *testing.T) {
	const n = 40
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%02d = old\n", i)
	}
	w := openWith(t, Config{}, files{"f": b.String()})
	link(t, "f", w.Dir(), "alias")
	do(t, w, "read", args{"path": "f"})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := []string{"f", "alias", "./f"}[i%3]
			if _, err := try(t, w, "edit", args{"path": name, "old": fmt.Sprintf("key%02d = old", i), "new": fmt.Sprintf("key%02d = new", i)}); err != nil {
				t.Errorf("edit %d: %v", i, err)
			}
		})
		wg.Go(func() { _, _ = try(t, w, "read", args{"path": "f"}) })
	}
	wg.Wait()
	if got := content(t, w, "f"); strings.Count(got, "new") != n {
		t.Errorf("edits were lost:\n%s", got)
	}
}

// TestTwoWorkspacesOnOneDirectory uses two workspaces, which share no path locks: a lost race must
// be an error, never a lost edit.
func TestTwoWorkspacesOnOneDirectory(t *testing.T) {
	const n = 30
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%02d = old\n", i)
	}
	a := openWith(t, Config{}, files{"f": b.String()})
	c := openAt(t, a.Dir(), Config{})
	var wg sync.WaitGroup
	var made, lost atomic.Int64
	for i := range n {
		w := []*Workspace{a, c}[i%2]
		wg.Go(func() {
			for range 500 {
				_, err := try(t, w, "edit", args{"path": "f", "old": fmt.Sprintf("key%02d = old", i), "new": fmt.Sprintf("key%02d = new", i)})
				if err == nil {
					made.Add(1)
					return
				}
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	if got := content(t, a, "f"); int64(strings.Count(got, "new")) != made.Load() || made.Load() == 0 {
		t.Errorf("%d edits were reported as made, the file has %d", made.Load(), strings.Count(got, "new"))
	}
	t.Logf("%d edits made, %d refused because of the other workspace", made.Load(), lost.Load())
}

func TestEffects(t *testing.T) {
	w := openWith(t, Config{}, files{"real.go": "x", "dir/": "", ".env": "K=v", "a:b": "x"})
	link(t, "real.go", w.Dir(), "alias.go")
	for _, c := range []struct {
		tool   string
		in     string
		reads  []string
		writes []string
		flags  agent.EffectFlags
	}{
		{"read", `{"path": "alias.go"}`, []string{"real.go"}, nil, 0},
		{"read", `{"path": "dir/../real.go"}`, []string{"real.go"}, nil, 0},
		{"read", `{"path": ".env"}`, []string{".env"}, nil, agent.EffectSecret},
		{"read", `{"path": "../x"}`, []string{"../x"}, nil, agent.EffectOutside},
		{"read", `{"path": "a:b"}`, []string{"./a:b"}, nil, 0},
		{"edit", `{"path": "alias.go", "old": "a", "new": "b"}`, nil, []string{"real.go"}, 0},
		{"write", `{"path": "dir/new.go", "content": ""}`, nil, []string{"dir/new.go"}, 0},
		{"write", `{"path": "/etc/passwd", "content": ""}`, nil, []string{"/etc/passwd"}, agent.EffectOutside},
		{"grep", `{"pattern": "x", "path": "dir"}`, []string{"dir"}, nil, 0},
		{"glob", `{"pattern": "x"}`, []string{"."}, nil, 0},
		{"list", `{}`, []string{"."}, nil, 0},
		{"apply_patch", `{"patch": "*** Begin Patch\n*** Delete File: real.go\n*** Add File: n.go\n+x\n*** End Patch"}`, nil, []string{"real.go", "n.go"}, agent.EffectDelete},
		{"apply_patch", `{"patch": "nonsense"}`, nil, nil, 0},
		{"todo", `{}`, []string{agent.ResourceTodos}, nil, 0},
		{"memory", `{"action": "read"}`, []string{memoryFile}, nil, 0},
		{"memory", `{"action": "append", "text": "x"}`, nil, []string{memoryFile}, 0},
		{"ask_user", `{"question": "x"}`, nil, nil, 0},
	} {
		e := agent.EffectsOf(toolOf(t, w, c.tool), agent.ToolCall{Name: c.tool, Args: []byte(c.in)})
		if !e.Known || fmt.Sprint(e.Reads) != fmt.Sprint(c.reads) || fmt.Sprint(e.Writes) != fmt.Sprint(c.writes) || e.Flags != c.flags {
			t.Errorf("%s %s: %+v", c.tool, c.in, e)
		}
	}
}

func TestDescriptionsShowTheDiff(t *testing.T) {
	w := openWith(t, Config{}, files{"a.txt": "one\ntwo\n"})
	describe := func(tool, in string) agent.CallDescription {
		return toolOf(t, w, tool).(agent.Describer).DescribeCall(agent.ToolCall{Name: tool, Args: []byte(in)})
	}
	d := describe("edit", `{"path": "a.txt", "old": "two", "new": "2"}`)
	contains(t, d.Detail, "--- a/a.txt", "-two", "+2")
	contains(t, describe("write", `{"path": "a.txt", "content": "one\n"}`).Detail, "-two")
	contains(t, describe("apply_patch", `{"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}`).Title, "delete a.txt")
	contains(t, describe("read", `{"path": "a.txt", "offset": 5, "limit": 2}`).Title, "read a.txt lines 5-6")
	if got := content(t, w, "a.txt"); got != "one\ntwo\n" {
		t.Errorf("a description changed the file: %q", got)
	}
}

func TestCanceledCallDoesNothing(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "a\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for tool, in := range map[string]args{
		"edit": {"path": "f", "old": "a", "new": "b"}, "write": {"path": "n", "content": "x"}, "grep": {"pattern": "a"}, "glob": {"pattern": "*"}, "list": {},
	} {
		if _, err := tryCtx(t, ctx, w, tool, in); err == nil {
			t.Errorf("%s succeeded with a context that had ended", tool)
		}
	}
	if got := tree(t, w.Dir()); len(got) != 1 || got["f"] != "a\n" {
		t.Errorf("got %v", got)
	}
}
