package obeyed

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs commands, one a line, in dir.
func git(t *testing.T, dir, script string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `git() { command git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always "$@"; }
`+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// TestOutsideGit: the git directories that a work tree uses outside itself are found, and none that
// does not know the work tree, whatever its .git file says.
func TestOutsideGit(t *testing.T) {
	const repo = "git init -q main && cd main && echo one > a.txt && git add . && git commit -qm one && cd ..\n"
	for _, tt := range []struct{ name, script, tree, want string }{
		{"a plain clone", repo, "main", ""},
		{"a linked work tree", repo + "git -C main worktree add -q ../wt -b b", "wt", "main/.git"},
		{"one with relative paths", repo + "git -C main worktree add -q ../wt -b b && echo gitdir: ../main/.git/worktrees/wt > wt/.git && echo ../../../../wt/.git > main/.git/worktrees/wt/gitdir", "wt", "main/.git"},
		{"one of a bare repository", repo + "git clone -q --bare main bare && git -C bare worktree add -q ../wt", "wt", "bare"},
		{"one inside the bare repository", repo + "git clone -q --bare main bare && git -C bare worktree add -q wt", "bare/wt", "bare/HEAD bare/config bare/objects bare/packed-refs bare/refs bare/info bare/worktrees"},
		{"a submodule", repo + "git init -q super && cd super && git submodule --quiet add ../main sub", "super/sub", "super/.git/modules/sub"},
		{"a separate git directory", repo + "git clone -q --separate-git-dir git main wt", "wt", "git"},
		{"one without commits", "git init -q --separate-git-dir git wt", "wt", ""},
		{"another's repository", repo + "mkdir wt && echo gitdir: $PWD/main/.git > wt/.git && cp main/a.txt wt", "wt", ""},
		{"another's linked work tree", repo + "git -C main worktree add -q ../real -b b; mkdir wt && cp -p real/.git real/a.txt wt", "wt", ""},
		{"another's submodule", repo + "git init -q super && cd super && git submodule --quiet add ../main sub && cp -r sub ../wt && echo gitdir: ../super/.git/modules/sub > ../wt/.git", "wt", ""},
		{"a git directory inside that names another's", repo + "mkdir -p wt/g && echo gitdir: g > wt/.git && echo ../../main/.git > wt/g/commondir && echo $PWD/wt/.git > wt/g/gitdir && echo ref: refs/heads/x > wt/g/HEAD", "wt", ""},
		{"a link to another's", repo + "mkdir wt && ln -s ../main/.git wt/.git", "wt", ""},
		{"no git directory", "mkdir -p wt secret && echo gitdir: ../secret > wt/.git", "wt", ""},
		{"one that names the tree but is none", "mkdir -p wt secret && echo gitdir: ../secret > wt/.git && printf '[core]\\nworktree = ../wt\\n' > secret/config", "wt", ""},
		{"an index that fits in nothing", repo + "git clone -q --separate-git-dir git main wt && touch wt/a.txt && cp wt/a.txt b && mv b wt/a.txt", "wt", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := real(t.TempDir())
			git(t, top, tt.script)
			var got []string
			for _, p := range OutsideGit(filepath.Join(top, tt.tree)) {
				rel, err := filepath.Rel(top, p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, filepath.ToSlash(rel))
			}
			want := strings.Fields(tt.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}
