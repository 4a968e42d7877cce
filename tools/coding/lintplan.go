package coding

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/tools/coding/internal/testreport"
)

// lintRun is one linter over one project.
type lintRun struct {
	Linter string
	Dir    string // relative to the workspace
	Args   []string
	Merge  bool // the findings are on standard error
	parse  testreport.LintParser
	found  []int // exit codes with which the findings are complete; others mean that the linter failed. 0 is always good
	hint   string
}

// maxLintPaths is the maximum number of paths on a command line; with more, the whole project is
// checked.
const maxLintPaths = 500

// planLint decides which linters to run on files. If only is not empty, it lists the allowed
// linters.
func (w opened) planLint(files []string, only []string) []lintRun {
	var runs []lintRun
	for _, plan := range []func([]string) []lintRun{w.lintGo, w.lintPython, w.lintESLint, w.lintTSC, w.lintCargo} {
		runs = append(runs, plan(files)...)
	}
	for _, l := range w.cfg.Proc.Linters {
		runs = slices.DeleteFunc(runs, func(r lintRun) bool { return r.Linter == l.Name })
		if r, ok := w.lintCustom(l, files); ok {
			runs = append(runs, r)
		}
	}
	if len(only) > 0 {
		runs = slices.DeleteFunc(runs, func(r lintRun) bool { return !slices.Contains(only, r.Linter) })
	}
	return runs
}

// byProject groups the files that have one of the extensions by the nearest directory above them
// that contains a marker. Their paths are relative to that directory. A directory to check belongs
// to the project above it, or else stands for the projects directly below it.
func (w opened) byProject(files, extensions []string, markers ...string) (dirs []string, groups map[string][]string) {
	groups = map[string][]string{}
	add := func(dir, rel string) {
		if _, ok := groups[dir]; !ok {
			dirs = append(dirs, dir)
		}
		if !slices.Contains(groups[dir], rel) {
			groups[dir] = append(groups[dir], rel)
		}
	}
	for _, f := range files {
		t, err := w.resolve(f)
		if err != nil || t.info == nil {
			continue // deleted in the meantime
		}
		isDir := t.info.IsDir()
		if !isDir && !slices.Contains(extensions, strings.ToLower(path.Ext(t.rel))) {
			continue
		}
		from := t.rel
		if !isDir {
			from = path.Dir(t.rel)
		}
		if dir, ok := w.projectAbove(from, markers); ok {
			add(dir, relTo(dir, t.rel))
		} else if isDir {
			for _, dir := range w.projectsBelow(t.rel, markers) {
				add(dir, ".")
			}
		}
	}
	return dirs, groups
}

func relTo(dir, p string) string { return testTarget{dir: p}.rel(dir) }

func (w opened) projectAbove(dir string, markers []string) (string, bool) {
	for ; ; dir = path.Dir(dir) {
		if len(markers) == 0 || w.has(dir, markers...) {
			return dir, true
		}
		if dir == "." {
			return "", false
		}
	}
}

func (w opened) projectsBelow(dir string, markers []string) (found []string) {
	level := []string{dir}
	for range 2 {
		var next []string
		for _, d := range level {
			entries, err := w.readDir(d)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(skippedDirs, e.Name()) || len(next) > 500 {
					continue
				}
				sub := path.Join(d, e.Name())
				if w.has(sub, markers...) {
					found = append(found, sub)
				} else {
					next = append(next, sub)
				}
			}
		}
		level = next
	}
	return found
}

func (w opened) lintGo(files []string) (runs []lintRun) {
	dirs, groups := w.byProject(files, []string{".go"}, "go.mod")
	for _, dir := range dirs {
		var pkgs, sources []string
		for _, f := range groups[dir] {
			if path.Ext(f) == ".go" {
				sources = append(sources, f)
				f = relTo(".", path.Dir(f))
			} else {
				f = strings.TrimSuffix(f, "/") + "/..."
			}
			if !slices.Contains(pkgs, f) {
				pkgs = append(pkgs, f)
			}
		}
		if len(pkgs) > maxLintPaths {
			pkgs = []string{"./..."}
		}
		runs = append(runs, lintRun{Linter: "go vet", Dir: dir, Args: append([]string{"go", "vet"}, pkgs...), Merge: true,
			parse: testreport.ParseLines("go vet"), found: []int{1}, hint: "install Go"})
		if len(sources) > 0 && len(sources) <= maxLintPaths {
			runs = append(runs, lintRun{Linter: "gopls", Dir: dir, Args: append([]string{"gopls", "check"}, sources...),
				parse: testreport.ParseLines("gopls"), found: []int{1}, hint: "go install golang.org/x/tools/gopls@latest"})
		}
	}
	return runs
}

