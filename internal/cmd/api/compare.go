package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
)

// report holds how an API differs from an earlier one.
type report struct {
	packages   int
	compatible []string
	broken     []string // and not announced
	announced  int
}

// compare compares the packages of the tree at dir with those of a commit of its repository.
func compare(dir, commit string) (report, error) {
	old, err := os.MkdirTemp("", "api-*")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(old)
	if err := checkout(dir, commit, old); err != nil {
		return report{}, err
	}
	before, err := load(old)
	if err != nil {
		return report{}, err
	}
	now, err := load(dir)
	if err != nil {
		return report{}, err
	}
	changelog, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return report{}, fmt.Errorf("api: %w", err)
	}
	r := report{packages: len(now.Packages)}
	names := announced(string(changelog))
	for _, c := range apidiff.ModuleChanges(before, now).Changes {
		switch {
		case c.Compatible:
			r.compatible = append(r.compatible, c.Message)
		case named(names, c.Message):
			r.announced++
		default:
			r.broken = append(r.broken, c.Message)
		}
	}
	return r, nil
}

func checkout(dir, commit, to string) error {
	archive := exec.Command("git", "archive", "--format=tar", commit)
	archive.Dir = dir
	var tar, complaint bytes.Buffer
	archive.Stdout, archive.Stderr = &tar, &complaint
	if err := archive.Run(); err != nil {
		return fmt.Errorf("api: read commit %s: %w: %s (a shallow clone lacks it: git fetch --unshallow)", commit, err, bytes.TrimSpace(complaint.Bytes()))
	}
	extract := exec.Command("tar", "-x", "-C", to)
	extract.Stdin = &tar
	if out, err := extract.CombinedOutput(); err != nil {
		return fmt.Errorf("api: write commit %s: %w: %s", commit, err, out)
	}
	return nil
}

// load type-checks the declarations of the packages that other programs can import. Bodies of
// functions are dropped, which makes it fast.
func load(dir string) (*apidiff.Module, error) {
	pkgs, err := packages.Load(&packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedModule | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.SkipObjectResolution)
			if f != nil {
				for _, d := range f.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok {
						fn.Body = nil
					}
				}
			}
			return f, err
		},
	}, modules(dir)...)
	if err != nil {
		return nil, fmt.Errorf("api: load %s: %w", dir, err)
	}
	m := &apidiff.Module{}
	for _, p := range pkgs {
		if p.Module == nil || p.Name == "main" || private(p.PkgPath) {
			continue
		}
		if p.Types == nil || p.Types.Scope().Len() == 0 && len(p.Errors) > 0 {
			return nil, fmt.Errorf("api: load %s: %w", p.PkgPath, errors.Join(p.Errors[0]))
		}
		if m.Path == "" || len(p.Module.Path) < len(m.Path) {
			m.Path = p.Module.Path // of the root, below which the others are
		}
		m.Packages = append(m.Packages, p.Types)
	}
	if len(m.Packages) == 0 {
		return nil, fmt.Errorf("api: no package in %s", dir)
	}
	return m, nil
}

// modules returns patterns for the packages of all modules that go.work joins.
func modules(dir string) []string {
	patterns := []string{"./..."}
	text, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return patterns
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return patterns // go list says what is wrong
	}
	for _, use := range work.Use {
		if use.Path != "." {
			patterns = append(patterns, use.Path+"/...")
		}
	}
	return patterns
}

// private reports whether other programs cannot, or should not, import a package.
func private(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "internal" || part == "examples" {
			return true
		}
	}
	return false
}

var quoted = regexp.MustCompile("`([^`\n]+)`")

// announced returns the names that the changelog has in backquotes under Unreleased.
func announced(changelog string) map[string]bool {
	_, text, _ := strings.Cut(changelog, "\n## Unreleased")
	text, _, _ = strings.Cut(text, "\n## ")
	names := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return names
}

// named reports whether a change such as "(*Run).Collect: removed" or "./agent.Config.Dir: changed
// from string to int" is among the names, with or without its package.
func named(names map[string]bool, message string) bool {
	what, _, _ := strings.Cut(message, ": ")
	what = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(strings.TrimPrefix(what, "package "))
	what = what[strings.LastIndex(what, "/")+1:]
	for {
		if names[what] {
			return true
		}
		_, rest, ok := strings.Cut(what, ".")
		if !ok {
			return false
		}
		what = rest
	}
}
