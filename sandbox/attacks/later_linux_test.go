package attacks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestAttackLater covers what a host executes later: a command leaves it in a repository, and a
// tool of the host acts on it. In the sandbox run the change goes through Export, which must refuse
// it, and then the tool runs over the unchanged repository; in the control run nothing checks the
// change.
//
// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackLater(t *testing.T) {
	t.Parallel()
	need(t, "git")
	runAttacks(t, "later")
}

// later returns such an attack. In leave, $1 is a file that is created if the host executes the
// change; ./evil creates it. trigger is what the host does later.
func later(name, does string, rule sandbox.Rule, leave, trigger string) attack {
	return attack{name: name, does: does, play: func(b *bed) { b.leave(rule, leave, trigger) }, bit: func(b *bed) string {
		if why := there(filepath.Join(b.out, "host-executed")); why != "" {
			return why
		}
		why, _ := b.state["passed"].(string)
		return why
	}}
}

const evil = `printf '#!/bin/sh\ntouch "%s"\n' "$1" > evil; chmod +x evil; `

// fromJSON imitates an editor that runs the command named in a file.
const fromJSON = `sh -c "$(sed -n 's/.*"command": *"\([^"]*\)".*/\1/p' "$F")"`

func init() {
	attacks["later"] = []attack{
		later("git hook", "leaves a hook", sandbox.RuleGitHook, evil+`cp evil .git/hooks/pre-commit`, `git commit -q --allow-empty -m x`),
		later("git hook elsewhere", "tells git where hooks are", sandbox.RuleGitConfig, evil+`mkdir h && cp evil h/pre-commit && git config core.hooksPath "$PWD/h"`, `git commit -q --allow-empty -m x`),
		later("file monitor", "names a monitor, which git status starts", sandbox.RuleGitConfig, evil+`git config core.fsmonitor "$PWD/evil"`, `git status`),
		later("clean filter", "has git pass files through a program", sandbox.RuleGitConfig, evil+`git config filter.x.clean ./evil; echo '* filter=x' > .gitattributes; echo y > file`, `git add -A`),
		later("diff program", "has git compare by a program", sandbox.RuleGitConfig, evil+`git config diff.external "$PWD/evil"; echo y > file`, `git diff`),
		later("text conversion", "has git convert files to text", sandbox.RuleGitConfig, evil+`git config diff.x.textconv "$PWD/evil"; echo '* diff=x' > .gitattributes; echo y > file`, `git diff`),
		later("ssh program", "has git fetch by a program", sandbox.RuleGitConfig, evil+`git config core.sshCommand "$PWD/evil"; git remote add o ssh://localhost/x`, `git fetch o`),
		later("included settings", "has git read a file of the tree as settings", sandbox.RuleGitConfig, evil+`git config -f settings core.fsmonitor "$PWD/evil"; git config include.path ../settings`, `git status`),
		later("settings of a work tree", "uses git's second file of settings", sandbox.RuleGitConfig, evil+`git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$PWD/evil"`, `git status`),
		later("credentials", "has git ask a program for passwords", sandbox.RuleGitConfig, evil+`git config credential.helper "$PWD/evil"`, `printf 'protocol=https\nhost=localhost\n\n' | git credential fill`),
		later("signatures", "has git sign by a program", sandbox.RuleGitConfig, evil+`git config gpg.program "$PWD/evil"; git config commit.gpgsign true`, `git commit -q --allow-empty -m x`),
		later("bare repository", "makes a folder that git takes for a repository", sandbox.RuleGitBare,
			evil+`mkdir -p sub/objects sub/refs sub/w; echo 'ref: refs/heads/main' > sub/HEAD; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = w\n\tfsmonitor = "%s/evil"\n' "$PWD" > sub/config`, `cd sub && git status`),
		later("git link", "has a folder's .git lead to a repository of its making", sandbox.RuleGitLink,
			evil+`git init -q --separate-git-dir gd sub; git --git-dir gd config core.fsmonitor "$PWD/evil"`, `cd sub && git status`),
		later("submodule's hook", "leaves a hook where submodules have theirs", sandbox.RuleGitHook,
			evil+`mkdir -p .git/modules && git init -q --separate-git-dir .git/modules/m m; mkdir -p .git/modules/m/hooks; cp evil .git/modules/m/hooks/pre-commit`, `cd m && git commit -q --allow-empty -m x`),
		later("nested repository", "makes a repository in a folder", sandbox.RuleGitConfig,
			evil+`git init -q n && git -C n config core.fsmonitor "$PWD/evil"`, `cd n && git status`),
		later("directory's environment", "leaves .envrc", sandbox.RuleShell, evil+`echo ./evil > .envrc`, `test ! -e .envrc || . ./.envrc`),
		later("shell's start", "leaves .bashrc", sandbox.RuleShell, evil+`echo ./evil > .bashrc`, `HOME=$PWD bash -i -c true`),
		later("debugger's start", "leaves .gdbinit", sandbox.RuleEditor, evil+`echo 'shell ./evil' > .gdbinit`, `test ! -e .gdbinit || sh -c "$(sed 's/^shell //' .gdbinit)"`),
		later("editor's tasks", "leaves .vscode/tasks.json", sandbox.RuleEditor, evil+`mkdir .vscode; echo '{"command": "./evil", "runOn": "folderOpen"}' > .vscode/tasks.json`, `F=.vscode/tasks.json; `+fromJSON),
		later("other editor's tasks", "leaves .idea", sandbox.RuleEditor, evil+`mkdir .idea; echo '"command": "./evil"' > .idea/workspace.xml`, `F=.idea/workspace.xml; `+fromJSON),
		later("agent's servers", "leaves .mcp.json", sandbox.RuleAgent, evil+`echo '{"command": "./evil"}' > .mcp.json`, `F=.mcp.json; `+fromJSON),
		later("agent's settings", "leaves hooks for an agent", sandbox.RuleAgent, evil+`mkdir .claude; echo '{"hooks": {"command": "./evil"}}' > .claude/settings.json`, `F=.claude/settings.json; `+fromJSON),
		later("link out of the tree", "has a host tool write where the link leads", sandbox.RuleLinkEscape, `ln -s "$(dirname "$1")" d`, `touch d/host-executed`),
		later("link into the settings", "has a host tool write git's settings through a link", sandbox.RuleLinkGit,
			evil+`ln -s .git/config notes.txt`, `test ! -e notes.txt || { printf '[core]\n\tfsmonitor = "%s/evil"\n' "$PWD" >> notes.txt; git status; }`),
		flagged("disguised git directory", "calls .git by a name that is the same on other systems", sandbox.RuleGitDisguise, `mkdir -p .GIT/hooks; echo x > .GIT/hooks/pre-commit`),
		flagged("short name of git", "calls .git by its short name", sandbox.RuleGitDisguise, `mkdir 'git~1'; echo x > 'git~1/config'`),
		flagged("names that are one elsewhere", "has one file overwrite another on other systems", sandbox.RuleNameCollision, `echo a > readme; echo b > README`),
		flagged("pipe", "leaves a pipe, at which host tools hang", sandbox.RuleSpecial, `mkfifo pipe`),
		flagged("install script", "has the package manager run a script", sandbox.RuleInstall, `echo '{"name": "x", "scripts": {"postinstall": "./evil"}}' > package.json`),
		later("monitor, in place", "names a monitor in a workspace in place; the host looks by SafeGit", "", evil+`git config core.fsmonitor "$PWD/evil"; git init -q n; git -C n config core.fsmonitor "$PWD/evil"`, "safe"),
		later("hook, in place", "leaves a hook in a workspace in place", "", evil+`cp evil .git/hooks/pre-commit`, `git commit -q --allow-empty -m x`),
		later("settings moved, in place", "moves the git directory of a workspace in place away and puts its own there", "",
			evil+`cp -r .git .git2 && mv .git .git3 && mv .git2 .git; cp evil .git/hooks/pre-commit`, `git commit -q --allow-empty -m x`),
	}
}

