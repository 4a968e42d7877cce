package symbols

// headOf analyses a head that no keyword identified, at its brace.
func (b *bracesReader) headOf(i int, in *block) {
	at := b.top().place
	switch b.fam.style {
	case styleRust:
		if at == inFile && i >= 2 && (b.kind(i-1) == '!' || b.kind(i-2) == '!') {
			in.place = inFile // cfg_unix! { fn ... }
		}
	case styleC:
		b.cHead(i, in)
	case styleJava:
		b.javaHead(i, at, in)
	case styleJS:
		b.jsHead(i, at, in)
	}
}

// cHead recognises types, namespaces and functions of C and C++.
func (b *bracesReader) cHead(i int, in *block) {
	at := b.top().place
	from := b.decorations(b.head)
	if from >= i {
		return
	}
	if b.is(from, "extern") && b.kind(from+1) == tokString && i == from+2 || b.hasWord(from, i, "namespace") {
		in.place = inFile
		return
	}
	if b.equals(from, i) {
		in.goesOn = true
		return
	}
	if name, tag, ok := b.tagged(from, i); ok {
		in.place = inClass
		if tag == Enum {
			in.place = inEnum
		}
		if name >= 0 {
			in.def = b.put(b.def(tag, name, b.head, i))
		}
		return
	}
	if at == inFunc || at == inEnum {
		return
	}
	if name, ok := b.callable(from, i); ok {
		if in.goesOn = b.initializer(name, i); !in.goesOn {
			in.def = b.put(b.cFunction(Func, name, i))
		}
	}
}

// cFunction returns the function whose name is at the given token, with the class that precedes the
// name, as in A::B::c.
func (b *bracesReader) cFunction(kind string, name, end int) Def {
	text := name
	if b.testMacro(name, end) { // TEST(Suite, Case) {
		for j := name + 2; j < end && b.kind(j) != ')'; j++ {
			if b.kind(j) == tokIdent {
				text = j
			}
		}
	}
	d := b.def(kind, text, b.head, end)
	b.toks[name].def = true
	if b.is(name, "operator") {
		to := name + 1
		for to < end && (b.kind(to) != '(' || to == name+1) {
			to++
		}
		d.Name = b.name([]byte(OneLine(b.src[b.toks[name].from:b.toks[to-1].to])))
	} else if b.kind(name-1) == '~' {
		d.Name = "~" + d.Name
	}
	first := name
	if b.kind(first-1) == '~' {
		first--
	}
	for b.kind(first-1) == tokPath && first-2 >= b.head {
		first -= 2
		for n := 0; b.kind(first) == '>' && n < 1; n++ { // A<int>::b
			for first > b.head && b.kind(first) != '<' {
				first--
			}
			first--
		}
		if b.kind(first) != tokIdent || first < b.head {
			break
		}
		if d.Container == "" {
			d.Container = b.name(b.text(b.toks[first]))
		} else {
			d.Container = b.name(b.text(b.toks[first])) + "." + d.Container
		}
	}
	if len(d.Container) > maxSignature {
		d.Container = ""
	}
	if d.Container != "" && kind == Func {
		d.Kind = Method
	}
	return d
}

// initializer reports whether the brace at i gives a member its value, after a constructor's colon:
// C() : a{1} {}.
func (b *bracesReader) initializer(name, i int) bool {
	if k := b.kind(i - 1); k != tokIdent && k != '>' {
		return false
	}
	end := b.matching(name+1) + 1
	for n := 0; n < 8 && b.kind(end) == tokIdent; n++ {
		end++
	}
	return b.kind(end) == ':' && end < i
}

// testMacro reports whether a macro defines a function: nothing comes before it, and it contains
// only names.
func (b *bracesReader) testMacro(name, end int) bool {
	if name != b.decorations(b.head) || b.kind(name+1) != '(' || b.kind(name-1) == '~' {
		return false
	}
	for j := name + 2; j < end && b.kind(j) != ')'; j++ {
		if k := b.kind(j); k != tokIdent && k != ',' {
			return false
		}
	}
	return b.kind(name+2) == tokIdent && b.top().place != inClass
}

func (b *bracesReader) hasWord(from, to int, word string) bool {
	for ; from < to && from < b.head+8; from++ {
		if b.is(from, word) {
			return true
		}
	}
	return false
}

// equals reports whether a head contains an = outside of brackets, other than in operator= or in "=
// default" and the like.
func (b *bracesReader) equals(from, to int) bool {
	depth := 0
	for i := from; i < to && i < from+maxHead; i++ {
		switch b.toks[i].kind {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '=':
			if depth == 0 && !b.is(i-1, "operator") {
				return true
			}
		}
	}
	return false
}

// tagged finds struct, union, class or enum at the beginning of a head that ends at a brace, and
// the name after it.
func (b *bracesReader) tagged(from, to int) (name int, kind string, ok bool) {
	i := from
	for i < to && b.kind(i) == tokIdent && !ok {
		w := b.fam.words[string(b.text(b.toks[i]))]
		ok = w.name == nameTagged
		kind = w.kind
		i++
	}
	if !ok {
		return -1, "", false
	}
	name = -1
	for ; i < to; i++ {
		switch b.toks[i].kind {
		case tokIdent:
			if b.is(i, "final") || b.is(i, "sealed") {
				return name, kind, true
			}
			if b.is(i, "class") || b.is(i, "struct") { // enum class
				continue
			}
			name = i
		case '(':
			if name >= 0 && (b.is(name, "alignas") || b.is(name, "__attribute__") || b.is(name, "__declspec") || b.kind(b.matching(i)+1) == tokIdent) {
				name, i = -1, b.matching(i)
				continue
			}
			return -1, "", false // a function that returns that type
		case ':', '<':
			return name, kind, true
		case '*', '&', '=':
			return -1, "", false
		case '[':
			i = b.matching(i)
		}
	}
	return name, kind, true
}

