package edit

import (
	"go/build"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// source is a real file in which edits are made.
type source struct {
	path, text, comment string
	lines               []string
	unit                string // one step of indentation
}

// comments maps the file extensions in the corpus to the start of a line comment.
var comments = map[string]string{".go": "//", ".py": "#", ".ts": "//", ".js": "//", ".rs": "//", ".c": "//"}

// sources picks real files: from the Go distribution, which every machine that runs these tests
// has, and from whatever other languages are installed.
func sources(t testing.TB, rnd *rand.Rand, wanted int) []source {
	t.Helper()
	perRoot := map[string]int{filepath.Join(build.Default.GOROOT, "src"): wanted / 2}
	others := otherRoots()
	for _, r := range others {
		perRoot[r] = wanted / 2 / len(others)
	}
	var out []source
	for _, root := range slices.Sorted(maps.Keys(perRoot)) {
		found := under(root)
		rnd.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		n := 0
		for _, p := range found {
			if n == perRoot[root] {
				break
			}
			if s, ok := load(p); ok {
				out = append(out, s)
				n++
			}
		}
	}
	for short := wanted - len(out); short > 0; short-- { // with fewer languages, take more files of those available
		out = append(out, out[rnd.IntN(len(out))])
	}
	return out
}

// otherRoots returns the folders on this machine with libraries in other languages.
func otherRoots() []string {
	globs := []string{filepath.Join(build.Default.GOPATH, "pkg", "mod", "github.com")}
	for tool, pattern := range map[string]string{"python3": "../lib/python3.*", "node": "../lib/node_modules", "rustc": "../lib/rustlib"} {
		if p, err := exec.LookPath(tool); err == nil {
			if p, err = filepath.EvalSymlinks(p); err == nil {
				globs = append(globs, filepath.Join(filepath.Dir(p), pattern))
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		globs = append(globs, filepath.Join(home, ".pyenv/versions/*/lib/python3.*"), filepath.Join(home, ".rustup/toolchains/*/share/doc"))
	}
	var out []string
	for _, g := range globs {
		found, _ := filepath.Glob(g)
		for _, f := range found {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	slices.Sort(out)
	return out
}

const maxWalked = 20000

// under lists the source files below root that a quick walk finds.
func under(root string) []string {
	var out []string
	seen := 0
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if seen++; seen > maxWalked {
			return filepath.SkipAll
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "test") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && comments[filepath.Ext(p)] != "" {
			out = append(out, p)
		}
		return nil
	})
	return out
}

// load reads a file that is suitable for the corpus: text of a reasonable size with LF line
// endings.
func load(p string) (source, bool) {
	data, err := os.ReadFile(p)
	if err != nil || len(data) < 1000 || len(data) > 120_000 || !utf8.Valid(data) {
		return source{}, false
	}
	text := string(data)
	if strings.Contains(text, "\r") || !strings.HasSuffix(text, "\n") || strings.Count(text, "\n") < 40 {
		return source{}, false
	}
	s := source{path: p, text: text, comment: comments[filepath.Ext(p)], lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	u := unitOf(splitLines(text))
	switch {
	case u.char == '\t':
		s.unit = "\t"
	case u.char == ' ' && (u.width == 2 || u.width == 4):
		s.unit = strings.Repeat(" ", u.width)
	default:
		return source{}, false
	}
	return s, true
}
