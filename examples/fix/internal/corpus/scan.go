package corpus

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Limits on the functions that the corpus accepts.
const (
	minLines  = 3
	maxLines  = 160
	maxText   = 6000    // bytes of a function; a model is shown a third of the longest
	maxLine   = 250     // bytes of a line, so that no line is truncated
	maxSource = 1 << 20 // bytes of a file; larger ones are tables
)

// Function is the location of a function in the corpus.
type Function struct {
	Module string `json:"module"`
	File   string `json:"file"` // with forward slashes, relative to the module's root
	Name   string `json:"name"` // in the form of repair.Function
	Line   int    `json:"line"` // of the word func
	Lines  int    `json:"lines"`
}

// Dir returns the package's directory, relative to the module's root.
func (f Function) Dir() string { return path.Dir(f.File) }

// Scan yields the functions of a source that are suitable for training, with their text: functions
// of 3 to 160 lines, in files that are not tests, not generated and not under another licence,
// sorted by path.
func Scan(s Source) iter.Seq2[Function, string] {
	return func(yield func(Function, string) bool) {
		done := fmt.Errorf("enough")
		// Files that cannot be read or parsed are skipped; this does not end the scan.
		_ = filepath.WalkDir(s.Dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if e.IsDir() {
				if name != s.Dir && !takesDir(name) {
					return filepath.SkipDir
				}
				return nil
			}
			rel, relErr := filepath.Rel(s.Dir, name)
			if relErr != nil || !takesFile(e.Name()) {
				return nil
			}
			src, readErr := os.ReadFile(name)
			if readErr != nil || len(src) > maxSource {
				return nil
			}
			for f, text := range functions(filepath.ToSlash(rel), src) {
				f.Module = s.Path
				if !yield(f, text) {
					return done
				}
			}
			return nil
		})
	}
}

// takesDir reports whether a directory may contain code of the module. It may not if the go command
// ignores it, if it contains vendored code of another module, or if it has a separate licence.
func takesDir(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || base == "vendor" || base == "cmd" && filepath.Base(filepath.Dir(dir)) == "src" ||
		strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return false
	}
	licence, ok, err := Licence(dir)
	return err == nil && (!ok || Permissive(licence))
}

func takesFile(base string) bool {
	return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") &&
		!strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_")
}

// functions yields the suitable functions of a file.
func functions(file string, src []byte) iter.Seq2[Function, string] {
	return func(yield func(Function, string) bool) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return
		}
		lines := strings.Split(string(src), "\n")
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			r := function(fset, lines, fn)
			if fits(r) && !yield(Function{File: file, Name: r.Name, Line: r.Start, Lines: r.End - r.Start + 1}, r.Text) {
				return
			}
		}
	}
}

// function cuts a declaration out of the lines of its file.
func function(fset *token.FileSet, lines []string, fn *ast.FuncDecl) repair.Function {
	start, end := fset.PositionFor(fn.Pos(), false).Line, fset.PositionFor(fn.End(), false).Line
	return repair.Function{
		Name: repair.FuncName(fn), Start: start, End: end,
		Text: strings.ReplaceAll(strings.Join(lines[start-1:end], "\n"), "\r", ""),
	}
}

func fits(f repair.Function) bool {
	n := f.End - f.Start + 1
	if n < minLines || n > maxLines {
		return false
	}
	for l := range strings.Lines(f.Text) {
		if len(l) > maxLine {
			return false
		}
	}
	return len(f.Text) <= maxText
}
