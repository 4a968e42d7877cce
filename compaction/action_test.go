package compaction

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

type doing struct {
	Kind   kind
	Path   string
	Span   string
	Writes []string
}

func TestActionOf(t *testing.T) {
	shell := func(line string) string {
		raw, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, c := range []struct {
		name, tool, args string
		want             doing
	}{
		{"read", "read", `{"path":"./a/b.go","offset":10,"limit":5}`, doing{kindRead, "a/b.go", "10-14", nil}},
		{"read whole", "read_file", `{"file_path":"/w/a.go"}`, doing{kindRead, "/w/a.go", "0-", nil}},
		{"view range", "str_replace_based_edit_tool", `{"command":"view","path":"a.go","view_range":[3,9]}`, doing{kindRead, "a.go", "3-9", nil}},
		{"view to end", "editor", `{"command":"view","path":"a.go","view_range":[3,-1]}`, doing{kindRead, "a.go", "3-", nil}},
		{"replace", "str_replace_based_edit_tool", `{"command":"str_replace","path":"a.go"}`, doing{kindEdit, "a.go", "0-", []string{"a.go"}}},
		{"edit", "edit", `{"path":"a.go","old":"x","new":"y"}`, doing{kindEdit, "a.go", "0-", []string{"a.go"}}},
		{"patch", "apply_patch", `{"patch":"*** Begin Patch\n*** Update File: a.go\n@@\n*** Add File: b.go\n*** End Patch"}`, doing{kindEdit, "a.go", "0-", []string{"a.go", "b.go"}}},
		{"grep tool", "grep", `{"pattern":"foo","path":"x"}`, doing{kindSearch, "x", "0-", nil}},
		{"artifact", "read_artifact", `{"handle":"artifact-0"}`, doing{kindRecall, "", "0-", nil}},
		{"todo", "todo", `{"todos":[]}`, doing{kindPlan, "", "0-", nil}},
		{"git diff", "git", `{"op":"diff"}`, doing{kindDiff, "", "0-", nil}},
		{"git log", "git", `{"op":"log"}`, doing{kindCommand, "", "0-", nil}},
		{"malformed", "read", `{"path": "a.go`, doing{kindRead, "", "0-", nil}},
		{"wrong types", "read", `{"path":"a.go","offset":"ten","limit":[1]}`, doing{kindRead, "a.go", "0-", nil}},
		{"no object", "shell", `[1,2]`, doing{kindCommand, "", "0-", nil}},

		{"sed range", "bash", shell("sed -n '120,180p' src/x.py"), doing{kindRead, "src/x.py", "120-180", nil}},
		{"sed to end", "bash", shell("sed -n '120,$p' src/x.py"), doing{kindRead, "src/x.py", "120-", nil}},
		{"nl and sed", "bash", shell("cd w && nl -ba x.py | sed -n '5,9p'"), doing{kindRead, "w/x.py", "5-9", nil}},
		{"cat", "bash", shell("cat x.py"), doing{kindRead, "x.py", "0-", nil}},
		{"head", "bash", shell("head -n 20 x.py"), doing{kindRead, "x.py", "1-20", nil}},
		{"head short", "bash", shell("head -20 x.py"), doing{kindRead, "x.py", "1-20", nil}},
		{"write", "bash", shell("cat <<'EOF' > x.py\nprint(1)\nEOF"), doing{kindEdit, "x.py", "0-", []string{"x.py"}}},
		{"sed -i", "bash", shell("sed -i 's/a/b/' x.py"), doing{kindEdit, "x.py", "0-", []string{"x.py"}}},
		{"edit and run", "bash", shell("sed -i 's/a/b/' x.py && pytest -q"), doing{kindCommand, "x.py", "0-", []string{"x.py"}}},
		{"read what ran", "bash", shell("go test ./... 2>&1 | tail -20"), doing{kindCommand, "", "0-", nil}},
		{"grep", "bash", shell("grep -rn foo . | head"), doing{kindSearch, "", "0-", nil}},
		{"find", "bash", shell("find . -name '*.go'"), doing{kindList, "", "0-", nil}},
		{"ls", "bash", shell("cd x; ls -la"), doing{kindList, "", "0-", nil}},
		{"git diff in a shell", "bash", shell("git -C x diff HEAD~1"), doing{kindDiff, "", "0-", nil}},
		{"checkout", "bash", shell("git checkout x.py"), doing{kindEdit, "x.py", "0-", []string{"x.py"}}},
		{"python", "bash", shell("python3 t.py"), doing{kindCommand, "", "0-", nil}},
		{"unparsable", "bash", shell("if then ("), doing{kindCommand, "", "0-", nil}},
		{"editor language open", "shell", shell("open src/A.java 120"), doing{kindRead, "src/A.java", "120-", nil}},
		{"editor language edit", "shell", shell("edit 1:2\nfoo\nend_of_edit"), doing{kindEdit, "", "0-", nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := actionOf(agent.ToolCall{Name: c.tool, Args: json.RawMessage(c.args)})
			if d := cmp.Diff(c.want, doing{a.kind, a.path, a.span(), a.writes}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func FuzzActionOf(f *testing.F) {
	f.Add("bash", `{"command":"cat a | sed -n '1,2p' > b"}`)
	f.Add("edit", `{"path":"a","patch":"*** Update File: b\n"}`)
	f.Add("x", `{"view_range":[1,-1],"path":{}}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		a := actionOf(agent.ToolCall{Name: name, Args: json.RawMessage(args)})
		if len(a.title()) > len(name)+len(args)*6+600 {
			t.Errorf("a title of %d bytes", len(a.title()))
		}
		a.key()
	})
}
