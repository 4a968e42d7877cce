package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// found maps path and rule to severity.
func found(r *Review) map[string]Severity {
	out := map[string]Severity{}
	for _, f := range r.Findings {
		key := f.Path + " " + string(f.Rule)
		out[key] = max(out[key], f.Severity)
	}
	return out
}

func reviewed(t testing.TB, sb Sandbox) *Review {
	t.Helper()
	r, err := sb.(Reviewer).Review(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hostLater is a shell script that makes one of each kind of file that the host would execute
// later.
const hostLater = `set -e
mkdir -p .git/hooks .git/objects/ab .git/info .git/modules/m/hooks sub/bare/objects sub/bare/refs .vscode .idea .claude .cursor .devcontainer .husky deep/.git plain .config/fish
echo x > .git/hooks/pre-commit; echo x > .git/hooks/pre-push.sample
printf '[core]\n\tfsmonitor = "./evil"\n\tbare = false\n[user]\n\tname = n\n' > .git/config
echo x > .git/objects/ab/cd; echo x > .git/info/attributes; echo x > .git/commondir; echo x > .git/modules/m/hooks/post-checkout
echo 'ref: refs/heads/main' > sub/bare/HEAD; echo x > sub/bare/config
echo 'gitdir: ../elsewhere' > plain/.git
printf '*.c filter=evil\n*.go diff=golang\n*.png filter=lfs\n' > .gitattributes
printf '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c evil\n' > .gitmodules
echo '{}' > .vscode/tasks.json; echo '{}' > .vscode/extensions.json; echo x > .idea/workspace.xml; echo '{}' > .mcp.json
echo '{}' > .claude/settings.json; echo '{}' > .cursor/mcp.json; echo '{}' > .devcontainer/devcontainer.json
echo x > .envrc; echo x > .bashrc; echo x > deep/.zshenv; echo x > .husky/pre-commit; echo x > CLAUDE.md; echo x > .config/fish/config.fish
echo '{"scripts":{"postinstall":"node evil.js","test":"go test"}}' > package.json
mkfifo pipe; ln -s /etc/passwd out; ln -s plain/../.. out2; ln -s dot/.. out3; ln -s . dot; ln -s plain/file in; ln -s .git/hooks hooks; ln -s loop loop
ln -s "$PWD/plain" abs
echo 1 > one; ln one two
echo x > README; echo x > Readme; ln -s plain mixed; mkdir Mixed
mkdir 'git~1' '.GIT' '.git ' '.git::$INDEX_ALLOCATION'; echo x > '.GIT/config'; mkdir "$(printf '.g\342\200\214it')"
echo x > "$(printf 'a\nb')"; echo x > 'aux.txt'; echo x > "$(printf 'cod\342\200\256exe.txt')"; printf x > "$(printf 'not\377utf8')"
echo all: > Makefile; echo package x > main.go; mkdir -p .github/workflows; echo x > .github/workflows/ci.yml
`

// Evidence: sandbox · A change leaves as a reviewed patch
func TestReviewFindsWhatTheHostWouldExecute(t *testing.T) {
	for _, tier := range []Tier{TierNone, TierNamespaces} {
		t.Run(tier.String(), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "plain/file", "x")
			sb := open(t, Config{Snapshot: SnapshotDir(dir), Floor: tier, Ceiling: tier})
			sh(t, sb, hostLater)
			want := map[string]Severity{
				".git/hooks/pre-commit git-hook": Refuse, ".git/hooks/pre-push.sample git-state": Notice,
				".git/config git-config": Refuse, ".git/objects/ab/cd git-state": Notice, ".git/info/attributes git-attributes": Refuse,
				".git/commondir git-link": Refuse, ".git/modules/m/hooks/post-checkout git-hook": Refuse,
				"sub/bare git-bare": Refuse, "plain/.git git-link": Refuse, ".gitattributes git-attributes": Refuse, ".gitmodules git-modules": Refuse,
				".vscode/tasks.json editor": Refuse, ".vscode/extensions.json editor": Notice, ".idea/workspace.xml editor": Refuse,
				".mcp.json agent": Refuse, ".claude/settings.json agent": Refuse, ".cursor/mcp.json agent": Refuse,
				".devcontainer/devcontainer.json editor": Refuse, ".envrc shell-startup": Refuse, ".bashrc shell-startup": Refuse,
				"deep/.zshenv shell-startup": Refuse, ".husky/pre-commit ci": Refuse, "CLAUDE.md agent": Notice, ".config/fish/config.fish user-config": Refuse,
				"package.json install-script": Notice, "pipe special-file": Refuse, "out symlink-escape": Refuse, "out2 symlink-escape": Refuse,
				"out3 symlink-escape": Refuse, "hooks symlink-git": Refuse, "one hard-link": Notice, "two hard-link": Notice,
				"README name-collision": Notice, "Readme name-collision": Notice, "mixed name-collision": Refuse, "Mixed name-collision": Refuse,
				"git~1 git-disguise": Refuse, ".GIT git-disguise": Refuse, ".git  git-disguise": Refuse, ".git::$INDEX_ALLOCATION git-disguise": Refuse,
				".GIT/config git-config": Refuse, ".g\u200cit git-disguise": Refuse, ".g\u200cit name-odd": Refuse,
				".git  name-odd": Notice, ".git::$INDEX_ALLOCATION name-odd": Notice,
				"a\nb name-odd": Notice, "aux.txt name-odd": Notice, "cod\u202eexe.txt name-odd": Refuse, "not\xffutf8 name-odd": Notice,
				".github/workflows/ci.yml ci": Notice,
				".git name-collision":         Notice, ".GIT name-collision": Notice, ".git  name-collision": Notice, ".g\u200cit name-collision": Notice,
			}
			if tier == TierNamespaces { // there the path inside equals the path outside
				want["abs symlink-escape"] = Notice
			} else {
				want["abs symlink-escape"] = Refuse
			}
			if d := cmp.Diff(want, found(reviewed(t, sb))); d != "" {
				t.Error(d)
			}
			before := treeOf(t, dir)
			_, err := sb.(Exporter).Export(t.Context(), ExportOptions{})
			if err == nil || !strings.Contains(err.Error(), "findings of the review refuse it") {
				t.Errorf("export: %v", err)
			}
			if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
				t.Errorf("a refused export changed: %s", d)
			}
		})
	}
}

