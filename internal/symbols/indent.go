package symbols

import (
	"bytes"
	"strings"
)

// An openDef is a definition whose end is not known yet.
type openDef struct {
	def    int
	indent int
}

// nest is the stack of definitions around the current line.
type nest struct {
	r    *reader
	open []openDef
}

// leave closes the definitions to which a line with the given indentation does not belong. The
// parameter last is their last line.
func (n *nest) leave(indent, last int) {
	for len(n.open) > 0 && n.open[len(n.open)-1].indent >= indent {
		d := &n.r.defs[n.open[len(n.open)-1].def]
		d.EndLine = max(d.Line, last)
		n.open = n.open[:len(n.open)-1]
	}
}

// add appends a definition inside the open ones.
func (n *nest) add(d Def, indent int, opens bool) {
	d.Depth = len(n.open)
	if d.Depth > 0 {
		outer := n.r.defs[n.open[d.Depth-1].def]
		if d.Container = strings.TrimSuffix(outer.FullName()+"."+d.Container, "."); outer.Kind == Func || outer.Kind == Method {
			d.Container = outer.FullName()
		}
		if d.Kind == Func && (outer.Kind == Class || outer.Kind == Interface || outer.Kind == Impl) {
			d.Kind = Method
		}
		if len(d.Container) > maxSignature {
			d.Container = outer.Container
		}
	}
	n.r.defs = append(n.r.defs, d)
	if opens {
		n.open = append(n.open, openDef{len(n.r.defs) - 1, indent})
	}
}

func (n *nest) inFunc() bool {
	if len(n.open) == 0 {
		return false
	}
	k := n.r.defs[n.open[len(n.open)-1].def].Kind
	return k == Func || k == Method
}

// readIndented reads Python: a definition continues while lines are indented deeper.
func (r *reader) readIndented() {
	n := nest{r: r}
	start, depth, last := -1, 0, 0 // first line of decorators; bracket depth; last line with code
	for i := range r.toks {
		t := r.toks[i]
		if t.first && depth > 0 && (r.is(i, "def") || r.is(i, "class")) && r.kind(i+1) == tokIdent && r.column(i) == 0 {
			depth = 0 // a bracket was never closed
		}
		if t.first && depth == 0 {
			if i > 0 {
				last = r.endLine(i - 1)
			}
			if !r.continued(i) {
				indent := r.column(i)
				n.leave(indent, last)
				start = r.pythonLine(&n, i, indent, start)
			}
		}
		switch t.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	n.leave(0, r.lastLine())
}

// continued reports whether the previous line ended with a backslash.
func (r *reader) continued(i int) bool {
	at := bytes.LastIndexByte(r.src[:r.toks[i].from], '\n')
	return at > 0 && bytes.HasSuffix(bytes.TrimRight(r.src[max(0, at-2):at], "\r"), []byte("\\"))
}

// pythonLine analyses one logical line. It returns the start of the decorators before the next
// line, or -1.
func (r *reader) pythonLine(n *nest, i, indent, start int) int {
	if r.kind(i) == '@' {
		if start < 0 {
			start = int(r.toks[i].line)
		}
		return start
	}
	at := i
	if r.is(i, "async") {
		i++
	}
	kind := ""
	switch {
	case r.is(i, "def"):
		kind = Func
	case r.is(i, "class"):
		kind = Class
	}
	if kind != "" && r.kind(i+1) == tokIdent {
		d := r.def(kind, i+1, at, r.pythonHead(i+1))
		if start >= 0 {
			d.StartLine = start
		}
		n.add(d, indent, true)
		return -1
	}
	if r.kind(at) == tokIdent && !n.inFunc() && indent <= 8*len(n.open) {
		r.pythonValue(n, at, indent)
	}
	return -1
}

// pythonValue handles NAME = value, NAME: type = value and type NAME = value.
func (r *reader) pythonValue(n *nest, i, indent int) {
	at, kind := i, Var
	if r.is(i, "type") && r.kind(i+1) == tokIdent {
		i, kind = i+1, Type
	}
	switch r.kind(i + 1) {
	case '=', ':', '[':
	default:
		return
	}
	if r.fam.isControl(r.text(r.toks[i])) || kind != Type && r.kind(i+1) == '[' || len(n.open) == 0 && indent > 0 || r.toks[i+1].first {
		return
	}
	if text := r.text(r.toks[i]); kind == Var && strings.ToUpper(string(text)) == string(text) {
		kind = Const
	}
	end := i + 1
	for end < len(r.toks) && !r.toks[end].first {
		end++
	}
	n.add(r.def(kind, i, at, end), indent, true)
}

// pythonHead returns the token after the colon that ends a head whose name is at i.
func (r *reader) pythonHead(i int) int {
	depth := 0
	for j := i + 1; j < len(r.toks) && j < i+maxHead && !(r.toks[j].first && (r.is(j, "def") || r.is(j, "class"))); j++ {
		switch r.toks[j].kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ':':
			if depth <= 0 {
				return j + 1
			}
		}
		if depth <= 0 && j+1 < len(r.toks) && r.toks[j+1].first {
			return j + 1
		}
	}
	return min(i+1, len(r.toks))
}

