package harness

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox"
)

// Module is a Go module on disk as a [Case]. Its tests run in a sandbox over a private view of the
// module, without a network, and edits are applied through an overlay of the go command. So the
// directory itself is never written, even if the program crashes.
type Module struct {
	Root    string // directory of its go.mod
	Path    string // its module path
	Package string // import path of the package under repair, once Find has chosen it

	Tests     int      // number of tests that ran in the package
	Generated []string // files of the package that are not edited, because they are generated
	Others    []string // other packages whose tests fail
	Runs      int      // number of test runs, not counting the first

	sb      sandbox.Sandbox
	scratch string // directory for edited files, the overlay and the test binary
	below   string // pattern of the packages to consider, "./..." or "./sub/..."
	limit   time.Duration
	env     []string
	needs   []*modfile.Require // requirements in go.mod

	list    map[string]*listed // packages of the module by import path
	broken  map[string]*packageRun
	sources map[string][]byte // contents by file, relative to the root
	finding *Finding

	checkers map[string]*checkerOf // by directory
	life     context.Context       // context of background work; stop ends it
	stop     context.CancelFunc
	mu       sync.Mutex
}

// ModuleConfig configures how a module is opened.
type ModuleConfig struct {
	Timeout time.Duration // of one test run; 0 means 30 seconds
}

// OpenModule opens the module that contains a directory, for the packages at and below that
// directory. If something is wrong with it, the error is a [Problem].
func OpenModule(ctx context.Context, dir string, cfg ModuleConfig) (*Module, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	root, below, err := findModule(dir)
	if err != nil {
		return nil, err
	}
	data, err := regular.Read(filepath.Join(root, "go.mod"), maxSource)
	if err != nil {
		return nil, problem("cannot read go.mod: %v", err)
	}
	mod, err := modfile.ParseLax("go.mod", data, nil)
	if err != nil || mod.Module == nil {
		return nil, problem("%s is no go.mod that the go command would read: %v", filepath.Join(root, "go.mod"), err)
	}
	m := &Module{Root: root, Path: mod.Module.Mod.Path, below: below, limit: cfg.Timeout, needs: mod.Require,
		sources: map[string][]byte{}, checkers: map[string]*checkerOf{}, broken: map[string]*packageRun{}}
	if m.scratch, err = os.MkdirTemp("", "luthier-fix-"); err != nil {
		return nil, err
	}
	m.life, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	flags := "-mod=mod"
	if _, err := os.Stat(filepath.Join(root, "vendor", "modules.txt")); err == nil {
		flags = "-mod=vendor"
	}
	if tags := tagsOf(os.Getenv("GOFLAGS")); tags != "" {
		flags += " " + tags
	}
	m.env = []string{"GOFLAGS=" + flags, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOTRACEBACK=single"}
	m.sb, err = sandbox.Local(ctx, sandbox.Config{
		Snapshot: sandbox.SnapshotDir(root), Writable: []string{m.scratch}, ReadOnly: replaced(root, mod), Env: m.env,
		Floor: sandbox.TierNone, Limits: sandbox.Limits{FileSize: 1 << 30},
	})
	if err != nil {
		m.stop()
		return nil, errors.Join(fmt.Errorf("open a sandbox over %s: %w", root, err), os.RemoveAll(m.scratch))
	}
	return m, nil
}

// tagsOf returns the flag in GOFLAGS that selects the files to build, or "" if there is none. The
// other flags concern downloads or output, for which this package sets its own flags.
func tagsOf(goflags string) string {
	tags := ""
	for _, f := range strings.Fields(goflags) {
		if strings.HasPrefix(strings.TrimLeft(f, "-"), "tags=") {
			tags = f
		}
	}
	return tags
}

// Close ends the sandbox and removes the files kept outside of the module.
func (m *Module) Close() error {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.checkers {
		<-c.ready
	}
	return errors.Join(m.sb.Close(), os.RemoveAll(m.scratch))
}

// Isolation returns the degree to which the tests are isolated from the host.
func (m *Module) Isolation() sandbox.Isolation { return m.sb.Isolation() }

// findModule returns the root of a directory's module and the pattern of the packages at and below
// the directory.
func findModule(dir string) (root, below string, err error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", "", problem("there is no directory %s", dir)
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return "", "", problem("%s is not a directory; give the directory of a Go module", dir)
	}
	for root = abs; ; root = filepath.Dir(root) {
		if st, err := os.Stat(filepath.Join(root, "go.mod")); err == nil && st.Mode().IsRegular() {
			rel, err := filepath.Rel(root, abs)
			if err != nil {
				return "", "", err
			}
			if rel == "." {
				return root, "./...", nil
			}
			return root, "./" + filepath.ToSlash(rel) + "/...", nil
		}
		if filepath.Dir(root) == root {
			return "", "", problem("%s is not in a Go module: there is no go.mod here or above; give the directory of a module, or make one with \"go mod init\"", dir)
		}
	}
}