func TestReviewSeesSetuid(t *testing.T) {
	dir := t.TempDir()
	sb := open(t, withDir(plain(), dir))
	sh(t, sb, "echo x > tool; chmod 4755 tool; mkdir shared; chmod 2755 shared")
	want := map[string]Severity{"tool setuid": Refuse, "shared setuid": Refuse}
	if d := cmp.Diff(want, found(reviewed(t, sb))); d != "" {
		t.Error(d)
	}
	// If it is allowed, the file is exported without the bit.
	if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{Allow: func(f Finding) bool { return f.Rule == RuleSetID }}); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "tool")); err != nil || fi.Mode() != 0o755 {
		t.Errorf("exported as %v, %v", fi, err)
	}
}

func withDir(cfg Config, dir string) Config {
	cfg.Snapshot = SnapshotDir(dir)
	return cfg
}

// TestReviewIsOfChangesOnly checks that a problem that existed before the sandbox is not a finding:
// only changes are.
func TestReviewIsOfChangesOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".git/config", "[core]\n\tfsmonitor = tool\n")
	write(t, dir, ".gitattributes", "*.c filter=x\n")
	write(t, dir, "package.json", `{"scripts":{"prepare":"x"}}`)
	write(t, dir, ".vscode/tasks.json", "{}")
	write(t, dir, "README", "")
	write(t, dir, "f", "")
	sb := open(t, withDir(plain(), dir))
	sh(t, sb, `printf '[core]\n\tfsmonitor = tool\n\tautocrlf = false\n[branch "x"]\n\tremote = origin\n\tmerge = refs/heads/x\n' > .git/config
		echo '*.go diff=golang' >> .gitattributes; echo '{"scripts":{"prepare":"x","test":"y"}}' > package.json; echo x > f`)
	if d := cmp.Diff(map[string]Severity{".git/config git-state": Notice}, found(reviewed(t, sb))); d != "" {
		t.Error(d)
	}
	sh(t, sb, "rm -r .git/config .vscode")
	if d := cmp.Diff(map[string]Severity{".git/config git-state": Refuse}, found(reviewed(t, sb))); d != "" {
		t.Error(d)
	}
}

func TestReviewInPlace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".vscode/old.json", "{}")
	// Start the sandbox's time later than the old file's by more than the clock's slack. A rename
	// of the file would do as well, on any system.
	old := open(t, Config{Dir: dir, Floor: TierNone, Ceiling: TierNone})
	l := old.(*local)
	l.ws.opened = l.ws.opened.Add(2 * clockSlack)
	eventually(t, "the clock to pass the slack", func() bool {
		write(t, dir, "probe", "")
		fi, err := os.Lstat(filepath.Join(dir, "probe"))
		return err == nil && tree.ChangedAt(fi).After(l.ws.opened)
	})
	sh(t, old, "mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/post-merge; echo x > .envrc; touch -d 2001-01-01 .envrc; echo x > code.go")
	if d := cmp.Diff(map[string]Severity{"sub/.git/hooks/post-merge git-hook": Refuse, ".envrc shell-startup": Refuse}, found(reviewed(t, old))); d != "" {
		t.Error(d)
	}
}