func (w opened) lintPython(files []string) []lintRun {
	_, groups := w.byProject(files, []string{".py", ".pyi"})
	var paths []string
	for _, fs := range groups {
		for _, f := range fs {
			info, err := w.root.Stat(f)
			if err == nil && (!info.IsDir() || w.holdsExt(f, ".py")) {
				paths = append(paths, f)
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if len(paths) > maxLintPaths {
		paths = []string{"."}
	}
	slices.Sort(paths)
	ruff := "ruff"
	for _, venv := range []string{".venv/bin", "venv/bin"} {
		if w.has(venv, "ruff") {
			ruff = "./" + venv + "/ruff"
		}
	}
	return []lintRun{{Linter: "ruff", Dir: ".", Args: append([]string{ruff, "check", "--output-format=json", "--no-fix", "--"}, paths...),
		parse: testreport.ParseRuff, found: []int{1}, hint: "pip install ruff"}}
}

// holdsExt reports whether a directory, or one directly below it, contains a file with the
// extension.
func (w opened) holdsExt(dir, ext string) bool {
	entries, err := w.readDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() && path.Ext(e.Name()) == ext {
			return true
		}
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(skippedDirs, e.Name()) {
			continue
		}
		sub, err := w.readDir(path.Join(dir, e.Name()))
		if err == nil && slices.ContainsFunc(sub, func(e fs.DirEntry) bool { return path.Ext(e.Name()) == ext }) {
			return true
		}
	}
	return false
}

var jsExtensions = []string{".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"}

func (w opened) lintESLint(files []string) (runs []lintRun) {
	dirs, groups := w.byProject(files, jsExtensions, "eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts",
		".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml")
	for _, dir := range dirs {
		paths := groups[dir]
		if len(paths) > maxLintPaths {
			paths = []string{"."}
		}
		runs = append(runs, lintRun{Linter: "eslint", Dir: dir, Args: append([]string{w.nodeBin(dir, "eslint"), "--format", "json", "--"}, paths...),
			parse: testreport.ParseESLint, found: []int{1}, hint: "install the project's packages, such as with npm ci"})
	}
	return runs
}

func (w opened) lintTSC(files []string) (runs []lintRun) {
	dirs, _ := w.byProject(files, []string{".ts", ".tsx", ".mts", ".cts"}, "tsconfig.json")
	for _, dir := range dirs {
		runs = append(runs, lintRun{Linter: "tsc", Dir: dir, Args: []string{w.nodeBin(dir, "tsc"), "--noEmit", "--pretty", "false"},
			parse: testreport.ParseTSC, found: []int{1, 2}, hint: "install the project's packages, such as with npm ci"})
	}
	return runs
}

func (w opened) lintCargo(files []string) (runs []lintRun) {
	dirs, _ := w.byProject(files, []string{".rs"}, "Cargo.toml")
	for _, dir := range dirs {
		runs = append(runs, lintRun{Linter: "cargo check", Dir: dir, Args: []string{"cargo", "check", "--all-targets", "--message-format=json"},
			parse: testreport.ParseCargoCheck, found: []int{101}, hint: "install Rust"})
	}
	return runs
}

func (w opened) lintCustom(l Linter, files []string) (lintRun, bool) {
	var paths []string
	for _, f := range files {
		t, err := w.resolve(f)
		if err != nil || t.info == nil {
			continue
		}
		if t.info.IsDir() || len(l.Extensions) == 0 || slices.Contains(l.Extensions, path.Ext(t.rel)) {
			paths = append(paths, relTo(".", t.rel))
		}
	}
	if len(paths) == 0 {
		return lintRun{}, false
	}
	if len(paths) > maxLintPaths {
		paths = []string{"."}
	}
	r := lintRun{Linter: l.Name, Dir: ".", Args: slices.Clone(l.Args), Merge: true, parse: testreport.ParseLines(l.Name), hint: "the host configured it"}
	if l.re != nil {
		r.parse = testreport.ParsePattern(l.Name, l.re)
	}
	if l.Paths {
		r.Args = append(r.Args, paths...)
	}
	return r, true
}
