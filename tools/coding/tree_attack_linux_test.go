package coding

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// treasure is in files outside of every tree. No tool may show or change it.
const treasure = "treasure 4711"

// everyTool calls each tool that works on files with a path, and returns what they say.
func everyTool(t *testing.T, w *Workspace, p string) string {
	t.Helper()
	var b strings.Builder
	all, err := w.Tools()
	must(t, err)
	byName := map[string]agent.Tool{}
	for _, tool := range all {
		byName[tool.Spec().Name] = tool
	}
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"read", args{"path": p}}, {"list", args{"path": p}}, {"glob", args{"path": p, "pattern": "**"}},
		{"grep", args{"path": p, "pattern": "treasure"}}, {"grep", args{"path": p, "pattern": "trea.*\n?", "multiline": true, "ignored": true}},
		{"symbols", args{"path": p}}, {"symbols", args{"name": "treasure", "path": p}},
		{"write", args{"path": p, "content": "overwritten\n", "overwrite": true}}, {"write", args{"path": p + "/new/file.txt", "content": "overwritten\n", "overwrite": true}},
		{"edit", args{"path": p, "old": treasure, "new": "gone"}},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: " + p + "\n@@\n-" + treasure + "\n+gone\n*** End Patch"}},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: " + p + "\n*** End Patch"}},
		{"git", args{"op": "status", "path": p}}, {"git", args{"op": "diff"}}, {"git", args{"op": "log"}}, {"git", args{"op": "show"}},
		{"lint", args{"paths": []string{p}, "linters": []string{"none"}}}, {"test", args{"path": p, "framework": "cargo"}},
		{"memory", args{"action": "read"}}, {"memory", args{"action": "append", "text": "overwritten"}},
		{"shell", args{"command": "true", "dir": p}},
	} {
		raw, err := json.Marshal(c.in)
		must(t, err)
		tool, call := byName[c.tool], agent.ToolCall{ID: "1", Name: c.tool, Args: raw}
		soon(t, c.tool+" "+p, func() {
			agent.EffectsOf(tool, call)
			tool.(agent.Describer).DescribeCall(call)
			if res, err := tool.Call(t.Context(), call); err != nil {
				fmt.Fprintln(&b, c.tool, err)
			} else {
				fmt.Fprintln(&b, c.tool, res.Text())
			}
		})
	}
	return b.String()
}

// hidden makes a directory of the host with the treasure, and checks at the end that it is the
// same. Every user can read and write it.
func hidden(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "luthier-hidden-*")
	must(t, err)
	files{"secret": treasure + "\n", "repo/secret": treasure + "\n"}.write(t, dir)
	r := &repo{t: t, dir: filepath.Join(dir, "repo")}
	r.git("init", "-q", "-b", "main", "--template=")
	r.git("add", "-A")
	r.git("commit", "-qm", treasure)
	must(t, os.Chmod(dir, 0o777))
	must(t, os.Chmod(filepath.Join(dir, "secret"), 0o666))
	before := tree(t, dir)
	t.Cleanup(func() {
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Errorf("files outside have changed: %s", d)
		}
		must(t, os.RemoveAll(dir))
	})
	return dir
}

