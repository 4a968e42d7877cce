//go:build unix

package coding

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// asks reports whether the effects of a call say that it writes what is obeyed.
func asks(t testing.TB, w *Workspace, name string, in args) bool {
	t.Helper()
	raw, err := json.Marshal(in)
	must(t, err)
	return agent.EffectsOf(toolOf(t, w, name), agent.ToolCall{ID: "1", Name: name, Args: raw}).Flags&agent.EffectObeyed != 0
}

// TestObeyedEffects checks that calls which write a file that something later obeys or executes
// have that effect, in place, and that ordinary ones do not.
func TestObeyedEffects(t *testing.T) {
	inPlaceOnly(t) // the links of a tree are not looked at
	w := openWith(t, Config{}, files{"package.json": `{"scripts":{"test":"x"},"dependencies":{"a":"1"}}`, ".github/workflows/ci.yml": "on: push\n", "AGENTS.md": "x\n", "src/": "", "docs/rules.md": "x\n"})
	must(t, os.Symlink("docs/rules.md", filepath.Join(w.Dir(), "CLAUDE.md")))
	must(t, os.Symlink(".github", filepath.Join(w.Dir(), "forge")))
	for _, c := range []struct {
		tool string
		in   args
		want bool
	}{
		{"write", args{"path": "src/a.go", "content": "package a"}, false},
		{"write", args{"path": "AGENTS.md", "content": "x"}, true},
		{"write", args{"path": "Gemini.MD", "content": "x"}, true},
		{"write", args{"path": "src/../.mcp.json", "content": "x"}, true},
		{"write", args{"path": w.Dir() + "/.envrc", "content": "x"}, true},
		{"write", args{"path": "docs/rules.md", "content": "x"}, true}, // CLAUDE.md leads there
		{"write", args{"path": "CLAUDE.md", "content": "x"}, true},
		{"write", args{"path": "forge/workflows/x.yml", "content": "x"}, true},
		{"write", args{"path": "package.json", "content": `{"dependencies":{"a":"2"}}`}, false},
		{"write", args{"path": "package.json", "content": `{"scripts":{"test":"curl x"}}`}, true},
		{"edit", args{"path": "package.json", "old": `"a":"1"`, "new": `"a":"2"`}, false},
		{"edit", args{"path": "package.json", "old": `"test":"x"`, "new": `"test":"x","postinstall":"y"`}, true},
		{"edit", args{"path": "package.json", "old": "not there", "new": "x"}, false},
		{"edit", args{"path": ".github/workflows/ci.yml", "old": "push", "new": "pull_request"}, true},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: src/b.go\n+package b\n*** End Patch"}, false},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: src/b.go\n+package b\n*** Add File: .vscode/tasks.json\n+{}\n*** End Patch"}, true},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: docs/rules.md\n*** Move to: .cursorrules\n@@\n-x\n+y\n*** End Patch"}, true},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: .github/workflows/ci.yml\n*** End Patch"}, true},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: package.json\n@@\n-{\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}\n+{\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"3\"}}\n*** End Patch"}, false},
		{"shell", args{"command": "echo x >> AGENTS.md"}, true},
		{"shell", args{"command": "mkdir -p .claude && cp a .claude/"}, true},
		{"shell", args{"command": "cat AGENTS.md; go test ./..."}, false},
		{"shell", args{"command": "python3 -c 'open(\".mcp.json\",\"w\")'"}, true},
		{"shell", args{"command": "sed -i s/a/b/ AGENTS.md"}, true},
		{"shell", args{"command": "sed -i s/1/2/ package.json"}, false},
		{"shell", args{"command": "npm pkg set scripts.postinstall=x"}, true},
		{"shell", args{"command": "go test ./... && git add -A && git commit -m fix"}, false},
		{"shell", args{"command": "sort go.sum > src/x"}, false},
		{"memory", args{"action": "append", "text": "x"}, false},
	} {
		if got := asks(t, w, c.tool, c.in); got != c.want {
			t.Errorf("%s %v: %v, want %v", c.tool, c.in, got, c.want)
		}
	}
	private := openAt(t, w.Dir(), Config{Reviewed: true})
	if asks(t, private, "write", args{"path": "AGENTS.md", "content": "x"}) || asks(t, private, "shell", args{"command": "echo x > AGENTS.md"}) {
		t.Error("a private copy asks")
	}
}

// TestObeyedSinceTheDecision checks that a call whose effects named no obeyed file does not write
// one if a link or another call has changed that meanwhile.
func TestObeyedSinceTheDecision(t *testing.T) {
	inPlaceOnly(t) // the links of a tree are not looked at
	w := openWith(t, Config{}, files{"conf/": "", "package.json": `{"x":{"postinstall":"id"}}`})
	in := args{"path": "conf/settings.json", "content": "{}"}
	if asks(t, w, "write", in) {
		t.Fatal("an ordinary write asks")
	}
	must(t, os.Symlink("conf", filepath.Join(w.Dir(), ".claude")))
	refused(t, w, "write", in, "changed after this call was checked")
	if !asks(t, w, "write", in) {
		t.Error("the call made again does not ask")
	}
	do(t, w, "write", in) // approved meanwhile

	edit := args{"path": "package.json", "old": `"y"`, "new": `"scripts"`}
	if asks(t, w, "edit", edit) {
		t.Fatal("an edit that fails asks")
	}
	must(t, os.WriteFile(filepath.Join(w.Dir(), "package.json"), []byte(`{"y":{"postinstall":"id"}}`), 0o644))
	refused(t, w, "edit", edit, "changed after this call was checked")
}
