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

// An importer type-checks the declarations of imported packages from source, and never fails: a
// package that it cannot find is empty. This is fast, needs no build, and provides most of the
// information that package mutate needs.
type importer struct {
	mu       sync.Mutex // held while a package and all its imports are imported
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
	// An import cycle, which occurs only in broken or partly excluded code, ends at an empty
	// package.
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
	p, _ := config.Check(name, fset, files, nil) // errors are ignored: the package contains whatever could be checked
	im.packages[name] = p
	return p
}

// dir returns the directory of a package, or "" if it is not in the corpus.
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

// parseDir parses the files of a directory that are built on this system, except tests, and keeps
// the files of the package with the most files. If keep is not nil, comments are parsed and keep is
// called with the sources.
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
