// Command systems type-checks packages as they would be compiled on other systems. It finds
// everything that a build would refuse except what the assembler and the linker do, and takes only
// seconds, because nothing is compiled.
//
//	go run .ci/systems.go darwin/arm64,windows/amd64 ./... ./examples/fix/...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: systems OS/ARCH[,OS/ARCH...] package...")
		os.Exit(2)
	}
	bad := 0
	for system := range strings.SplitSeq(os.Args[1], ",") {
		n, err := check(system, os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, system+":", err)
			os.Exit(1)
		}
		bad += n
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// check prints the errors in packages on a system, and counts them.
func check(system string, patterns []string) (bad int, err error) {
	goos, arch, _ := strings.Cut(system, "/")
	here, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	ours := func(file string) bool { return strings.HasPrefix(file, here+string(filepath.Separator)) }
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
		// Third-party code is not checked: only its declarations are kept, without bodies.
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.SkipObjectResolution)
			if f != nil && !ours(name) {
				for _, d := range f.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok {
						fn.Body = nil
					}
				}
			}
			return f, err
		},
	}, patterns...)
	if err != nil {
		return 0, err
	}
	checked := 0
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if len(p.GoFiles) > 0 && !ours(p.GoFiles[0]) {
			return // its imports look unused without the bodies
		}
		checked++
		for _, e := range p.Errors {
			fmt.Fprintln(os.Stderr, system+":", e)
			bad++
		}
	})
	if checked == 0 {
		return 0, fmt.Errorf("no package of this repository is among %v", patterns)
	}
	fmt.Printf("%s: %d packages of this repository\n", system, checked)
	return bad, nil
}