// callable finds the name of a function in a head without a keyword: the last name followed by
// brackets, before anything that follows a parameter list.
func (b *bracesReader) callable(from, to int) (int, bool) {
	name := -1
	for i := from; i < to && i < from+maxHead; i++ {
		switch b.toks[i].kind {
		case '=', tokArrow, ';', ':', '{', tokThin, '?':
			if name >= 0 || b.toks[i].kind == '=' {
				return b.typed(from, name)
			}
		case '(':
			end := b.matching(i)
			if b.fam.style == styleC && name < 0 && b.kind(i+1) == '*' && b.kind(i+2) == tokIdent && b.kind(i+3) == '(' {
				return i + 2, true // a function that returns a pointer to a function
			}
			i = end
		case '[':
			i = b.matching(i)
		case '<':
			if next := b.angles(i); next > i+1 && b.fam.style == styleJava {
				i = next - 1
			}
		case tokIdent:
			if b.is(i, "operator") && b.fam.style == styleC {
				return b.typed(from, i)
			}
			if b.is(i, "throws") || b.is(i, "noexcept") || b.is(i, "where") || b.is(i, "requires") {
				return b.typed(from, name)
			}
			if b.named1(i, to) && !(name >= 0 && b.old) {
				name = i
			}
		}
	}
	return b.typed(from, name)
}

// named1 reports whether the token at i is a name followed by a parameter list.
func (b *bracesReader) named1(i, to int) bool {
	next := i + 1
	if b.kind(next) == '<' && b.fam.style == styleJava {
		next = b.angles(next)
	}
	if b.kind(next) != '(' || next >= to || b.kind(i-1) == '@' || b.kind(i-1) == '.' {
		return false
	}
	return !b.fam.isControl(b.text(b.toks[i]))
}

// typed reports whether a type precedes a name, or the name needs no type, as with constructors,
// and macros in C.
func (b *bracesReader) typed(from, name int) (int, bool) {
	if name < 0 {
		return 0, false
	}
	if name > from {
		for i := from; i < name; i++ {
			if b.is(i, "return") || b.is(i, "else") || b.is(i, "new") || b.is(i, "throw") || b.is(i, "case") {
				return 0, false
			}
		}
		if b.fam.style == styleC {
			return name, true
		}
		for i := from; i < name; i++ {
			if w, ok := b.fam.words[string(b.text(b.toks[i]))]; !ok || w != modifier {
				return name, true
			}
		}
	}
	for i := len(b.blocks) - 1; i >= 0; i-- {
		if def := b.blocks[i].def; def >= 0 {
			return name, b.defs[def].Name == string(b.text(b.toks[name]))
		}
	}
	return name, b.fam.style == styleC && b.column(name) == 0
}

// javaHead recognises methods, constructors and C#'s properties.
func (b *bracesReader) javaHead(i int, at place, in *block) {
	if at != inClass && at != inFace && at != inEnum {
		return
	}
	from := b.decorations(b.head)
	if name, ok := b.callable(from, i); ok {
		in.def = b.put(b.def(Method, name, b.head, i))
		return
	}
	if b.fam.name == "csharp" && i >= from+2 && b.kind(i-1) == tokIdent && !b.equals(from, i) && b.kind(from) == tokIdent {
		if b.is(i-1, "get") || b.is(i-1, "set") || b.is(i-1, "static") {
			return
		}
		in.def = b.put(b.def(Property, i-1, b.head, i))
	}
}

// jsHead recognises methods of classes and of object literals.
func (b *bracesReader) jsHead(i int, at place, in *block) {
	if at != inClass && at != inValue {
		return
	}
	name, ok := b.member(i)
	if !ok {
		if at == inValue && b.kind(i-1) == ':' {
			in.place = inValue
		}
		in.goesOn = true
		return
	}
	in.def = b.put(b.def(Method, name, b.head, i))
}

// member returns the name of a method in a head that ends at a token: name(), async *name(), name =
// () =>, name: function ().
func (b *bracesReader) member(to int) (int, bool) {
	i := b.decorations(b.head)
	for ; i < to; i++ {
		if b.kind(i) == '*' || b.kind(i) == '#' {
			continue
		}
		next := b.kind(i + 1)
		if b.kind(i) != tokIdent || next == '(' || next == '<' || next == '=' || next == ':' || next == '?' || next == '!' || i+1 >= to {
			break
		}
		if b.fam.words[string(b.text(b.toks[i]))] != modifier && !b.is(i, "get") && !b.is(i, "set") {
			return 0, false
		}
		if !b.isWord(i) && !b.is(i, "get") && !b.is(i, "set") {
			return 0, false
		}
	}
	if i >= to || b.kind(i) != tokIdent || b.is(i, "function") {
		return 0, false
	}
	switch b.kind(i + 1) {
	case '(', '<':
		return i, true
	case '?':
		return i, b.kind(i+2) == '('
	case '=', ':', '!':
		j := i + 1
		if b.kind(j) == ':' && b.top().place == inClass {
			return i, b.valueKind(i) == Func
		}
		return i, b.expression(j+1) == Func
	}
	return 0, false
}
