package review

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

func TestKnownPaths(t *testing.T) {
	for path, want := range map[string]Rule{
		".vscode/tasks.json": RuleEditor, "a/b/.VSCode/Tasks.JSON": RuleEditor, ".vscode": "", "vscode/tasks.json": "",
		".bash_profile": RuleShell, "x/.envrc": RuleShell, ".envrc/x": "", "proj.code-workspace": RuleEditor, "AGENTS.md": RuleAgent,
		".github/workflows/x.yml": RuleContinuous, "github/workflows/x.yml": "", "Makefile": "", "src/main.go": "", ".gitignore": "",
		".envrc.": RuleShell, "config": "", ".config/x": RuleUser,
	} {
		var got Rule
		if k := new(Paths).known(path); k != nil {
			got = k.rule
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestParseGitConfig(t *testing.T) {
	got, err := ParseGitConfig([]byte("\ufeff; c\n[Core]\n\tBare\n  fsMonitor = \"a b\" c ; d\n[a \"X.\\\"y\"] k = 1 \\\n 2\n[old.Sub]\nv=\"#\"x\\n\n[c]#\nz= t  # end"))
	want := []Setting{{"core.bare", "true"}, {"core.fsmonitor", "a b c"}, {`a.X."y.k`, "1  2"}, {"old.sub.v", "#x\n"}, {"c.z", "t"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, bad := range []string{"x = 1", "[a", "[a \"b]", "[]\n", "[a]\nk ! 1", "[a]\nk = \"x", "[a]\nk = \\x", "[a]\n\x00", "[a]\n1 = 2", "[a b]", "[.]a"} {
		if s, err := ParseGitConfig([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
	// A configuration whose settings would be many times its size is not read.
	long := "[a \"" + strings.Repeat("x", 100_000) + "\"]\n" + strings.Repeat("b\n", 1000)
	if _, err := ParseGitConfig([]byte(long)); err == nil {
		t.Error("a configuration made many times its size is read")
	}
}

func FuzzGitConfig(f *testing.F) {
	for _, s := range []string{"", "[core]\n\tfsmonitor = x\n", "[a \"b\\\\\"]k=\"v\\\nw\"#c\n[include]path=x", "[alias]\nx=!sh\r\n", "\ufeff[a]b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		settings, err := ParseGitConfig(b)
		if err != nil {
			return
		}
		for _, s := range settings {
			if !strings.Contains(s.Key, ".") || strings.HasPrefix(s.Key, ".") {
				t.Errorf("key %q of %q", s.Key, b)
			}
		}
		_ = reviewModules(nil, b)
	})
}

func FuzzReviewContents(f *testing.F) {
	f.Add([]byte(`{"scripts":{"postinstall":"x"}}`), []byte(`{"scripts":[]}`))
	f.Add([]byte("*.c filter=a\n"), []byte("* diff=b merge=c -filter\n"))
	f.Add([]byte("[submodule \"../x\"]\nurl=-u"), []byte("[submodule"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		for _, look := range []func(a, b []byte) []Finding{reviewAttributes, reviewModules, reviewPackage} {
			for _, g := range look(before, after) {
				if g.Rule == "" || g.Severity == 0 || g.Why == "" {
					t.Errorf("finding %+v", g)
				}
			}
			for _, g := range look(after, after) {
				if g.Severity == Refuse && !strings.HasPrefix(g.Why, "cannot") {
					t.Errorf("nothing has changed, but %v", g)
				}
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{".git", ".GIT", "git~1", ".g\u200cit", ".git ", ".git...", ".git::$DATA", `a\.git`, "\xff", "ſ", "İ", "K", "é", "é", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if again := fold(fold(name)); again != fold(name) {
			t.Errorf("fold(%q) is %q, folded again %q", name, fold(name), again)
		}
		if looksLikeGit(name) != looksLikeGit(strings.ToUpper(name)) && isPlainASCII(name) {
			t.Errorf("%q depends on case", name)
		}
		_ = new(Paths).known(name)
		_ = new(Paths).git(name)
		_ = isDeviceName(name)
	})
}

// FuzzLinkTarget checks that any link target counts as inside only if following it stays inside.
func FuzzLinkTarget(f *testing.F) {
	for _, s := range []string{"a", "..", "d/..", "d/../..", "l/..", "l/../x", "/etc", "self", "./././d", "d//f", "l/l", "up/x", ".git/x", "\xff", strings.Repeat("../", 50)} {
		f.Add(s)
	}
	dir := f.TempDir()
	for _, d := range []string{"w/d/e", "w/.git"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	top := filepath.Join(dir, "w")
	for name, target := range map[string]string{"l": "d/e", "up": "../..", "self": "self", "dot": "."} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			f.Fatal(err)
		}
	}
	v, err := tree.OpenView([]tree.Dir{{Path: top, Full: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(v.Close)
	r := &reviewer{ctx: f.Context(), c: &tree.Comparison{After: v}, dir: top}

	f.Fuzz(func(t *testing.T, target string) {
		if strings.IndexByte(target, 0) >= 0 {
			return
		}
		w := linkWalk{r: r}
		_, inside := w.resolve(&spot{e: v.Top()}, target)
		real, err := filepath.EvalSymlinks(top + "/" + target)
		if filepath.IsAbs(target) {
			real, err = filepath.EvalSymlinks(target)
		}
		if err == nil && inside && !(real == top || strings.HasPrefix(real, top+"/")) {
			t.Errorf("%q leads to %s and is taken for inside", target, real)
		}
	})
}

// FuzzChange checks that any change of a file can be reviewed, and that a manifest which stays the
// same has nothing to review.
func FuzzChange(f *testing.F) {
	for _, s := range []string{"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "requirements.txt", "Gemfile", "yarn.lock", "composer.json", ".gitattributes", "a/.claude/x", "GITHUB~1/workflows/x"} {
		f.Add(s, []byte("replace a => b\n"), []byte("[build-system]\nx=1\n\"resolved\": \"https://a/b\"\n"))
	}
	f.Fuzz(func(t *testing.T, path string, before, after []byte) {
		var paths Paths
		for _, g := range Change(Write{Path: path, Before: before, After: after}, nowhere{}) {
			if g.Rule == "" || g.Severity == 0 || g.Why == "" {
				t.Errorf("finding %+v", g)
			}
		}
		if look := paths.look(path); look != nil {
			for _, g := range look(after, after) {
				if g.Severity == Refuse && g.Rule == RuleInstall {
					t.Errorf("nothing has changed, but %v", g)
				}
			}
		}
		if up := strings.ToUpper(path); isPlainASCII(path) && (paths.known(path) == nil) != (paths.known(up) == nil) {
			t.Errorf("%q depends on case", path)
		}
	})
}

// nowhere is the places of a workspace of which the host makes nothing.
type nowhere struct{}

func (nowhere) As(string) []string             { return nil }
func (nowhere) Uses(string, fs.FileInfo) []Use { return nil }

// TestFindingsAsJSON: a finding is read as it was written, and an unknown severity refuses.
func TestFindingsAsJSON(t *testing.T) {
	for _, want := range []Finding{{"a", RuleGitHook, Notice, "why"}, {"b", RuleLarge, Refuse, ""}} {
		text, err := json.Marshal(want)
		var got Finding
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || got != want {
			t.Errorf("%s became %+v, %v", text, got, err)
		}
	}
	var odd Finding
	if err := json.Unmarshal([]byte(`{"severity":"later"}`), &odd); err != nil || odd.Severity != Refuse {
		t.Errorf("%+v, %v", odd, err)
	}
}
