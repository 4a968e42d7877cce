package corpus

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// An importer type-checks imported packages from source, their declarations alone, and never fails:
// what it does not find is an empty package. That is quick, needs no build, and tells package
// mutate most of what it wants to know.
type importer struct {
	mu       sync.Mutex // held while a package is imported, with all that it imports
	dirs     map[string]string
	packages map[string]*types.Package
}

func newImporter(sources []Source) *importer {
	im := &importer{dirs: map[string]string{}, packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, s := range sources {
		im.dirs[s.Path] = s.Dir
	}
	return im
}

// Import implements types.Importer. It is safe for concurrent use.
func (im *importer) Import(name string) (*types.Package, error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.load(name), nil
}

func (im *importer) load(name string) *types.Package {
	if p := im.packages[name]; p != nil {
		return p
	}
	// An import cycle, which only broken or partly excluded code has, ends at an empty package.
	empty := types.NewPackage(name, packageName(name))
	empty.MarkComplete()
	im.packages[name] = empty
	fset := token.NewFileSet()
	files := parseDir(fset, im.dir(name), nil)
	if len(files) == 0 {
		return empty
	}
	config := types.Config{
		Importer: importFunc(im.load), IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {},
	}
	p, _ := config.Check(name, fset, files, nil) // its errors are of no interest; what could be checked is there
	im.packages[name] = p
	return p
}

// dir returns the directory of a package, "" when it is not in the corpus.
func (im *importer) dir(name string) string {
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		if std := im.dirs[Std]; std != "" {
			return filepath.Join(std, filepath.FromSlash(name))
		}
	}
	for prefix := name; prefix != "."; prefix = path.Dir(prefix) {
		if dir, ok := im.dirs[prefix]; ok {
			return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, prefix)))
		}
	}
	return ""
}

func packageName(importPath string) string {
	base := path.Base(major.ReplaceAllString(importPath, ""))
	return strings.TrimPrefix(base, "go-")
}

// importFunc is a types.Importer that never fails.
type importFunc func(string) *types.Package

func (f importFunc) Import(name string) (*types.Package, error) { return f(name), nil }

// parseDir parses the files of a directory that this system builds, without tests, and keeps those
// of the package that most belong to. With keep, comments are parsed and the sources handed out.
func parseDir(fset *token.FileSet, dir string, keep func(name string, src []byte)) []*ast.File {
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return nil
	}
	context := build.Default
	context.CgoEnabled = true
	var files []*ast.File
	count := map[string]int{}
	for _, e := range entries {
		if !takesFile(e.Name()) {
			continue
		}
		if ok, err := context.MatchFile(dir, e.Name()); err != nil || !ok {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		mode := parser.SkipObjectResolution
		if keep != nil {
			mode |= parser.ParseComments
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), src, mode)
		if err != nil {
			continue
		}
		if keep != nil {
			keep(e.Name(), src)
		}
		files = append(files, f)
		count[f.Name.Name]++
	}
	most := ""
	for name, n := range count {
		if n > count[most] || n == count[most] && name < most {
			most = name
		}
	}
	var out []*ast.File
	for _, f := range files {
		if f.Name.Name == most {
			out = append(out, f)
		}
	}
	return out
}
