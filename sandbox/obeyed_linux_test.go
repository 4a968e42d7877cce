package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// hostScript runs a script in dir as the host would, with a configuration of git of its own.
func hostScript(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// planted are programs and settings that the host's git or other programs execute later. host
// prepares the repository; plant is what a command does.
var planted = []struct{ name, host, plant string }{
	{"core.hooksPath", "git config core.hooksPath tools/hooks; mkdir -p tools/hooks; echo x > tools/hooks/pre-commit", "echo y > tools/hooks/pre-commit"},
	{"core.hooksPath, a new hook", "git config core.hooksPath tools/hooks; mkdir -p tools/hooks; echo x > tools/hooks/pre-commit", "echo y > tools/hooks/post-checkout"},
	{"core.hooksPath, no directory yet", "git config core.hooksPath tools/hooks", "mkdir -p tools/hooks; echo y > tools/hooks/post-checkout"},
	{"core.hooksPath, replaced by a link", "git config core.hooksPath tools/hooks", "mkdir evil; echo x > evil/pre-commit; mkdir -p tools; ln -s ../evil tools/hooks"},
	{"core.hooksPath, absolute", `git config core.hooksPath "$PWD/tools/hooks"; mkdir -p tools/hooks; echo x > tools/hooks/a`, "echo y > tools/hooks/pre-push"},
	{"core.hooksPath, the top", "git config core.hooksPath .", "echo y > pre-commit"},
	{"core.hooksPath, through a link", "mkdir real; echo x > real/pre-commit; ln -s real hooks; git config core.hooksPath hooks", "echo y > real/pre-commit"},
	{"core.hooksPath of the user", "git config --global core.hooksPath .h; mkdir .h; echo x > .h/pre-commit", "echo y > .h/pre-commit"},
	{"core.hooksPath of a work tree", "git config extensions.worktreeConfig true; git config --worktree core.hooksPath wt; mkdir wt; echo x > wt/pre-commit", "echo y > wt/pre-commit"},
	{"hook is a link", "mkdir -p h; echo x > h/pre-commit; ln -s ../../h/pre-commit .git/hooks/pre-commit", "echo y > h/pre-commit"},
	{"hook is a link that leads nowhere yet", "ln -s ../../h/pre-commit .git/hooks/pre-commit", "mkdir -p h; echo y > h/pre-commit"},
	{"directory of hooks is a link", "mkdir -p h; rm -r .git/hooks; echo x > h/pre-commit; ln -s ../h .git/hooks", "echo y > h/pre-push"},
	{"hook is a hard link", "mkdir -p h; echo x > h/pre-commit; ln h/pre-commit .git/hooks/pre-commit", "echo y > h/pre-commit"},
	{"include.path", "git config include.path ../inc; echo '[color]' > inc", `printf '[core]\n\tfsmonitor = evil\n' > inc`},
	{"include.path, no file yet", "git config include.path ../deep/inc", `mkdir -p deep; printf '[alias]\n\tst = !evil\n' > deep/inc`},
	{"includeIf", "git config includeIf.onbranch:never.path ../inc; echo '[color]' > inc", `printf '[core]\n\tsshCommand = evil\n' > inc`},
	{"include of an include", `git config include.path ../inc; printf '[include]\n\tpath = inc2\n' > inc`, `printf '[credential]\n\thelper = evil\n' > inc2`},
	{"the user's configuration is a link", `echo '[color]' > dot; ln -sf "$PWD/dot" "$GIT_CONFIG_GLOBAL"`, `printf '[core]\n\tpager = evil\n' > dot`},
	{"filter", "git config filter.f.clean 'tools/clean %f'; mkdir tools; echo x > tools/clean", "echo y > tools/clean"},
	{"filter by an interpreter", "git config filter.f.smudge 'python3 clean.py'; echo x > clean.py", "echo y > clean.py"},
	{"filter.process", "git config filter.f.process ./proc", "echo y > proc"},
	{"textconv", "git config diff.x.textconv ./tools/tc", "mkdir -p tools; echo y > tools/tc"},
	{"diff.external", "git config diff.external $PWD/tools/d", "mkdir -p tools; echo y > tools/d"},
	{"diff command of a driver", "git config diff.x.command tools/d", "mkdir -p tools; echo y > tools/d"},
	{"merge driver", "git config merge.x.driver 'tools/m %A %O %B'", "mkdir -p tools; echo y > tools/m"},
	{"core.fsmonitor", "git config core.fsmonitor tools/watch", "mkdir -p tools; echo y > tools/watch"},
	{"core.sshCommand", "git config core.sshCommand 'sh tools/ssh.sh'", "mkdir -p tools; echo y > tools/ssh.sh"},
	{"gpg.program", "git config gpg.program ./gpg", "echo y > gpg"},
	{"gpg.ssh.program", "git config gpg.ssh.program ./gpg", "echo y > gpg"},
	{"credential.helper", "git config credential.helper '!./cred'", "echo y > cred"},
	{"credential helper of a host", "git config credential.https://example.com.helper \"$PWD/cred\"", "echo y > cred"},
	{"core.editor", "git config core.editor ./ed", "echo y > ed"},
	{"sequence.editor", "git config sequence.editor ./ed", "echo y > ed"},
	{"core.pager", "git config core.pager 'bin/pager -R'", "mkdir bin; echo y > bin/pager"},
	{"pager of a command", "git config pager.log bin/pager", "mkdir bin; echo y > bin/pager"},
	{"alias", "git config alias.x '!sh tools/x.sh'", "mkdir -p tools; echo y > tools/x.sh"},
	{"alias by the top", `git config alias.x '!"$(git rev-parse --show-toplevel)/tools/x"'`, "mkdir -p tools; echo y > tools/x"},
	{"interactive.diffFilter", "git config interactive.diffFilter tools/hl", "mkdir -p tools; echo y > tools/hl"},
	{"trailer.command", "git config trailer.x.cmd tools/tr", "mkdir -p tools; echo y > tools/tr"},
	{"mergetool", "git config mergetool.x.cmd 'tools/mt $LOCAL'", "mkdir -p tools; echo y > tools/mt"},
	{"remote.uploadpack", "git config remote.o.uploadpack ./up", "echo y > up"},
	{"submodule.update", "git config submodule.x.update '!./up'", "echo y > up"},
	{"core.attributesFile", "git config core.attributesFile attrs", "echo '*.c filter=x' > attrs"},
	{"init.templateDir", "git config init.templateDir tpl; mkdir -p tpl/hooks", "echo y > tpl/hooks/post-checkout"},
	{".gitattributes", "git config filter.f.clean cat", "echo '*.c filter=f' > .gitattributes"},
	{"nested repository", "mkdir -p vendor/x; git init -q vendor/x", `printf '[core]\n\tfsmonitor = evil\n' >> vendor/x/.git/config`},
	{"deep nested repository", "mkdir -p a/b/c/d; git init -q a/b/c/d", `echo x > a/b/c/d/.git/hooks/post-checkout`},
	{"nested repository's core.hooksPath", "git init -q sub; git -C sub config core.hooksPath hk", "mkdir -p sub/hk; echo y > sub/hk/pre-commit"},
	{"nested .git file", "mkdir .git/modules; git init -q --separate-git-dir .git/modules/s s", "echo 'gitdir: ../evil' > s/.git"},
	{"settings of a submodule", "mkdir .git/modules; git init -q --separate-git-dir .git/modules/s s", `printf '[core]\n\tfsmonitor = evil\n' >> .git/modules/s/config`},
	{"hook of a submodule through its settings", "mkdir .git/modules; git init -q --separate-git-dir .git/modules/s s; git -C s config core.hooksPath hk", "mkdir s/hk; echo y > s/hk/pre-commit"},
	{"bare repository", "git init -q --bare b.git", `printf '[core]\n\tfsmonitor = evil\n' >> b.git/config`},
	{"link to settings of an agent", "mkdir cfg; echo {} > cfg/settings.json; ln -s cfg .claude", "echo '{\"hooks\":1}' > cfg/settings.json"},
	{"link in place of settings", "mkdir cfg; echo {} > cfg/tasks.json", "ln -s cfg .vscode"},
	{"link in place of .github", ":", "mkdir -p gh/workflows; echo x > gh/workflows/x.yml; ln -s gh .github"},
	{"instructions by a link", "mkdir docs; echo x > docs/rules; ln -s docs/rules AGENTS.md", "echo y > docs/rules"},
	{".hg/hgrc", "mkdir .hg", "echo '[hooks]' > .hg/hgrc"},
	{"GNUmakefile", ":", "echo all: > GNUmakefile"},
	{"rust-toolchain", ":", "echo x > rust-toolchain.toml"},
	{"eslint.config.js", ":", "echo x > eslint.config.js"},
	{".eslintrc.cjs", ":", "mkdir -p web; echo x > web/.eslintrc.cjs"},
	{"vite.config.ts", ":", "echo x > vite.config.ts"},
	{".prettierrc.js", ":", "echo x > .prettierrc.js"},
	{".Rprofile", ":", "echo x > .Rprofile"},
	{".envrc", ":", "echo x > .envrc"},
	{"sitecustomize.py", ":", "echo x > sitecustomize.py"},
	{"go.mod toolchain", `printf 'module x\n\ngo 1.26\n' > go.mod`, "echo 'toolchain go1.26.1' >> go.mod"},
	{"go.mod replace", `printf 'module x\n\ngo 1.26\n' > go.mod`, `printf 'replace (\n\ta => ./b\n)\n' >> go.mod`},
	{"cargo's settings", ":", "mkdir .cargo; echo x > .cargo/config.toml"},
	{"short name of NTFS", ":", "mkdir 'CLAUDE~1'; echo x > 'CLAUDE~1/settings.json'"},
	{"stream of NTFS", ":", "echo x > '.envrc::$DATA'"},
}

// TestPlantedProgramsAreFound plants programs that the host would execute later, and checks that
// each is held or found, in place and from a snapshot.
//
// Evidence: sandbox · What the host's own git would execute later is held or found
func TestPlantedProgramsAreFound(t *testing.T) {
	tier.Normal(t)
	need(t, "git")
	for _, p := range planted {
		for _, inPlace := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in place %v", p.name, inPlace), func(t *testing.T) {
				dir := cleanClone(t)
				hostScript(t, dir, p.host)
				cfg := Config{Snapshot: SnapshotDir(dir)}
				if inPlace {
					cfg = Config{Dir: dir}
				}
				sb := open(t, cfg)
				if r := reviewed(t, sb); len(r.Findings) > 0 {
					t.Errorf("before anything was planted: %v", r.Findings)
				}
				exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-ec", p.plant}})
				if r := reviewed(t, sb); exit.Success() && len(r.Findings) == 0 {
					t.Errorf("nothing held or found it; %+v", r.Changes)
				} else if !inPlace && !exit.Success() {
					t.Errorf("not planted: %s", exit.Stderr)
				}
			})
		}
	}
}

