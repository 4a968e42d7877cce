package verify

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A Variant is one function with one line replaced.
type Variant struct {
	Function repair.Function // the original
	Line     int             // counted from 1 at the function's first line
	Text     string          // the whole new line without indentation
}

// selector is the environment variable that selects a variant by its number; 0 or an empty value
// selects the original package.
const selector = "LUTHIER_VARIANT"

// Names in instrumented code begin with prefix: zzlVariant is the selected number, zzl7_F is
// variant 7 of F.
const prefix = "zzl"

// selectorSource returns a file that reads the selector once. It imports only syscall, on which
// nearly everything depends, so that it can also be added to packages of the standard library.
func selectorSource(pkg string) []byte {
	return []byte("package " + pkg + `

import "syscall"

var ` + prefix + `Variant = func() int {
	s, _ := syscall.Getenv("` + selector + `")
	n := 0
	for i := 0; i < len(s); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}()
`)
}

// selectorFile is the name of the file that holds selectorSource.
const selectorFile = prefix + "_variant.go"

// A span is the position of the copy for a variant in an instrumented file.
type span struct {
	variant    int // number of the variant
	file       string
	start, end int // lines of the copy in the instrumented file
	orig       int // line of the function in the original file
}

// length returns the number of lines in the copy.
func (s span) length() int { return s.end - s.start + 1 }

// A site is the text inserted at the start of a function, which is not part of the original
// package.
type site struct {
	line, from, to int // columns in bytes from 1; to is exclusive
}

// numbered is a variant with its number and the declaration of its function.
type numbered struct {
	id   int
	v    Variant
	decl *ast.FuncDecl
}

// instrument returns f with a copy of its function for every variant. Lines of f keep their
// numbers. Variants for which no code can be generated are dropped, with the reason.
func instrument(fset *token.FileSet, f *File, variants []numbered) (src []byte, spans []span, sites []site, dropped map[int]error) {
	dropped = map[int]error{}
	byDecl := map[*ast.FuncDecl][]numbered{}
	copies := map[int]string{}
	var order []*ast.FuncDecl
	for _, n := range variants {
		text, err := copyOf(n)
		if err != nil {
			dropped[n.id] = err
			continue
		}
		copies[n.id] = text
		if byDecl[n.decl] == nil {
			order = append(order, n.decl)
		}
		byDecl[n.decl] = append(byDecl[n.decl], n)
	}
	e := edits{src: f.Src}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, d := range order {
		call := forward(&e, d, offset)
		var b strings.Builder
		b.WriteString(" switch " + prefix + "Variant {")
		for _, n := range byDecl[d] {
			fmt.Fprintf(&b, "case %d: %s;", n.id, call(n.id))
		}
		b.WriteString("};")
		e.insert(offset(d.Body.Lbrace)+1, 0, b.String(), true)
	}
	src, sites = e.apply()
	if len(src) > 0 && src[len(src)-1] != '\n' {
		src = append(src, '\n')
	}
	line := 1 + strings.Count(string(src), "\n")
	for _, d := range order {
		for _, n := range byDecl[d] {
			text := copies[n.id]
			lines := 1 + strings.Count(text, "\n")
			spans = append(spans, span{variant: n.id, file: f.Name, start: line, end: line + lines - 1, orig: n.v.Function.Start})
			src = append(append(src, text...), '\n')
			line += lines
		}
	}
	return src, spans, sites, dropped
}

// copyName returns the name of the copy of a function for variant id.
func copyName(id int, name string) string { return prefix + strconv.Itoa(id) + "_" + name }

// copyOf returns the text of the copy for a variant, under its new name.
func copyOf(n numbered) (string, error) {
	if n.v.Line < 1 || n.v.Line > 1+strings.Count(n.v.Function.Text, "\n") || strings.ContainsAny(n.v.Text, "\r\n") {
		return "", errors.New("no such line, or more than one")
	}
	const head = "package p\n"
	text := n.v.Function.Edited(n.v.Line, n.v.Text)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", head+text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	if len(file.Decls) != 1 {
		return "", errors.New("more than one declaration")
	}
	d, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || d.Body == nil || d.Name.Name != n.decl.Name.Name {
		return "", errors.New("not the function any more")
	}
	at := fset.Position(d.Name.Pos()).Offset - len(head)
	return text[:at] + copyName(n.id, d.Name.Name) + text[at+len(d.Name.Name):], nil
}

// Fit returns nil if a function can have variants, or the reason why not.
func Fit(d *ast.FuncDecl) error {
	switch {
	case d.Body == nil:
		return errors.New("no body")
	case d.Name.Name == "_" || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "main"):
		return errors.New("cannot be called")
	case strings.HasPrefix(d.Name.Name, prefix):
		return errors.New("its name is one of ours")
	}
	if d.Doc != nil {
		for _, c := range d.Doc.List {
			if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//line") || strings.HasPrefix(c.Text, "//export") {
				return fmt.Errorf("has the directive %s", c.Text)
			}
		}
	}
	if d.Type.TypeParams != nil {
		for _, field := range d.Type.TypeParams.List {
			for _, name := range field.Names {
				if name.Name == "_" {
					return errors.New("a type parameter without a name cannot be passed on")
				}
			}
		}
	}
	return callsFit(d.Body)
}

// callsFit rejects calls that work only in the function called directly by the caller: recover, and
// functions that inspect the caller's frame.
func callsFit(body *ast.BlockStmt) error {
	var err error
	depth := 0
	var stack []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			if _, ok := stack[len(stack)-1].(*ast.FuncLit); ok {
				depth--
			}
			stack = stack[:len(stack)-1]
			return false
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncLit:
			depth++
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				if f.Name == "recover" && depth == 0 {
					err = errors.New("calls recover")
				}
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "runtime" && strings.HasPrefix(f.Sel.Name, "Caller") {
					err = errors.New("looks at its caller")
				}
			}
		}
		return true
	})
	return err
}
