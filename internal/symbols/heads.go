package symbols

import "bytes"

// decorations returns the first token of a statement that is not part of an annotation, attribute
// or template head.
func (b *bracesReader) decorations(i int) int {
	for i < len(b.toks) {
		next := i
		switch {
		case b.kind(i) == '@' && b.kind(i+1) == tokIdent && !b.is(i+1, "interface"):
			next = i + 2
			for b.kind(next) == '.' && b.kind(next+1) == tokIdent || b.kind(next) == ':' && b.kind(next+1) == tokIdent && b.fam.syntax.tickIdent {
				next += 2
			}
			if b.kind(next) == '(' && b.toks[next].line == b.toks[next-1].line {
				next = b.matching(next) + 1
			}
		case b.kind(i) == '#' && (b.kind(i+1) == '[' || b.kind(i+1) == '!' && b.kind(i+2) == '['):
			next = i + 1
			if b.kind(next) == '!' {
				next++
			}
			next = b.matching(next) + 1
		case b.kind(i) == '[' && (b.fam.name == "csharp" || b.fam.style == styleC && b.kind(i+1) == '['):
			next = b.matching(i) + 1
		case b.fam.style == styleC && b.is(i, "template") && b.kind(i+1) == '<':
			next = b.angles(i + 1)
		case b.fam.style == styleC && b.kind(i) == tokIdent && (b.is(i, "__attribute__") || b.is(i, "__declspec") || b.is(i, "alignas")) && b.kind(i+1) == '(':
			next = b.matching(i+1) + 1
		}
		if next == i {
			return i
		}
		i = next
	}
	return i
}

// matching returns the token that closes the bracket at i, or the last one examined.
func (b *bracesReader) matching(i int) int {
	depth := 0
	end := min(len(b.toks), i+maxHead)
	for ; i < end; i++ {
		switch b.toks[i].kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i - 1
}

// angles returns the token after the > that closes the < at i.
func (b *bracesReader) angles(i int) int {
	depth := 0
	for j := i; j < len(b.toks) && j < i+400; j++ {
		switch b.toks[j].kind {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return j + 1
			}
		case ';', '{', '}':
			return i + 1
		case '(', '[':
			j = b.matching(j)
		}
	}
	return i + 1
}

// begin searches a statement that begins at i for a keyword that makes it a definition.
func (b *bracesReader) begin(i int) {
	place := b.top().place
	if place == inValue || b.fam.words == nil {
		return
	}
	k := b.toks[i].kind
	if k != tokIdent && k != '@' && k != '#' && k != '[' {
		return
	}
	j := i
	if k != tokIdent || b.fam.style == styleC {
		j = b.decorations(i)
	}
	for n := 0; n < 12 && b.kind(j) == tokIdent; n++ {
		w, ok := b.fam.words[string(b.text(b.toks[j]))]
		if !ok {
			break
		}
		if w != modifier && !b.alsoModifier(j) {
			b.word(w, i, j, place)
			return
		}
		j++
		switch {
		case b.kind(j) == '(' && b.fam.style == styleRust: // pub(crate)
			j = b.matching(j) + 1
		case b.kind(j) == '(' && b.fam.name == "swift" && b.kind(j+2) == ')':
			j += 3
		case b.kind(j) == tokString && b.fam.style == styleRust: // extern "C"
			j++
		}
		if b.kind(j) == '@' {
			j = b.decorations(j)
		}
	}
	if b.kind(j) == '@' && b.is(j+1, "interface") {
		b.word(word{Interface, nameNext, true}, i, j+1, place)
	} else if b.fam.style == styleJS && place == inFile {
		b.assigned(i, j)
	}
}

// alsoModifier reports whether a word precedes the defining keyword: enum class, const fn, static
// func, class func.
func (b *bracesReader) alsoModifier(j int) bool {
	next := ""
	if b.kind(j+1) == tokIdent {
		next = string(b.text(b.toks[j+1]))
	}
	switch string(b.text(b.toks[j])) {
	case "enum":
		return next == "class" && b.fam.name == "kotlin"
	case "const":
		return next == "fn" || next == "unsafe" || next == "async" || next == "extern" || next == "enum" || b.fam.name == "kotlin"
	case "class":
		return b.fam.name == "swift" && (next == "func" || next == "var")
	case "case":
		return b.fam.name == "scala"
	case "record":
		return next == "struct" || next == "class"
	}
	return false
}