// flagged returns an attack by a change that no tool of this host executes; the review must name
// it.
func flagged(name, does string, rule sandbox.Rule, leave string) attack {
	return attack{name: name, does: does, noControl: "it bites on other systems, or only by the host's own command", play: func(b *bed) {
		b.repository()
		sb := open(b.t, sandbox.Config{Snapshot: sandbox.SnapshotDir(b.dir)})
		sh(b.t, sb, leave)
		r, err := sb.(sandbox.Reviewer).Review(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		b.ending = "ok"
		for _, f := range r.Findings {
			if f.Rule == rule {
				return
			}
		}
		b.state["passed"] = fmt.Sprintf("the review has no finding of %s, but %v", rule, r.Findings)
	}, bit: func(b *bed) string {
		why, _ := b.state["passed"].(string)
		return why
	}}
}

// hostGit runs a script of the host's in its repository.
func (b *bed) hostGit(script string, args ...string) {
	ctx, cancel := context.WithTimeout(b.t.Context(), attackTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.WaitDelay = b.dir, time.Second
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e")
	out, err := cmd.CombinedOutput() // fails if the attack makes it fail
	b.told += fmt.Sprintf("%s: %v %s\n", script, err, out)
}

func (b *bed) repository() {
	b.hostGit(`git init -q -b main . && echo x > file && git add . && git commit -qm first`)
}

// leave lets the script leave its change and then runs the host's trigger.
func (b *bed) leave(rule sandbox.Rule, script, trigger string) {
	b.repository()
	target := filepath.Join(b.out, "host-executed")
	switch {
	case b.sb == nil:
		b.hostGit(script, target)
	case rule == "":
		sb := open(b.t, sandbox.Config{Dir: b.dir})
		exit := mustExec(b.t, sb, sandbox.Cmd{Args: []string{"sh", "-c", script, "sh", target}})
		b.told += exit.Stdout.String() + exit.Stderr.String()
	default:
		b.export(rule, script, target)
	}
	if trigger != "safe" {
		b.hostGit(trigger)
	} else if b.sb == nil {
		b.hostGit(`git status`)
	} else {
		cmd, done, err := sandbox.SafeGit(b.t.Context(), b.dir, "status", "--short")
		if err != nil {
			b.t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.t.Errorf("SafeGit: %v %s", err, out)
		}
		if err := done(); err != nil {
			b.t.Error(err)
		}
	}
	b.ending = "ok"
}

// export runs the script in a sandbox and requires its change to be refused by the rule.
func (b *bed) export(rule sandbox.Rule, script, target string) {
	sb := open(b.t, sandbox.Config{Snapshot: sandbox.SnapshotDir(b.dir)})
	exit := mustExec(b.t, sb, sandbox.Cmd{Args: []string{"sh", "-c", script, "sh", target}})
	b.told += exit.Stdout.String() + exit.Stderr.String()
	if !exit.Success() {
		b.t.Fatalf("%s: %v %s", script, exit, exit.Stderr)
	}
	_, err := sb.(sandbox.Exporter).Export(b.t.Context(), sandbox.ExportOptions{})
	var refused *sandbox.ReviewError
	if !errors.As(err, &refused) {
		b.state["passed"] = fmt.Sprintf("Export says %v", err)
		return
	}
	var rules []string
	for _, f := range refused.Findings {
		rules = append(rules, string(f.Rule))
		if f.Rule == rule {
			return
		}
	}
	b.t.Errorf("refused, but for %s and not for %s", strings.Join(rules, ", "), rule)
}

// TestAttackHostTools attacks the tools of this package that run on the host and read what a
// sandbox left.
func TestAttackHostTools(t *testing.T) {
	t.Parallel()
	runAttacks(t, "tools")
}

// follows returns an attack on Changes, Diff, Review, Export and Close.
func follows(name, does, noControl, leave, control string, hurt func(b *bed, text string) string) attack {
	return attack{name: name, does: does, noControl: noControl, play: func(b *bed) { b.follow(leave, control, hurt) }, bit: func(b *bed) string {
		why, _ := b.state["hurt"].(string)
		return why
	}}
}

func init() {
	secretShown := func(b *bed, text string) string {
		if strings.Contains(text, b.secret) {
			return "the host's secret is in what was shown"
		}
		return ""
	}
	raw := func(_ *bed, text string) string {
		if strings.ContainsAny(text, "\x1b\x07") {
			return "the terminal's controls are in what was shown"
		}
		return ""
	}
	long := func(_ *bed, text string) string {
		if len(text) > 1<<20 {
			return fmt.Sprintf("%d bytes were shown", len(text))
		}
		return ""
	}
	attacks["tools"] = []attack{
		follows("link to a secret", "has the host show what a link leads to", "", `ln -s "$1" l`, `cat l`, secretShown),
		follows("link for a directory", "has the host look into what a link leads to", "", `rm -r sub; ln -s "$(dirname "$1")" sub`, `cat sub/canary`, secretShown),
		follows("link for a file", "has the host compare a file with what a link leads to", "", `rm file; ln -s "$1" file`, `cat file`, secretShown),
		follows("controls in a name", "has the host print a name that is a command to its terminal", "", `touch "$(printf 'a\033[2Jb\007')"`, `for f in *; do echo "$f"; done`, raw),
		follows("pipe", "leaves a pipe in the place of a file, at which a reader hangs", "", `rm file; mkfifo file`, `timeout 1 cat file || echo hangs`, func(b *bed, text string) string {
			if strings.Contains(text, "hangs") {
				return "the reader hangs"
			}
			return ""
		}),
		follows("closed directories", "leaves directories that nobody may open", "outside they are the user's own to open", `mkdir -p a/b/c && touch a/b/c/f && chmod 0 a/b/c a/b a`, ``, long),
		follows("loop of links", "leaves links that lead to each other", "outside, the kernel says so", `ln -s b a; ln -s a b; ln -s . here`, ``, long),
	}
}

// follow runs every host tool over what the script left; none may take longer than the attack may.
func (b *bed) follow(leave, control string, hurt func(*bed, string) string) {
	write(b.t, b.dir, "file", "text\n")
	write(b.t, b.dir, "sub/file", "text\n")
	b.ending = "ok"
	if b.sb == nil {
		b.hostGit(leave, canary(b))
		b.told = ""
		b.hostGit(control)
		b.state["hurt"] = hurt(b, strings.TrimPrefix(b.told, control))
		return
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), attackTimeout)
	defer cancel()
	scratch := b.t.TempDir()
	sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(b.dir), ScratchDir: scratch})
	if errors.Is(err, sandbox.ErrFloor) {
		b.t.Skipf("this host does not grant the tier: %v", err)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	mustExec(b.t, sb, sandbox.Cmd{Args: []string{"sh", "-c", leave, "sh", canary(b)}})
	var shown bytes.Buffer
	changes, err := sb.(sandbox.Differ).Changes(ctx)
	fmt.Fprintf(&shown, "%q %v\n", changes, err)
	fmt.Fprintln(&shown, sb.(sandbox.Exporter).Diff(ctx, sandbox.AtSnapshot, &shown))
	r, err := sb.(sandbox.Reviewer).Review(ctx)
	if err == nil {
		for _, f := range r.Findings {
			fmt.Fprintln(&shown, f)
		}
	}
	_, err = sb.(sandbox.Exporter).Export(ctx, sandbox.ExportOptions{Dir: b.t.TempDir()})
	fmt.Fprintln(&shown, err)
	if ctx.Err() != nil {
		b.state["hurt"] = "the host's tools took too long"
	} else {
		b.state["hurt"] = hurt(b, shown.String())
	}
	if err := sb.Close(); err != nil {
		b.t.Errorf("Close: %v", err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		b.t.Errorf("left in the scratch directory: %v, %v", left, err)
	}
}
