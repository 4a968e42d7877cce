package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Config configures how packages are built and run.
type Config struct {
	// Go is the go command; empty means the one in PATH.
	Go string
	// Env is added to the environment of the go command, such as GOFLAGS=-mod=mod for a module
	// whose go.sum is not complete, or GOROOT for a copy of the standard library.
	Env []string
	// Scratch is a directory for test binaries, which commands must be able to read.
	Scratch string
	// Covers is a directory for coverage profiles, where commands must be able to write. Empty
	// means Scratch.
	Covers string
	// Exec runs the test binary.
	Exec Executor
	// Lock is held while the files of a package are replaced and built; use the same lock for all
	// packages of a module or GOROOT. Nil means that there is no lock.
	Lock sync.Locker
	// Slowest limits the total time of the tests of one function; slower tests are left out. Zero
	// means 3 s.
	Slowest time.Duration
}

func (c Config) covers() string {
	if c.Covers != "" {
		return c.Covers
	}
	return c.Scratch
}

func (c Config) slowest() time.Duration {
	if c.Slowest > 0 {
		return c.Slowest
	}
	return 3 * time.Second
}

// A Package is a parsed and type-checked package, without its tests.
type Package struct {
	Dir, ImportPath, Name string
	Files                 []*File
	Fset                  *token.FileSet
	Info                  *types.Info

	imports types.Importer
	goVer   string
	names   func() *repair.Names
}

// Names returns the uses of the package's names.
func (p *Package) Names() *repair.Names { return p.names() }

// A File is one source file of a package.
type File struct {
	Name string // without the directory
	Src  []byte
	AST  *ast.File
}

// listed is a package in the output of "go list -json".
type listed struct {
	ImportPath, Dir, Name, Export           string
	GoFiles, CgoFiles                       []string
	TestGoFiles, XTestGoFiles, IgnoredFiles []string
	ImportMap                               map[string]string
	DepOnly                                 bool
	Module                                  *struct{ GoVersion string }
	Error                                   *struct{ Err string }
}

// ErrUnfit means that a package cannot be verified: it has no tests, needs cgo or does not compile.
var ErrUnfit = errors.New("not fit")

// Load parses and type-checks the package in dir, whose module must be complete.
func Load(ctx context.Context, cfg Config, dir string) (*Package, error) {
	out, err := cfg.goCommand(ctx, dir, "list", "-e", "-export", "-deps",
		"-json=ImportPath,Dir,Name,Export,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,ImportMap,DepOnly,Module,Error", ".", "syscall") // syscall: the selector imports it
	if err != nil {
		return nil, fmt.Errorf("verify: list the package in %s: %w", dir, err)
	}
	exports := map[string]string{}
	var self *listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		l := new(listed)
		if err := dec.Decode(l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("verify: list the package in %s: %w", dir, err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly && l.ImportPath != "syscall" {
			self = l
		}
	}
	switch {
	case self == nil || self.Error != nil && len(self.GoFiles) == 0:
		return nil, fmt.Errorf("verify: load %s: %w: no package here", dir, ErrUnfit)
	case len(self.CgoFiles) > 0:
		return nil, fmt.Errorf("verify: load %s: %w: needs cgo", dir, ErrUnfit)
	case len(self.TestGoFiles)+len(self.XTestGoFiles) == 0:
		return nil, fmt.Errorf("verify: load %s: %w: no tests", dir, ErrUnfit)
	}
	p := &Package{Dir: self.Dir, ImportPath: self.ImportPath, Name: self.Name, Fset: token.NewFileSet()}
	p.names = sync.OnceValue(func() *repair.Names {
		files := map[string][]byte{}
		for _, f := range p.Files {
			files[f.Name] = f.Src
		}
		return repair.NewNames(files)
	})
	if self.Module != nil && self.Module.GoVersion != "" {
		p.goVer = "go" + self.Module.GoVersion
	}
	p.imports = importer.ForCompiler(p.Fset, "gc", func(path string) (io.ReadCloser, error) {
		if to := self.ImportMap[path]; to != "" {
			path = to
		}
		if exports[path] == "" {
			return nil, fmt.Errorf("verify: import %s: no export data", path)
		}
		return os.Open(exports[path])
	})
	for _, name := range self.GoFiles {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, fmt.Errorf("verify: load %s: %w", dir, err)
		}
		f, err := parser.ParseFile(p.Fset, filepath.Join(p.Dir, name), src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("verify: load %s: %w: %v", dir, ErrUnfit, err)
		}
		p.Files = append(p.Files, &File{Name: name, Src: src, AST: f})
	}
	files := make([]*ast.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = f.AST
	}
	p.Info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
	}
	if errs := p.check(p.Fset, files, p.Info); len(errs) > 0 {
		return nil, fmt.Errorf("verify: load %s: %w: %v", dir, ErrUnfit, errs[0])
	}
	return p, nil
}

// check type-checks files as the package and returns all errors.
func (p *Package) check(fset *token.FileSet, files []*ast.File, info *types.Info) []types.Error {
	var errs []types.Error
	conf := types.Config{Importer: p.imports, GoVersion: p.goVer, Sizes: types.SizesFor("gc", "amd64"), Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			errs = append(errs, e)
		}
	}}
	if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil && len(errs) == 0 {
		errs = append(errs, types.Error{Fset: fset, Msg: err.Error()})
	}
	return errs
}

// File returns the file with that name, or nil if there is none.
func (p *Package) File(name string) *File {
	for _, f := range p.Files {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// goCommand runs the go command in dir and returns its standard output.
func (c Config) goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	name := c.Go
	if name == "" {
		name = "go"
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), c.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(tail(stderr.String(), 32<<10)))
	}
	return stdout.Bytes(), nil
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
