package luthier_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

// The rules of the architecture: which package may import which, which modules a host links with a
// package, and which files may be at the top level. A room is a top-level directory with all its
// packages. Rooms that are not built yet are already listed here.

const home = "github.com/luthier-dev/luthier"

// floors lists the rooms from the bottom layer up. A room imports its own packages and rooms of
// lower floors. A package belongs to the room with the longest matching path; "" is package
// luthier.
var floors = [][]string{
	{"agent", "sandbox", "retrieval", "tools/edit", "router/catalog"},
	{"tools", "router", "compaction", "agent/hooks", "agent/project", "agent/guard", "agent/memory", "agent/team", "agent/otel"},
	{"tools/coding", "tools/mcp", "tools/lsp", "router/complete"},
	{""},
	{"agent/acp", "agent/view", "agent/eval"},
	{"agent/rollout"},
	{"agent/cloud"},
	{"examples"},
}

// links lists, for every public package of this module, the modules that it may link besides the
// standard library: a host pays for what it imports. Modules that these modules link in turn are
// not counted.
var links = map[string][]string{
	"":                     slices.Concat(xsys, gogit, schemas, texts, []string{"github.com/bmatcuk/doublestar/v4", "github.com/fsnotify/fsnotify", "golang.org/x/image", "golang.org/x/mod", "golang.org/x/net", "mvdan.cc/sh/v3"}),
	"agent":                xsys,
	"agent/agenttest":      slices.Concat(xsys, []string{"github.com/google/go-cmp", "go.uber.org/goleak"}),
	"agent/checkpoint":     slices.Concat(xsys, gogit),
	"compaction":           slices.Concat(xsys, []string{"mvdan.cc/sh/v3"}),
	"compaction/replay":    xsys,
	"retrieval":            slices.Concat(xsys, gogit, []string{"github.com/fsnotify/fsnotify"}),
	"retrieval/embed":      slices.Concat(xsys, gogit, []string{"github.com/fsnotify/fsnotify"}),
	"retrieval/treesitter": slices.Concat(xsys, gogit, []string{"github.com/fsnotify/fsnotify", "github.com/smacker/go-tree-sitter"}),
	"router":               slices.Concat(xsys, []string{"github.com/gofrs/flock", "golang.org/x/time"}),
	"router/anthropic":     slices.Concat(xsys, schemas[:1], []string{"github.com/anthropics/anthropic-sdk-go"}),
	"router/langchain":     slices.Concat(xsys, schemas[:1], []string{"github.com/tmc/langchaingo"}),
	"router/moe":           slices.Concat(xsys, texts[:1]),
	"router/moe/embedded":  slices.Concat(xsys, texts[:1]),
	"router/openai":        slices.Concat(xsys, schemas[:1], []string{"github.com/openai/openai-go/v3"}),
	"router/serve":         slices.Concat(xsys, []string{"github.com/prometheus/client_golang"}),
	"sandbox":              slices.Concat(xsys, gogit, texts, []string{"golang.org/x/net"}),
	"sandbox/attacks":      {},
	"sandbox/remote":       slices.Concat(xsys, gogit, texts, []string{"golang.org/x/net"}),
	"tools":                slices.Concat(xsys, schemas, texts[:1]),
	"tools/coding":         slices.Concat(xsys, gogit, schemas, texts, []string{"github.com/bmatcuk/doublestar/v4", "golang.org/x/image", "golang.org/x/mod", "golang.org/x/net", "mvdan.cc/sh/v3"}),
	"tools/edit":           {},
}