// cleanClone returns a fresh clone of a small repository, owned by this user, where git has no
// configuration of its own but an empty one of the user.
func cleanClone(t testing.TB) string {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	from := t.TempDir()
	hostScript(t, from, "git init -q .; echo a > f; git add -A; git -c user.name=n -c user.email=e commit -qm i")
	dir := filepath.Join(t.TempDir(), "clone")
	hostScript(t, from, "git clone -q . "+dir)
	return dir
}

// TestFreshCloneIsClean opens fresh clones at once, over both ways to clone: a clone that nobody
// touched since has nothing to review.
//
// Evidence: sandbox · A fresh clone that is opened at once has no findings
func TestFreshCloneIsClean(t *testing.T) {
	need(t, "git")
	from := cleanClone(t)
	if os.Getenv("LUTHIER_CLONE") != "" {
		from = os.Getenv("LUTHIER_CLONE") // any repository, by hand
	}
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		for _, url := range []string{from, "file://" + from} {
			dir := filepath.Join(t.TempDir(), "c")
			cmd := exec.Command("git", "clone", "-q", url, dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, cfg := range []Config{{Dir: dir, Floor: TierNone, Ceiling: TierNone}, {Snapshot: SnapshotDir(dir), Floor: TierNone, Ceiling: TierNone}} {
				sb := open(t, cfg)
				if r := reviewed(t, sb); len(r.Findings) > 0 {
					t.Errorf("clone %d of %s: %v", i, url, r.Findings)
				}
				// What a command does at once is seen nevertheless.
				sh(t, sb, "echo x > .envrc")
				if r := reviewed(t, sb); len(r.Refused()) != 1 {
					t.Errorf("clone %d of %s: a change is not found: %v", i, url, r.Findings)
				}
				if err := os.Remove(filepath.Join(dir, ".envrc")); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestReviewWrite checks which changes of single files are of files that something obeys or
// executes.
func TestReviewWrite(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{".claude/settings.json", "AGENTS.md", "agents.MD", "AGENTS.md.", "AGENTS.md ", "AGENTS.md::$DATA", "AGEN\u200cTS.md", "sub/AGENTS.md",
		".github/workflows/x.yml", ".GitHub/Workflows/x.yml", `.github\workflows\x.yml`, "GITHUB~1/workflows/x.yml", "VSCODE~1/tasks.json", ".vscode /tasks.json",
		".git/hooks/x", "git~1/config", ".g\u200cit/config", "sub/.git/config", ".mcp.json", ".envrc", "ENVRC~1", ".npmrc", "setup.py", "build.rs", ".husky/pre-commit", "Jenkinsfile",
		"GNUmakefile", "rust-toolchain", ".Rprofile", "eslint.config.mjs", ".prettierrc.cjs", "sitecustomize.py", ".devcontainer/devcontainer.json", "\u017fitecustomize.py", ".env\u0280c/../.envrc",
	} {
		if path = filepath.ToSlash(filepath.Clean(path)); len(ReviewWrite(dir, FileWrite{Path: path, After: []byte("x")})) == 0 {
			t.Errorf("%q: nothing found", path)
		}
	}
	for _, path := range []string{"src/main.go", "Makefile", "README.md", "docs/agents.md.txt", "docs/github/workflows.md", ".gitignore", "vite.config.ts", "a/.env.example",
		"node_modules/x/.eslintrc.js", "conftest.py", "github/workflows/x.yml", "agents/md", "package.json", "x~1/y", "vscode/tasks.json"} {
		if found := ReviewWrite(dir, FileWrite{Path: path, After: []byte("{}")}); len(found) > 0 {
			t.Errorf("%q: %v", path, found)
		}
	}
}

// TestReviewWriteOfManifests checks that changed dependencies are ordinary, and that what a package
// manager runs or takes from elsewhere is not.
func TestReviewWriteOfManifests(t *testing.T) {
	for _, c := range []struct {
		path, before, after string
		found               bool
	}{
		{"go.mod", "module x\n", "module x\nrequire a v1\n", false},
		{"go.mod", "module x\n", "module x\nreplace a => b v1\n", true},
		{"go.mod", "module x\n", "module x\nreplace (\n\ta v1 => ../b\n)\n", true},
		{"sub/go.mod", "module x\n", "module x\ntoolchain go1.99\n", true},
		{"go.mod", "replace a => b v1\n", "replace a => b v1\nrequire c v1\n", false},
		{"package.json", `{"dependencies":{"a":"1"}}`, `{"dependencies":{"a":"2","b":"^1"}}`, false},
		{"package.json", `{}`, `{"scripts":{"postinstall":"x"}}`, true},
		{"package.json", `{}`, `{"scripts":{"pretest":"x"}}`, true},
		{"package.json", `{}`, `{"simple-git-hooks":{"pre-commit":"x"}}`, true},
		{"package.json", `{}`, `{"dependencies":{"a":"https://evil.example/a.tgz"}}`, true},
		{"package.json", `{}`, `{"dependencies":{"a":"evil/a"}}`, true},
		{"package.json", `{"scripts":{"prepare":"x"}}`, `{"scripts":{"prepare":"x"},"version":"2"}`, false},
		{"package-lock.json", `"resolved": "https://r.example/a"`, `"resolved": "https://r.example/b"`, false},
		{"package-lock.json", ``, `"resolved": "https://registry.npmjs.org/b", "funding": "x"`, false},
		{"package-lock.json", `"resolved": "https://r.example/a"`, `"resolved": "https://s.example/a"`, true},
		{"yarn.lock", ``, `  resolved "https://evil.example/a.tgz#1"`, true},
		{"Cargo.lock", ``, `source = "registry+https://github.com/rust-lang/crates.io-index"`, false},
		{"Cargo.lock", ``, `source = "git+https://evil.example/a"`, true},
		{"poetry.lock", ``, `url = "https://files.pythonhosted.org/a"`, false},
		{"go.sum", ``, "a v1 h1:x\n", false},
		{"requirements.txt", "a==1\n", "a==2\nb>=1 # c\n", false},
		{"requirements-dev.txt", "", "-i https://evil.example/simple\n", true},
		{"requirements.txt", "", "--extra-index-url=https://evil.example/simple\n", true},
		{"requirements.txt", "", "a @ git+https://evil.example/a\n", true},
		{"pyproject.toml", "[project]\n", "[project]\ndependencies = [\"a\"]\n", false},
		{"pyproject.toml", "", "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n", false},
		{"pyproject.toml", "", "[build-system]\nrequires = [\"setuptools>=61\", \"wheel\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"x\"\n", false},
		{"pyproject.toml", "", "[build-system]\nrequires = [\"evil\"]\n", true},
		{"pyproject.toml", "", "[build-system]\nbuild-backend = \"b\"\nbackend-path = [\".\"]\n", true},
		{"pyproject.toml", "", "build-system.build-backend = \"b\"\n", true},
		{"pyproject.toml", "", "[tool.hatch.build.hooks.custom]\npath = \"x\"\n", true},
		{"Cargo.toml", "[dependencies]\n", "[dependencies]\nserde = \"1\"\n", false},
		{"Cargo.toml", "[package]\n", "[package]\nbuild = \"x.rs\"\n", true},
		{"Cargo.toml", "", "[patch.crates-io]\na = { path = \"b\" }\n", true},
		{"Gemfile", "", "source \"https://rubygems.org\"\ngem \"rails\", require: false\n", false},
		{"Gemfile", "", "system(\"id\")\n", true},
		{"composer.json", `{}`, `{"require":{"a/b":"1"}}`, false},
		{"composer.json", `{}`, `{"scripts":{"post-install-cmd":"x"}}`, true},
		{".gitattributes", "", "* text=auto\n*.go diff=golang\n", false},
		{".gitattributes", "", "*.c filter=x\n", true},
	} {
		found := ReviewWrite(t.TempDir(), FileWrite{Path: c.path, Before: []byte(c.before), After: []byte(c.after)})
		if len(found) > 0 != c.found {
			t.Errorf("%s: %q to %q: %v", c.path, c.before, strings.TrimSpace(c.after), found)
		}
	}
}

// TestReviewWriteWithoutPath checks that a workspace without a path is judged by names and
// contents, and that no file of this machine is looked at for it.
func TestReviewWriteWithoutPath(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".git/config", "[core]\n\thooksPath = scripts\n")
	write(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	t.Chdir(dir)
	for path, want := range map[string]bool{"AGENTS.md": true, ".github/workflows/ci.yml": true, "src/a.go": false, "scripts/pre-commit": false} {
		if got := ReviewWrite("", FileWrite{Path: path, After: []byte("x")}); len(got) > 0 != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := ReviewWrite(dir, FileWrite{Path: "scripts/pre-commit", After: []byte("x")}); len(got) == 0 {
		t.Error("in place, a hook is no finding")
	}
}