// replaced returns the directories outside a module that its go.mod uses as replacements.
func replaced(root string, mod *modfile.File) []string {
	var dirs []string
	for _, r := range mod.Replace {
		if r.New.Version != "" {
			continue
		}
		dir := r.New.Path
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if rel, err := filepath.Rel(root, dir); err == nil && (rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))) {
			if _, err := os.Stat(dir); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// Source implements [Case]. Every call returns the text that the first call read: before the file
// is changed, it is compared with that text.
func (m *Module) Source(file string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if src, ok := m.sources[file]; ok {
		return src, nil
	}
	src, err := regular.Read(filepath.Join(m.Root, filepath.FromSlash(file)), maxSource)
	if err == nil {
		m.sources[file] = src
	}
	return src, err
}

// functions returns the functions of a package that may be edited, with files named relative to the
// root, and the generated files that are left out.
func (m *Module) functions(p *listed) (fns []repair.Function, generated []string, err error) {
	for _, name := range p.GoFiles {
		file := p.rel(m.sb.Dir(), name)
		src, err := m.Source(file)
		if err != nil {
			return nil, nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.PackageClauseOnly)
		if err == nil && ast.IsGenerated(f) {
			generated = append(generated, file)
			continue
		}
		list, err := repair.Functions(file, src)
		if err != nil {
			return nil, nil, err
		}
		fns = append(fns, list...)
	}
	return fns, generated, nil
}

// checkerOf is a type checker that is built in the background.
type checkerOf struct {
	ready chan struct{}
	c     *repair.Checker
	err   error
}

// checker returns the checker of a file's package and starts building it if necessary.
func (m *Module) checker(file string) *checkerOf {
	dir := filepath.Join(m.Root, filepath.Dir(filepath.FromSlash(file)))
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.checkers[dir]; ok {
		return c
	}
	c := &checkerOf{ready: make(chan struct{})}
	m.checkers[dir] = c
	go func() {
		defer close(c.ready)
		// This runs on the host, outside the sandbox: it compiles and runs no code of the module,
		// and must not write go.mod.
		env := append(os.Environ(), m.env...)
		env = append(env, "GOFLAGS="+strings.ReplaceAll(strings.TrimPrefix(m.env[0], "GOFLAGS="), "-mod=mod", "-mod=readonly"), "CGO_ENABLED=0")
		c.c, c.err = repair.NewChecker(m.life, dir, ".", env...)
	}()
	return c
}

// Check implements [Case]. If the package cannot be loaded for type checks, only the syntax is
// checked and the compiler finds the rest.
func (m *Module) Check(ctx context.Context, file string, src []byte) error {
	c, name, err := m.checked(ctx, file)
	if err != nil {
		return err
	}
	if c == nil {
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Base(file), src, parser.SkipObjectResolution); err != nil {
			return fmt.Errorf("does not parse: %w", err)
		}
		return nil
	}
	return c.Check(name, src)
}

// Words implements [Speller].
func (m *Module) Words(ctx context.Context, file string) *repair.Words {
	c, _, err := m.checked(ctx, file)
	if err != nil || c == nil {
		return nil
	}
	return c.Words()
}

// checked returns the checker of a file's package, and the file's name in the checker. The checker
// is nil if it does not include the file.
func (m *Module) checked(ctx context.Context, file string) (c *repair.Checker, name string, err error) {
	of := m.checker(file)
	select {
	case <-of.ready:
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	name = filepath.Join(m.Root, filepath.FromSlash(file))
	if of.err != nil || !slices.Contains(of.c.Files(), name) { // checks run without cgo, but other files may depend on it
		return nil, "", nil
	}
	return of.c, name, nil
}
