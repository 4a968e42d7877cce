package symbols

import "bytes"

// implemented returns the token that names the type of Rust's impl at j: the last element of its
// path, after "for" if there is one.
func (b *bracesReader) implemented(j int) int { return b.implementedIn(j, 8) }

// implementedIn follows at most depth "for" after each other.
func (b *bracesReader) implementedIn(j, depth int) int {
	i := j + 1
	if b.kind(i) == '<' {
		i = b.angles(i)
	}
	name := -1
	for end := i + 400; i < len(b.toks) && i < end; i++ {
		t := b.toks[i]
		switch t.kind {
		case '<':
			if next := b.angles(i); next > i+1 {
				i = next - 1
			}
		case '(', '[':
			if name < 0 {
				name = b.firstIdent(i)
			}
			i = b.matching(i)
		case '{', ';':
			return name
		case '+': // dyn A + B
			if name >= 0 {
				return b.implementedFor(i, name, depth)
			}
		case tokIdent:
			switch string(b.text(t)) {
			case "where":
				return name
			case "for":
				name = -1
			case "dyn", "mut", "const", "unsafe":
			default:
				if b.kind(i-1) != '\'' {
					name = i
				}
			}
		}
	}
	return name
}

// implementedFor returns name, unless a "for" after the bounds of a trait's parameter names another
// type.
func (b *bracesReader) implementedFor(i, name, depth int) int {
	for end := i + 100; i < len(b.toks) && i < end && b.kind(i) != '{'; i++ {
		if b.is(i, "for") && depth > 0 {
			return b.implementedIn(i, depth-1)
		}
	}
	return name
}

func (b *bracesReader) firstIdent(i int) int {
	for end := min(i+20, len(b.toks)); i < end; i++ {
		if b.kind(i) == tokIdent {
			return i
		}
	}
	return -1
}

// receiver returns the name after a receiver, as in func (r *T) name and fun <T> List<T>.name.
func (b *bracesReader) receiver(i int) (name int, container string) {
	if b.fam.name == "go" && b.kind(i) == '(' {
		end := b.matching(i)
		for j := i + 1; j < end && b.kind(j) != '['; j++ {
			if b.kind(j) == tokIdent {
				container = b.name(b.text(b.toks[j]))
			}
		}
		return end + 1, container
	}
	if b.kind(i) == '<' {
		i = b.angles(i)
	}
	if b.fam.name == "groovy" {
		return i, ""
	}
	for n := 0; n < 16; n++ {
		next := i + 1
		if b.kind(next) == '<' {
			next = b.angles(next)
		}
		if b.kind(next) == '?' {
			next++
		}
		if b.kind(i) != tokIdent || b.kind(next) != '.' || b.kind(next+1) != tokIdent {
			break
		}
		i = next + 1
	}
	return i, ""
}

// valueKind distinguishes const f = () => {} from const x = 1 by what follows the name.
func (b *bracesReader) valueKind(name int) string {
	i := name + 1
	if b.kind(i) == ':' { // a type: skip to the = at depth 0
		for end := min(i+200, len(b.toks)); i < end && b.kind(i) != '=' && b.kind(i) != ';'; i++ {
			if k := b.kind(i); k == '(' || k == '{' || k == '[' {
				i = b.matching(i)
			}
		}
	}
	if b.kind(i) != '=' {
		return Const
	}
	return b.expression(i + 1)
}

// expression returns the kind of definition that results from assigning the expression at i.
func (b *bracesReader) expression(i int) string {
	if b.is(i, "async") {
		i++
	}
	switch {
	case b.is(i, "function"):
		return Func
	case b.is(i, "class"):
		return Class
	case b.kind(i) == tokIdent && b.kind(i+1) == tokArrow:
		return Func
	}
	if b.kind(i) == '<' {
		i = b.angles(i)
	}
	if b.kind(i) != '(' {
		return Const
	}
	end := b.matching(i) + 1
	if b.kind(end) == tokArrow {
		return Func
	}
	if b.kind(end) == ':' { // (a): Type =>
		for j := end + 1; j < len(b.toks) && j < end+60 && b.kind(j) != ';'; j++ {
			switch b.kind(j) {
			case tokArrow:
				return Func
			case '(', '{', '[':
				j = b.matching(j)
			}
		}
	}
	return Const
}

// assigned handles JavaScript's a.b = function () {}, in a statement from i whose first name is at
// j.
func (b *bracesReader) assigned(i, j int) {
	if b.kind(j) != tokIdent || i != j {
		if b.is(i, "export") && b.is(i+1, "default") && j == i+2 {
			b.defaultExport(i, j)
		}
		return
	}
	name := j
	for b.kind(name+1) == '.' && b.kind(name+2) == tokIdent {
		name += 2
	}
	if name == j || b.kind(name+1) != '=' {
		return
	}
	value := name + 2
	for b.kind(value) == tokIdent && b.kind(value+1) == '.' || b.kind(value) == '.' || b.kind(value) == '=' || b.kind(value) == tokIdent && b.kind(value+1) == '=' {
		value++ // exports.a = exports.b = function
	}
	kind := b.expression(value)
	if kind == Const && (b.kind(value) != '{' || !b.is(name, "exports") && !b.is(name, "prototype")) {
		return
	}
	d := b.def(kind, name, i, b.headEnd(i, name))
	container := bytes.TrimSuffix(b.src[b.toks[j].from:b.toks[name-2].to], []byte(".prototype"))
	if len(container) > maxSignature || string(container) == "exports" || string(container) == "module" || string(container) == "module.exports" {
		container = nil
	}
	if d.Container = b.name(container); d.Container != "" && d.Kind == Func {
		d.Kind = Method
	}
	b.pending = b.put(d)
}

// defaultExport handles export default { and export default () =>.
func (b *bracesReader) defaultExport(i, j int) {
	kind := b.expression(j)
	if kind == Const && b.kind(j) != '{' {
		return
	}
	d := b.def(kind, i+1, i, b.headEnd(i, i+1))
	b.pending = b.put(d)
}