// TestTreeAttacks lets a command put traps in the place of everything that the tools open, and
// checks that none shows or changes a file outside, or hangs.
//
// Evidence: coding · Links, FIFOs and huge files lead no tool out of a sandbox's tree or stop one
func TestTreeAttacks(t *testing.T) {
	out := hidden(t)
	head := strings.TrimSpace((&repo{t: t, dir: filepath.Join(out, "repo")}).git("rev-parse", "HEAD"))
	_, b := boxes(t, Config{}, files{"a/b.txt": "b\n", "go.mod": "module x\n"})
	for name, trap := range map[string]string{
		"link":                  "ln -s " + out + "/secret x",
		"link to a directory":   "ln -s " + out + " x",
		"link up":               "ln -s ../../../../../../../../" + out + "/secret x",
		"link to the root":      "ln -s /proc/self/root" + out + "/secret x",
		"link to the host":      "ln -s /proc/1/root/etc/passwd x",
		"link loop":             "ln -s y x; ln -s x y",
		"link to itself":        "mkdir x; ln -s .. x/y; ln -s ../x x/z",
		"FIFO":                  "mkfifo x",
		"FIFO in a directory":   "mkdir x; mkfifo x/secret x/go.mod x/Cargo.toml x/.gitignore x/package.json",
		"huge":                  "truncate -s 1T x",
		"huge files":            "mkdir x; for f in secret go.mod Cargo.toml .gitignore .gitattributes package.json a.go a.py; do truncate -s 1T x/$f; done",
		"huge rules":            "truncate -s 1T .gitignore .gitattributes; mkdir x",
		"FIFO rules":            "mkfifo .gitignore .gitattributes .rgignore; mkdir x",
		"link rules":            "ln -s " + out + "/secret .gitignore; mkdir x",
		"notes":                 "mkdir .luthier; ln -s " + out + "/secret .luthier/memory.md",
		"notes elsewhere":       "ln -s " + out + " .luthier",
		"FIFO notes":            "mkdir .luthier; mkfifo .luthier/memory.md",
		"repository elsewhere":  "ln -s " + out + "/repo/.git .git",
		"linked work tree":      "echo gitdir: " + out + "/repo/.git >.git",
		"linked up":             "echo gitdir: ../../../../../.." + out + "/repo/.git >.git",
		"FIFO repository":       "mkfifo .git",
		"huge repository":       "truncate -s 1T .git",
		"commondir":             "mkdir -p .git/refs .git/objects; echo ref: refs/heads/main >.git/HEAD; echo " + out + "/repo/.git >.git/commondir",
		"alternates":            "git init -q -b main; mkdir -p .git/objects/info; echo " + out + "/repo/.git/objects >.git/objects/info/alternates; echo " + head + " >.git/refs/heads/main",
		"objects elsewhere":     "git init -q -b main; rm -r .git/objects; ln -s " + out + "/repo/.git/objects .git/objects; echo " + head + " >.git/refs/heads/main",
		"FIFOs in a repository": "git init -q; git add .; rm -r .git/HEAD .git/index .git/config .git/refs; mkfifo .git/HEAD .git/index .git/config .git/packed-refs",
		"FIFO index":            "git init -q; git add .; rm .git/index; mkfifo .git/index",
		"huge index":            "git init -q; git add .; truncate -s 1T .git/index .git/packed-refs",
		"programs":              "git init -q; git config core.fsmonitor 'touch " + out + "/ran'; git config core.hooksPath " + out + "; git config include.path " + out + "/secret; git add .",
		"lock":                  "flock . sleep 1000 >/dev/null 2>&1 & mkdir x; echo x >x/secret",
		"journal":               "truncate -s 1T .luthier-0123456789abcdef.undo; chmod 600 .luthier-0123456789abcdef.undo; mkfifo .luthier-0123456789abcdee.undo; ln -s " + out + "/secret .luthier-0123456789abcded.undo",
		"link journal":          "ln -s " + out + "/secret .luthier-0123456789abcdef.undo",
	} {
		t.Run(name, func(t *testing.T) {
			b := forkOf(t, b)
			if _, err := b.box.Exec(t.Context(), shCmd(trap)); err != nil {
				t.Fatal(err)
			}
			var w *Workspace
			soon(t, "open", func() { w = openBox(t, b.box, Config{Proc: ProcConfig{TestTimeout: time.Second}}).Workspace })
			for _, p := range []string{"x", "x/secret"} {
				if text := everyTool(t, w, p); strings.Contains(strings.ReplaceAll(text, `"treasure"`, ""), treasure[len("treasure"):]) || strings.Contains(text, "root:") {
					t.Errorf("the tools show a file from outside:\n%s", text)
				}
			}
		})
	}
}

// TestTreeRaces lets a command exchange a directory and links out of the tree for ever, and checks
// that no tool shows or changes a file outside meanwhile.
//
// Evidence: coding · Exchanging files for links while a tool runs leads it nowhere outside the tree
func TestTreeRaces(t *testing.T) {
	out := hidden(t)
	snapshot, _ := boxes(t, Config{}, files{"d/secret": "inside\n", "e/secret": "inside\n"})
	script := fmt.Sprintf(`mkdir spare; ln -s %s spare/d; ln -s %s/secret spare/f; cp e/secret spare/g
while :; do mv -T d spare/dd; mv -T spare/d d; mv -T d spare/d; mv -T spare/dd d; ln -f spare/g e/secret 2>/dev/null; cp -af spare/f e/secret; done`, out, out)
	loop, err := snapshot.box.Start(t.Context(), shCmd(script))
	must(t, err)
	w := snapshot.Workspace
	calls := []struct {
		tool string
		in   args
	}{
		{"read", args{"path": "d/secret"}}, {"read", args{"path": "e/secret"}}, {"list", args{"path": "d"}}, {"grep", args{"pattern": "treasure|inside"}},
		{"write", args{"path": "d/secret", "content": "written\n", "overwrite": true}}, {"write", args{"path": "e/secret", "content": "written\n", "overwrite": true}},
		{"write", args{"path": "d/other", "content": "written\n", "overwrite": true}}, {"edit", args{"path": "e/secret", "old": "treasure", "new": "gone"}},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: d/secret\n*** End Patch"}}, {"glob", args{"pattern": "**"}},
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for _, c := range calls {
			if text := run(t, w, c.tool, c.in); strings.Contains(text, "4711") {
				t.Fatalf("%s %v shows a file from outside: %s", c.tool, c.in, text)
			}
		}
	}
	must(t, loop.Kill())
}