var (
	xsys    = []string{"golang.org/x/sys"}
	gogit   = []string{"github.com/go-git/go-git/v5", "github.com/go-git/go-billy/v5"}
	schemas = []string{"github.com/invopop/jsonschema", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/dlclark/regexp2"}
	texts   = []string{"golang.org/x/text", "github.com/aymanbagabas/go-udiff"}
)

// top lists what may be at the root of the repository.
var top = []string{
	".ci", ".gitignore", "agent", "tools", "router", "compaction", "sandbox", "retrieval", "examples", "internal", "docs",
	"go.mod", "go.sum", "go.work", "go.work.sum", "doc.go", "luthier.go", "README.md", "RATIONALE.md", "CONTRIBUTING.md", "CHANGELOG.md",
	"AGENTS.md", "LICENSE",
}

// crowds limits the number of entries of a folder: of Go files, or of folders if the path ends in a
// slash.
var crowds = map[string]int{"internal/": 20, "sandbox": 135}

// pkg holds the fields of go list that the rules need.
type pkg struct {
	ImportPath, ForTest                string
	Standard                           bool
	Module                             *struct{ Path string }
	Imports, TestImports, XTestImports []string
}

// house holds the packages and files that the rules apply to.
type house struct {
	packages map[string]*pkg
	files    []string // of the repository, with slashes
}

// look lists the packages of this module and of the modules in go.work, with their imports.
// overlay, which may be empty, names a file for go list -overlay.
func look(t *testing.T, overlay string) *house {
	t.Helper()
	args := []string{"list", "-e", "-deps", "-overlay=" + overlay, "-json=ImportPath,ForTest,Standard,Module,Imports,TestImports,XTestImports"}
	out, err := command(t, "go", append(args, modules(t)...)...)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{packages: map[string]*pkg{}}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		p := &pkg{}
		if err := dec.Decode(p); err != nil {
			t.Fatal(err)
		}
		h.packages[p.ImportPath] = p
	}
	if out, err = command(t, "git", "ls-files", "--cached", "--others", "--exclude-standard"); err != nil {
		t.Skip("not in a git repository: ", err)
	}
	for name := range strings.Lines(out) {
		if name = strings.TrimSuffix(name, "\n"); exists(name) {
			h.files = append(h.files, name)
		}
	}
	return h
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func command(t *testing.T, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), err
}

// modules returns the patterns of all packages: of this module and, in a clone, of the modules next
// to it.
func modules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("go.work")
	if err != nil || os.Getenv("GOWORK") == "off" {
		return []string{"./..."}
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, u := range work.Use {
		patterns = append(patterns, "./"+path.Join(u.Path, "..."))
	}
	return patterns
}

// breaches returns the violations of the rules, sorted.
func (h *house) breaches() []string {
	var out []string
	for _, p := range h.packages {
		if from, ours := inside(p.ImportPath); ours {
			out = append(out, h.imports(from, p)...)
			out = append(out, h.linked(from, p)...)
		}
	}
	out = append(out, h.crowded()...)
	slices.Sort(out)
	return slices.Compact(out)
}

// inside returns an import path without the module's path, and reports whether the package is in
// the repository.
func inside(importPath string) (string, bool) {
	if importPath == home {
		return "", true
	}
	return strings.CutPrefix(importPath, home+"/")
}

// imports checks the imports of a package, and those of its tests that the go command itself does
// not check.
func (h *house) imports(from string, p *pkg) (out []string) {
	for _, imported := range p.Imports {
		to, ours := inside(imported)
		switch {
		case !ours:
		case shared(from) && !shared(to):
			out = append(out, fmt.Sprintf("%s imports %s: internal packages know no room", from, to))
		case room(from) == "" && from != "" && !shared(from):
			out = append(out, fmt.Sprintf("%s is in no room: give it a floor", from))
		case !shared(from) && !shared(to) && room(from) != room(to) && floor(from) <= floor(to):
			out = append(out, fmt.Sprintf("%s (floor %d) imports %s (floor %d)", from, floor(from), to, floor(to)))
		}
	}
	if !strings.HasPrefix(from, "examples/") || from == "examples/fix" || strings.HasPrefix(from, "examples/fix/") {
		return out
	}
	for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if to, ours := inside(imported); ours && hidden(to) {
			out = append(out, fmt.Sprintf("%s imports %s: an example must compile outside this module", from, to))
		}
	}
	return out
}

// linked checks the modules that a package imports, directly or through packages of this
// repository.
func (h *house) linked(from string, p *pkg) (out []string) {
	if p.Module == nil || p.Module.Path != home || hidden(from) || room(from) == "examples" {
		return nil
	}
	allowed, listed := links[from]
	if !listed {
		return []string{fmt.Sprintf("%s has no list of the modules that it may link", from)}
	}
	seen := map[string]bool{}
	var visit func(importPath string)
	visit = func(importPath string) {
		q := h.packages[importPath]
		if q == nil || q.Standard || q.Module == nil || seen[importPath] {
			return
		}
		seen[importPath] = true
		if m := q.Module.Path; m != home {
			if !slices.Contains(allowed, m) {
				out = append(out, fmt.Sprintf("%s links %s", from, m))
			}
			return
		}
		for _, i := range q.Imports {
			visit(i)
		}
	}
	visit(p.ImportPath)
	return out
}

