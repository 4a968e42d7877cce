package symbols

// declaration analyses a statement, from its head up to a token, that no keyword and no brace
// identified.
func (b *bracesReader) declaration(next int) {
	at, to := b.top().place, next
	if k := b.kind(to - 1); to > b.head && (k == ';' || k == ',') {
		to--
	}
	if at == inFunc || to <= b.head {
		return
	}
	switch b.fam.style {
	case styleC:
		b.cDeclaration(at, to)
	case styleJava:
		if at == inClass || at == inFace {
			if name, ok := b.callable(b.decorations(b.head), to); ok && !b.equalsBefore(name) {
				b.put(b.def(Method, name, b.head, to))
			}
		}
	case styleJS:
		if at == inFace || at == inClass || at == inValue {
			if name, ok := b.member(to); ok && (at != inFace || b.kind(name+1) != ':') && (at != inValue || b.kind(name+1) == ':') {
				b.put(b.def(Method, name, b.head, to))
			}
		}
	}
}

func (b *bracesReader) equalsBefore(name int) bool { return b.equals(b.head, name) }

// cDeclaration handles prototypes in headers, methods of classes, types and variables with a value.
func (b *bracesReader) cDeclaration(at place, to int) {
	if at != inFile && at != inClass {
		return
	}
	from := b.decorations(b.head)
	switch {
	case b.is(from, "typedef"):
		b.typedef(from, to)
	case b.is(from, "using") && b.kind(from+1) == tokIdent && b.kind(from+2) == '=':
		b.put(b.def(Type, from+1, b.head, to))
	case b.is(from, "using") || b.is(from, "friend") || b.is(from, "return"):
	case at == inFile && b.is(from, "extern") && !b.header:
	default:
		name, ok := b.callable(from, to)
		switch {
		case ok && name > from && (b.header && at == inFile):
			b.put(b.cFunction(Decl, name, to))
		case ok && at == inClass:
			b.put(b.cFunction(Method, name, to))
		case at == inFile && !ok:
			b.cVariable(from, to)
		}
	}
}

// cVariable handles type name = value and type name[] = { ... }.
func (b *bracesReader) cVariable(from, to int) {
	name := -1
	for i := from; i < to && i < from+60; i++ {
		switch b.toks[i].kind {
		case tokIdent:
			name = i
		case '[':
			i = b.matching(i)
		case '(', '{', '<':
			return
		case '=':
			if name > from && b.kind(name-1) != '.' {
				kind := Var
				if b.hasWord(from, i, "const") || b.hasWord(from, i, "constexpr") {
					kind = Const
				}
				b.put(b.def(kind, name, b.head, i))
			}
			return
		}
	}
}

// typedef handles typedef T name, typedef T name[3], typedef T (*name)(int) and typedef T
// name(int).
func (b *bracesReader) typedef(from, to int) {
	name := -1
	for i := from + 1; i < to; i++ {
		switch b.toks[i].kind {
		case tokIdent:
			if b.kind(i+1) == '(' && (b.is(i, "__attribute__") || b.is(i, "__declspec")) {
				i = b.matching(i + 1)
				continue
			}
			name = i
		case '(':
			j := i + 1
			for b.kind(j) == '*' || b.kind(j) == tokIdent && b.kind(j+1) == '*' || b.kind(j) == '^' || b.kind(j) == tokIdent && b.kind(j+1) == tokIdent {
				j++
			}
			if j > i+1 && b.kind(j) == tokIdent {
				name = j
			}
			i = to
		case '[':
			i = b.matching(i)
		case '{':
			i = b.closes(i)
		}
	}
	if name > from+1 {
		b.put(b.def(Type, name, b.head, to))
	}
}

// afterTypedef handles the name after the brace at i: typedef struct { ... } name.
func (b *bracesReader) afterTypedef(i int, was block) bool {
	if !b.is(b.decorations(was.head), "typedef") || was.place == inFunc {
		return false
	}
	for j := i + 1; j < len(b.toks) && j < i+20 && b.kind(j) != ';'; j++ {
		if k := b.kind(j); k == ',' || k == '[' {
			break
		}
		if b.kind(j) == tokIdent && b.kind(j+1) != '(' && b.kind(j+1) != tokIdent {
			if was.def >= 0 && b.defs[was.def].Name == string(b.text(b.toks[j])) {
				b.toks[j].def = true
				break
			}
			d := b.def(Type, j, was.head, min(b.headEnd(was.head, was.head), i))
			d.EndLine = int(b.toks[j].line)
			b.put(d)
			break
		}
	}
	for i < len(b.toks) && b.kind(i) != ';' && b.kind(i) != '{' && b.kind(i) != '}' {
		i++
	}
	b.skip = i + 1
	b.restart(i + 1)
	return true
}

// kAndR reports whether a semicolon at i ends a parameter of int f(a) int a; { and not a statement.
func (b *bracesReader) kAndR(i int) bool {
	if at := b.top().place; at != inFile || b.fam.name != "c" || i-b.head > 200 {
		return false
	}
	if b.old {
		return i+1 < len(b.toks) && (b.kind(i+1) == tokIdent || b.kind(i+1) == '{') && b.toks[i+1].kind != '#'
	}
	name := -1
	for j := b.decorations(b.head); j < i; j++ {
		switch b.toks[j].kind {
		case '=', '{', '}', ':':
			return false
		case '(':
			if name < 0 {
				return false
			}
			end := b.matching(j)
			for k := j + 1; k < end; k++ {
				if kd := b.kind(k); kd != tokIdent && kd != ',' || kd == tokIdent && b.kind(k+1) == tokIdent {
					return false
				}
			}
			if end == j+1 || end+1 >= i || b.kind(end+1) != tokIdent || b.fam.isControl(b.text(b.toks[name])) {
				return false
			}
			// Only declarations of names may follow up to the body.
			for k := i + 1; k < len(b.toks) && k < i+60; k++ {
				if b.kind(k) == '{' {
					return b.kind(k-1) == ';' || b.kind(k-1) == '{'
				}
				if kd := b.kind(k); kd == '=' || kd == '}' || kd == '(' {
					return false
				}
			}
			return false
		case tokIdent:
			name = j
		}
	}
	return false
}
