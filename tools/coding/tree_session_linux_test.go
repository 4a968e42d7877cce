package coding

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
)

// aProject is a small project with a test that fails.
var aProject = files{
	"go.mod": "module example.com/calc\n\ngo 1.21\n", "calc/calc.go": "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n\n// Sub subtracts.\nfunc Sub(a, b int) int { return Add(a, -b) }\n",
	"calc/calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Fatal(got)\n\t}\n}\n",
	"notes.txt":         "old notes\n", "crlf.txt": "a\r\nb\r\n", ".gitignore": "*.log\n/made/\n", "x.log": "needle\n", "docs/a.md": "# A\n",
}

// aSession holds calls that an agent may make in aProject.
var aSession = []struct {
	tool string
	in   args
}{
	{"list", args{}},
	{"read", args{"path": "calc/calc.go"}},
	{"grep", args{"pattern": "func (Add|Sub)"}},
	{"grep", args{"pattern": "needle"}},
	{"grep", args{"pattern": "needle", "ignored": true, "mode": "files"}},
	{"glob", args{"pattern": "**/*.go", "sort": "path"}},
	{"symbols", args{"path": "calc/calc.go"}},
	{"symbols", args{"name": "Add", "find": "callers"}},
	{"test", args{}},
	{"edit", args{"path": "calc/calc.go", "old": "a - b", "new": "a + b"}},
	{"test", args{}},
	{"write", args{"path": "calc/mul.go", "content": "package calc\n\nfunc Mul(a, b int) int { return a * b }\n"}},
	{"read", args{"path": "notes.txt"}},
	{"write", args{"path": "notes.txt", "content": "new notes\n"}},
	{"edit", args{"path": "crlf.txt", "old": "b", "new": "c"}},
	{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: docs/a.md\n*** Move to: docs/b.md\n@@\n-# A\n+# B\n*** Delete File: x.log\n*** Add File: docs/new/c.md\n+# C\n*** End Patch"}},
	{"shell", args{"command": "cat calc/mul.go notes.txt crlf.txt docs/b.md docs/new/c.md; ls x.log; ln calc/mul.go hard.go; ln -s docs/b.md link.md; mkdir made; echo made >made/by.txt; chmod 600 notes.txt"}},
	{"edit", args{"path": "hard.go", "old": "a * b", "new": "b * a"}},
	{"edit", args{"path": "link.md", "old": "# B", "new": "# BB"}},
	{"shell", args{"command": "cat calc/mul.go docs/b.md; stat -c '%n %a %h' hard.go notes.txt link.md docs/new docs/new/c.md; ls -a . docs"}},
	{"read", args{"path": "made/by.txt"}},
	{"read", args{"path": "gone.txt"}},
	{"read", args{"path": "../gone.txt"}},
	{"write", args{"path": ".git/hooks/post-commit", "content": "x"}},
	{"git", args{"op": "status"}},
	{"git", args{"op": "diff"}},
	{"git", args{"op": "log"}},
	{"lint", args{"linters": []string{"go vet"}}},
	{"memory", args{"action": "append", "text": "- Add adds now"}},
	{"memory", args{"action": "read"}},
	{"shell", args{"command": "cat .luthier/memory.md; git add -A && git commit -qm work && git log --format=%s | cat", "dir": "."}},
	{"git", args{"op": "show", "stat": true}},
	{"git", args{"op": "blame", "path": "calc/calc.go", "start_line": 4, "end_line": 4}},
	{"list", args{"path": "docs"}},
}

// varying matches what differs between runs that do the same.
var varying = regexp.MustCompile(`\d+(\.\d+)?m?s\b|\(\d+\.\d+s\)|artifact \S+ \([^)]*\)|\b[0-9a-f]{10}\b|\b20\d\d-\d\d-\d\d\b|index [0-9a-f]+\.\.[0-9a-f]+`)

// session makes the calls and returns their results.
func session(t *testing.T, w *Workspace) []string {
	t.Helper()
	var out []string
	for _, c := range aSession {
		text := run(t, w, c.tool, c.in)
		text = strings.ReplaceAll(text, w.Dir(), "WORKSPACE")
		out = append(out, c.tool+": "+varying.ReplaceAllString(text, "VARYING"))
	}
	return out
}

// TestSessionOnTrees checks that every tool says and does the same in place, on a snapshot, and on
// a fork.
//
// Evidence: coding · Every tool gives the same results in place, on a snapshot and on a fork
func TestSessionOnTrees(t *testing.T) {
	env := []string{"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_DATE=2026-01-15T12:00:00Z", "GIT_COMMITTER_DATE=2026-01-15T12:00:00Z"}
	cfg := Config{Proc: ProcConfig{Env: env}}
	place := newRepo(t, aProject)
	snapshot, fork := boxesOf(t, newRepo(t, aProject).dir, cfg)
	box, err := sandbox.Local(t.Context(), sandbox.Config{Dir: place.dir, Unprotect: []string{".git"}})
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	cfg.Proc.Sandbox = box
	want := session(t, openAt(t, place.dir, cfg))
	wantFiles := snapshotText(t, boxed{nil, box})
	for name, b := range map[string]boxed{"snapshot": snapshot, "fork": fork} {
		if d := cmp.Diff(want, session(t, b.Workspace)); d != "" {
			t.Errorf("results in place and on the %s (-place +%s):\n%s", name, name, d)
		}
		if d := cmp.Diff(wantFiles, snapshotText(t, b)); d != "" {
			t.Errorf("files in place and on the %s (-place +%s):\n%s", name, name, d)
		}
	}
}

// snapshotText returns what the commands of a box see: kinds, modes, links and contents of all
// files, and the tree of the last commit.
func snapshotText(t *testing.T, b boxed) string {
	return b.sh(t, `find . -path ./.git -prune -o \( -type d -printf '%p %y %m\n' -o -printf '%p %y %m %n %l\n' \) | sort; find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort -k2; git rev-parse HEAD^{tree}`)
}