// crowded checks the top level and the folders that have a limit.
func (h *house) crowded() (out []string) {
	for _, name := range h.files {
		first, _, deep := strings.Cut(name, "/")
		if !slices.Contains(top, first) && (deep || !partOfLuthier(name)) {
			out = append(out, fmt.Sprintf("%s stands at the top: it belongs into a room", first))
		}
	}
	for dir, most := range crowds {
		if n := len(h.entries(dir)); n > most {
			out = append(out, fmt.Sprintf("%s has %d entries, more than %d", dir, n, most))
		}
	}
	return out
}

// entries returns the entries of a folder that crowds counts.
func (h *house) entries(dir string) map[string]bool {
	found := map[string]bool{}
	for _, name := range h.files {
		if below, ok := strings.CutPrefix(name, dir); ok && strings.HasSuffix(dir, "/") {
			entry, _, _ := strings.Cut(below, "/")
			found[entry] = true
		} else if path.Dir(name) == dir && strings.HasSuffix(name, ".go") {
			found[name] = true
		}
	}
	return found
}

// partOfLuthier reports whether a file at the top level is part of package luthier: code or a
// prompt.
func partOfLuthier(name string) bool {
	return strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "prompt") && strings.HasSuffix(name, ".md")
}

// hidden reports whether p is an internal package of any room.
func hidden(p string) bool { return strings.Contains("/"+p+"/", "/internal/") }

// shared reports whether p is under internal/ at the root, which serves several rooms.
func shared(p string) bool { return p == "internal" || strings.HasPrefix(p, "internal/") }

// room returns the room of a package: "" for package luthier and for packages that have none.
func room(p string) string {
	for ; p != "." && p != ""; p = path.Dir(p) {
		for _, f := range floors {
			if slices.Contains(f, p) {
				return p
			}
		}
	}
	return ""
}

func floor(p string) int {
	r := room(p)
	return slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, r) })
}

// TestHouse checks that the repository keeps its rules.
func TestHouse(t *testing.T) {
	for _, b := range look(t, "").breaches() {
		t.Error(b)
	}
}

// TestHouseSeesBreaches plants one violation of each kind and checks that exactly these are found.
func TestHouseSeesBreaches(t *testing.T) {
	planted := map[string]string{ // file to import
		"agent/planted.go":               home + "/tools/edit",
		"tools/edit/planted.go":          "golang.org/x/sys/cpu",
		"sandbox/planted.go":             home + "/compaction/replay",
		"internal/ansi/planted.go":       home + "/agent",
		"examples/serve/planted.go":      home + "/internal/ansi",
		"examples/sandbox/extra_test.go": home + "/internal/ansi",
		"cellar/planted.go":              home + "/agent",
	}
	dir, replace := t.TempDir(), map[string]string{}
	packages := map[string]string{
		"agent": "agent", "tools/edit": "edit", "sandbox": "sandbox", "internal/ansi": "ansi", "examples/serve": "main", "examples/sandbox": "main",
		"cellar": "cellar",
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, imported := range planted {
		text := fmt.Sprintf("package %s\n\nimport _ %q\n", packages[path.Dir(name)], imported)
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, filepath.FromSlash(name))] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h := look(t, overlay)
	h.files = append(h.files, "cellar/planted.go", "notes.txt")
	for dir, most := range crowds {
		for i := range most + 1 - len(h.entries(dir)) {
			h.files = append(h.files, fmt.Sprintf("%s/planted%d.go", strings.TrimSuffix(dir, "/"), i))
		}
	}
	want := []string{
		"agent (floor 0) imports tools/edit (floor 0)",
		"cellar has no list of the modules that it may link",
		"cellar is in no room: give it a floor",
		"cellar stands at the top: it belongs into a room",
		"examples/sandbox imports internal/ansi: an example must compile outside this module",
		"examples/serve imports internal/ansi: an example must compile outside this module",
		"internal/ has 21 entries, more than 20",
		"internal/ansi imports agent: internal packages know no room",
		"notes.txt stands at the top: it belongs into a room",
		"sandbox (floor 0) imports compaction/replay (floor 1)",
		"sandbox has 136 entries, more than 135",
		"tools/edit links golang.org/x/sys",
	}
	if d := cmp.Diff(want, h.breaches()); d != "" {
		t.Errorf("breaches found (-want +got):\n%s", d)
	}
}
