//go:build unix

package coding

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestLinkSinceTheDecision checks that a call writes no other file than the one for which it was
// let through, if a link has taken the place of a file or of a directory on the way meanwhile. Made
// again, it is checked for the other file and writes it.
//
// Evidence: coding · A link swapped after a call was approved does not lead it to another file
func TestLinkSinceTheDecision(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		in         args
		swap       [2]string // what becomes a link, and to what
		is         string    // where the path leads then
	}{
		{"a new file", "write", args{"path": "sub/new.txt", "content": "x\n"}, [2]string{"sub", "other"}, "other/new.txt"},
		{"a file", "write", args{"path": "sub/f.txt", "content": "x\n"}, [2]string{"sub/f.txt", "../other/f.txt"}, "other/f.txt"},
		{"a directory above", "edit", args{"path": "sub/deep/f.txt", "old": "one", "new": "two"}, [2]string{"sub", "other"}, "other/deep/f.txt"},
		{"an edited file", "edit", args{"path": "sub/f.txt", "old": "one", "new": "two"}, [2]string{"sub/f.txt", "../other/f.txt"}, "other/f.txt"},
		{"a patched file", "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: sub/f.txt\n@@\n-one\n+two\n*** End Patch"}, [2]string{"sub/f.txt", "../other/f.txt"}, "other/f.txt"},
		{"an added file", "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: sub/new.txt\n+x\n*** End Patch"}, [2]string{"sub", "other"}, "other/new.txt"},
		{"a deleted file", "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: sub/f.txt\n*** End Patch"}, [2]string{"sub", "other"}, "other/f.txt"},
		{"a target of a move", "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: sub/new.txt\n@@\n-one\n+two\n*** End Patch"}, [2]string{"sub", "other"}, "other/new.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := openWith(t, Config{}, files{"a.txt": "one\n", "sub/f.txt": "one\n", "sub/deep/f.txt": "one\n", "other/f.txt": "one\n", "other/deep/f.txt": "one\n"})
			for _, p := range []string{"a.txt", "sub/f.txt", "sub/deep/f.txt", "other/f.txt", "other/deep/f.txt"} {
				do(t, w, "read", args{"path": p})
			}
			asks(t, w, c.tool, c.in)
			link := filepath.Join(w.Dir(), c.swap[0])
			must(t, os.RemoveAll(link))
			must(t, os.Symlink(c.swap[1], link))
			before := tree(t, w.Dir())
			refused(t, w, c.tool, c.in, c.is, "changed after this call was checked")
			if d := cmp.Diff(before, tree(t, w.Dir())); d != "" {
				t.Errorf("the refused call changed files (-before +after):\n%s", d)
			}
			asks(t, w, c.tool, c.in)
			do(t, w, c.tool, c.in)
			if d := cmp.Diff(before[c.is], tree(t, w.Dir())[c.is]); d == "" {
				t.Errorf("%s is as before", c.is)
			}
		})
	}
}