// word handles the definition that begins with the word at j, in a statement that begins at i.
func (b *bracesReader) word(w word, i, j int, place place) {
	if place == inFunc && !w.inner {
		return
	}
	name, kind, container := j+1, w.kind, ""
	switch w.name {
	case nameTagged, nameTypedef:
		return // decided at the end of the statement
	case nameMacro:
		if b.kind(name) != '!' {
			return
		}
		name++
	case nameImpl:
		name = b.implemented(j)
	case nameReceiver:
		name, container = b.receiver(name)
	case nameSelf:
		name = j
		if k := b.kind(j + 1); k != '(' && k != '{' && k != '?' && k != '<' || place != inClass && place != inFace && place != inEnum {
			return
		}
	case namePath:
		for b.kind(name) == tokIdent && (b.kind(name+1) == '.' || b.kind(name+1) == tokPath || b.kind(name+1) == '\\') && b.kind(name+2) == tokIdent {
			name += 2
		}
		if b.kind(name) == '{' && b.fam.name == "kotlin" {
			name = j // an unnamed companion object
		}
		if b.kind(name) == tokString && b.fam.style == styleJS {
			break
		}
	case nameValue:
		if b.is(name, "enum") {
			b.word(word{Enum, nameNext, true}, i, name, place)
			return
		}
		kind = b.valueKind(name)
	default:
		if b.is(name, "mut") {
			name++
		}
		if b.kind(name) == '*' && b.fam.style == styleJS { // function *name
			name++
		}
		if b.kind(name) == '&' { // PHP's function &name
			name++
		}
	}
	b.named(i, j, name, kind, container)
}

// named adds the definition if its name is at the expected position.
func (b *bracesReader) named(i, j, name int, kind, container string) {
	fam := b.fam
	switch k := b.kind(name); {
	case fam.style == styleJS && k == tokString && kind == Module:
	case fam.style == styleJS && kind != Const && (k != tokIdent || b.is(name, "extends")):
		if !b.is(i, "export") { // export default function () {}
			return
		}
		name = i + 1
	case k != tokIdent:
		return
	case fam.style == styleJS || fam.style == styleJava:
		// "type", "module" and "record" can be names themselves; in that case, no name follows
		// them. The same holds for fields named class.
		if next := b.kind(name + 1); (kind == Type && next != '=' && next != '<') || (kind == Module && next != '{' && next != '.') || b.is(j, "record") && next != '(' && next != '<' && next != '{' {
			if !(b.fam.name == "csharp" && kind == Module && next == ';' || b.is(name, "struct") || b.is(name, "class")) {
				return
			}
		}
	case kind == Const && b.is(name, "_"):
		return
	}
	at := b.top()
	if kind == Const && fam.newlines && fam.style != styleJS && at.place == inFunc {
		return
	}
	head := b.headEnd(i, name)
	d := b.def(kind, name, i, head)
	if container != "" {
		d.Container = container
		if d.Kind == Func {
			d.Kind = Method
		}
	}
	if b.kind(name) == tokString {
		d.Name = b.name(bytes.Trim(b.text(b.toks[name]), "\"'"))
	}
	d.EndLine = d.Line
	b.pending = b.put(d)
	if kind == Macro && fam.style == styleRust { // its patterns look like definitions
		open := name + 1
		if b.kind(open) == '(' { // macro name(pattern)
			open = b.matching(open) + 1
		}
		end := b.closes(open)
		b.finish(b.pending, int(b.toks[min(end, len(b.toks)-1)].line))
		b.skip = end + 1
		b.restart(end + 1)
	}
}

// closes returns the token that closes the bracket at i, without a limit on the distance.
func (b *bracesReader) closes(i int) int {
	depth := 0
	for ; i < len(b.toks); i++ {
		switch b.toks[i].kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// headEnd returns the token after the head of a definition: its body's brace, or the end of the
// statement.
func (b *bracesReader) headEnd(i, name int) int {
	depth := 0
	for j := i; j < len(b.toks) && j < i+400; j++ {
		switch b.toks[j].kind {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth < 0 {
				return j
			}
		case '{':
			if depth == 0 && j > name && !b.isTypeText(j) {
				return j
			}
			depth++
		case '}':
			if depth--; depth < 0 {
				return j
			}
		case ';':
			if depth == 0 {
				return j
			}
		}
		if depth == 0 && b.fam.newlines && j+1 < len(b.toks) && b.toks[j+1].first && j > name && b.toks[j+1].kind != '{' && b.kind(j) != ',' && b.kind(j) != tokArrow && b.kind(j) != '=' {
			return j + 1
		}
	}
	return min(i+400, len(b.toks))
}

// isTypeText distinguishes a brace that begins a type from one that begins a body: f(): { a: number
// } {.
func (b *bracesReader) isTypeText(i int) bool {
	if b.fam.style != styleJS || i == 0 {
		return false
	}
	switch b.toks[i-1].kind {
	case ':', '|', '&', '<', ',':
		return true
	}
	return b.is(i-1, "extends") || b.is(i-1, "is") || b.is(i-1, "keyof")
}
