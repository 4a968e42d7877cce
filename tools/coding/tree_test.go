package coding

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestElsewhere runs the tests of the tools again on trees that have no path, such as those of
// sandboxes.
//
// Evidence: coding · The tools work on a tree without a path as they work on a directory
func TestElsewhere(t *testing.T) {
	tier.Normal(t)
	if *elsewhere {
		t.Skip("runs there already")
	}
	self, err := os.Executable()
	must(t, err)
	which := "^Test(Read|Write|Edit|Patch|List|Glob|Grep|Symbols|Memory|Notebook|Image|Obeyed|Git|Lookalike|Resolve|Exchange|InPlace|Views)"
	if tier.Long() {
		which = "."
	}
	args := []string{"-elsewhere", "-test.run", which}
	if !tier.Long() {
		args = append(args, "-test.short")
	}
	out, err := exec.Command(self, args...).CombinedOutput()
	if err != nil || strings.Contains(string(out), "no tests to run") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// byPath lists the files of this package that open files of the host by their path, each with what
// it is for. No other one may: the path of a tree is that of another directory on this machine.
var byPath = map[string]string{
	"internal/gitview/repo.go": "a directory of the host",
	"coding.go":                "Open, and Config.MemoryDir",
	"journal.go":               "the user's cache directory, for a directory of the host",
	"memory.go":                "Config.MemoryDir",
	"rg.go":                    "ripgrep, for a directory of the host",
	"run_artifacts.go":         "temporary files",
	"run_log.go":               "temporary files",
	"shellplaces.go":           "a directory of the host, and the installed Go",
}

// TestNeverAPath checks that the tools open files through the root of the tree alone.
func TestNeverAPath(t *testing.T) {
	opens := regexp.MustCompile(`\b(filepath\.(Abs|EvalSymlinks|Walk|WalkDir|Glob)|os\.(Open|OpenFile|OpenRoot|Create|CreateTemp|Stat|Lstat|Read\w+|Write\w+|Mkdir\w*|Remove\w*|Rename|Link|Symlink|DirFS|Chdir)|` +
		`regular\.(Open|OpenFile|OpenDir|OpenRoot|Read)|ignore\.(New|Walk|Locate)|gitfs\.(New|Open)|exec\.Command\w*)\(`)
	sources, err := filepath.Glob("*.go")
	must(t, err)
	inner, err := filepath.Glob("internal/*/*.go")
	must(t, err)
	sources = append(sources, inner...)
	seen := map[string]bool{}
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		must(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if m := opens.FindString(line); m != "" && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				seen[file] = true
				if byPath[file] == "" && !(file == "tree.go" && m == "ignore.New(") {
					t.Errorf("%s:%d opens a file by its path with %s; open it through the root of the tree", file, i+1, m)
				}
			}
		}
	}
	for file := range byPath {
		if !seen[file] && slices.Contains(sources, file) {
			t.Errorf("%s opens no file by its path any more; take it out of the list", file)
		}
	}
}

// TestObeyedInTree checks that calls which write obeyed files of a tree have that effect, unless
// its changes are reviewed.
func TestObeyedInTree(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, reviewed := range []bool{false, true} {
		w, err := OpenTree(&checkedTree{t: t, name: "/a/path/of/the/sandbox", root: root}, Config{Reviewed: reviewed})
		must(t, err)
		defer w.Close()
		for p, want := range map[string]bool{"AGENTS.md": true, w.Dir() + "/.github/workflows/ci.yml": true, "src/a.go": false} {
			call := agent.ToolCall{ID: "1", Name: "write", Args: []byte(`{"path":"` + p + `","content":"x"}`)}
			if got := agent.EffectsOf(toolOf(t, w, "write"), call).Flags&agent.EffectObeyed != 0; got != (want && !reviewed) {
				t.Errorf("reviewed %v, %s: %v", reviewed, p, got)
			}
		}
	}
}