// maxHead limits the number of tokens that are searched for a name or for the end of a head.
const maxHead = 4000

// def builds a definition from the token of its name and the first token and end of its head.
func (r *reader) def(kind string, name, from, to int) Def {
	r.toks[name].def = true
	text := r.text(r.toks[name])
	if r.fam.syntax.ruby && int(r.toks[name].to) < len(r.src) {
		if c := r.src[r.toks[name].to]; c == '?' || c == '!' || c == '=' && r.kind(name+2) == '(' {
			text = r.src[r.toks[name].from : r.toks[name].to+1]
		}
	}
	return Def{
		Name: r.name(text), Kind: kind, Signature: r.signature(from, to), Exported: text[0] != '_' || bytes.HasPrefix(text, []byte("__")) && bytes.HasSuffix(text, []byte("__")),
		StartLine: int(r.toks[from].line), Line: int(r.toks[name].line), EndLine: max(int(r.toks[name].line), r.endLine(min(to, len(r.toks))-1)),
	}
}

// readEnded reads languages whose definitions extend to an "end" at the same indentation.
func (r *reader) readEnded() {
	n := nest{r: r}
	for i := range r.toks {
		if !r.toks[i].first {
			continue
		}
		indent := r.column(i)
		if r.is(i, "end") || r.kind(i) == '}' {
			n.leave(indent+1, r.lineBefore(i))
			n.leave(indent, int(r.toks[i].line))
			continue
		}
		j := i
		for j < len(r.toks) && r.kind(j) == tokIdent && r.fam.words[string(r.text(r.toks[j]))] == modifier && r.isWord(j) {
			j++
		}
		if r.isWord(j) && r.toks[j].line == r.toks[i].line {
			n.leave(indent, r.lineBefore(i))
			r.endedHead(&n, i, j, indent)
		}
	}
	n.leave(0, r.lastLine())
}

func (r *reader) lineBefore(i int) int {
	if i == 0 {
		return 1
	}
	return r.endLine(i - 1)
}

func (r *reader) isWord(i int) bool {
	if r.kind(i) != tokIdent {
		return false
	}
	_, ok := r.fam.words[string(r.text(r.toks[i]))]
	return ok
}

// endedHead handles the definition whose keyword is at j and whose line begins at i.
func (r *reader) endedHead(n *nest, i, j, indent int) {
	w := r.fam.words[string(r.text(r.toks[j]))]
	name := j + 1
	if r.kind(name) != tokIdent {
		return
	}
	for w.name == namePath && (r.kind(name+1) == '.' || r.kind(name+1) == tokPath || r.kind(name+1) == ':') && r.kind(name+2) == tokIdent && !r.toks[name+2].first {
		name += 2
	}
	end := name + 1
	for end < len(r.toks) && !r.toks[end].first {
		end++
	}
	d := r.def(w.kind, name, i, end)
	opens := !r.closedHere(name, end)
	d.Signature = strings.TrimSuffix(d.Signature, " do")
	if name > j+1 && !r.is(j+1, "self") {
		path := strings.NewReplacer("::", ".", ":", ".").Replace(string(r.src[r.toks[j+1].from:r.toks[name-2].to]))
		if d.Container = r.name([]byte(path)); len(path) > maxSignature {
			d.Container = ""
		}
	}
	n.add(d, indent, opens)
}

// closedHere reports whether a definition ends on its first line: def a = 1, def b; end, def c, do:
// 1.
func (r *reader) closedHere(name, end int) bool {
	depth := 0
	for j := name + 1; j < end; j++ {
		switch r.kind(j) {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '=':
			if depth == 0 && r.fam.syntax.ruby && j > name+1 {
				return true
			}
		}
		if depth == 0 && (r.is(j, "end") || r.is(j, "do") && r.kind(j+1) == ':') {
			return true
		}
	}
	return false
}
