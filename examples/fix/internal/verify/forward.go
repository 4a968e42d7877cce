package verify

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// forward prepares the function d for forwarding: unnamed parameters and receivers get names. The
// returned function call generates code that calls the copy for a variant with the same arguments
// and returns the copy's results.
func forward(e *edits, d *ast.FuncDecl, offset func(token.Pos) int) (call func(id int) string) {
	unnamed := 0
	name := func(n *ast.Ident, at token.Pos) string {
		switch {
		case n == nil:
			unnamed++
			s := prefix + "P" + strconv.Itoa(unnamed)
			e.insert(offset(at), 0, s+" ", false)
			return s
		case n.Name == "_":
			unnamed++
			s := prefix + "P" + strconv.Itoa(unnamed)
			e.insert(offset(n.Pos()), 1, s, false)
			return s
		}
		return n.Name
	}
	var args []string
	for _, field := range d.Type.Params.List {
		dots := ""
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			dots = "..."
		}
		if len(field.Names) == 0 {
			args = append(args, name(nil, field.Type.Pos())+dots)
		}
		for _, n := range field.Names {
			args = append(args, name(n, n.Pos())+dots)
		}
	}
	receiver := ""
	if d.Recv != nil && len(d.Recv.List) == 1 {
		field := d.Recv.List[0]
		if len(field.Names) == 0 {
			receiver = name(nil, field.Type.Pos()) + "."
		} else {
			receiver = name(field.Names[0], field.Pos()) + "."
		}
	}
	var typeArgs []string
	if d.Type.TypeParams != nil {
		for _, field := range d.Type.TypeParams.List {
			for _, n := range field.Names {
				typeArgs = append(typeArgs, n.Name)
			}
		}
	}
	rest := "(" + strings.Join(args, ", ") + ")"
	if len(typeArgs) > 0 {
		rest = "[" + strings.Join(typeArgs, ", ") + "]" + rest
	}
	returns := d.Type.Results != nil && len(d.Type.Results.List) > 0
	return func(id int) string {
		s := receiver + copyName(id, d.Name.Name) + rest
		if returns {
			return "return " + s
		}
		return s + "; return"
	}
}

// edits are replacements in a text that do not change its line numbers.
type edits struct {
	src  []byte
	list []edit
}

type edit struct {
	at, remove int
	text       string
	site       bool // whether its position is reported in the result
}

func (e *edits) insert(at, remove int, text string, site bool) {
	e.list = append(e.list, edit{at, remove, text, site})
}

// apply returns the edited text and the positions of its sites.
func (e *edits) apply() ([]byte, []site) {
	slices.SortStableFunc(e.list, func(a, b edit) int { return a.at - b.at })
	var out []byte
	var sites []site
	pos, line, start := 0, 1, 0 // start: where the current line begins in out
	add := func(b []byte) {
		for _, c := range b {
			out = append(out, c)
			if c == '\n' {
				line++
				start = len(out)
			}
		}
	}
	for _, x := range e.list {
		add(e.src[pos:x.at])
		from := len(out) - start + 1
		add([]byte(x.text))
		if x.site {
			sites = append(sites, site{line, from, len(out) - start + 1})
		}
		pos = x.at + x.remove
	}
	add(e.src[pos:])
	return out, sites
}
