package symbols

// A place is the kind of block around a statement.
type place int

const (
	inFile  place = iota // the file, a namespace, extern "C"
	inClass              // members; in some languages, methods have no keyword
	inFace               // members without bodies: interfaces, protocols, traits
	inEnum
	inValue // an object literal
	inFunc  // a body, or any other block
)

// A block is an open pair of braces.
type block struct {
	place   place
	def     int // definition whose body this block is, or -1
	paren   int // brackets open around it
	head    int // start of the statement that contains it
	pending int // the definition of that statement, or -1
	goesOn  bool
}

// A bracesReader reads languages whose blocks are in braces. A statement's head is the text between
// the end of the previous statement and a brace, a semicolon or, in some languages, the end of a
// line.
type bracesReader struct {
	*reader
	header  bool // a C header: prototypes are of interest
	blocks  []block
	paren   int
	head    int
	pending int    // definition that the current statement belongs to, or -1
	skip    int    // tokens before this index are inside something that is not read
	old     bool   // the current head contains a semicolon, because its parameters are in K&R style
	adorned [2]int // a statement's start, and the end of the decorations read so far
}

func (b *bracesReader) read() {
	b.pending = -1
	b.blocks = append(b.blocks, block{place: inFile, def: -1, pending: -1})
	for i := 0; i < len(b.toks); i++ {
		if b.skip > i {
			continue
		}
		t := &b.toks[i]
		if t.first && i > b.head && b.fam.newlines && b.paren == 0 && b.endsBefore(i) {
			b.endStatement(i)
		}
		if i == b.head {
			b.begin(i)
		}
		switch t.kind {
		case '(', '[':
			b.paren++
		case ')', ']':
			b.paren = max(b.paren-1, 0)
		case '{':
			b.open(i)
		case '}':
			b.close(i)
		case ';':
			b.semicolon(i)
		case ',':
			if p := b.top().place; b.paren == 0 && (p == inValue || p == inEnum || p == inFace && b.fam.style == styleJS) {
				b.endStatement(i + 1)
			}
		case ':':
			if b.paren == 0 && b.fam.style == styleC && i == b.head+1 && (b.top().place == inClass || b.top().place == inFunc) && b.pending < 0 {
				b.head = i + 1 // public: and other labels
			}
		case tokDefine:
			d := b.def(Macro, i, i, b.lineEnd(i))
			d.Signature = "#define " + OneLine(b.macroLine(i))
			b.put(d)
			if i == b.head {
				b.head = i + 1
			}
		}
	}
	for i := len(b.blocks) - 1; i > 0; i-- {
		b.finish(b.blocks[i].def, b.lastLine())
		b.finish(b.blocks[i].pending, b.lastLine())
	}
	b.finish(b.pending, b.lastLine())
}

func (b *bracesReader) top() *block { return &b.blocks[len(b.blocks)-1] }

// lineEnd returns the token after the last one on the line of token i.
func (b *bracesReader) lineEnd(i int) int {
	for i++; i < len(b.toks) && !b.toks[i].first; i++ {
	}
	return i
}

// macroLine returns a #define from its name to the end of its first line.
func (b *bracesReader) macroLine(i int) []byte {
	from := int(b.toks[i].from)
	for to := from; ; to++ {
		if to >= len(b.src) || to > from+maxSignature || b.src[to] == '\n' || b.src[to] == '\\' || b.src[to] == '/' && to+1 < len(b.src) && (b.src[to+1] == '/' || b.src[to+1] == '*') {
			return b.src[from:min(to, len(b.src))]
		}
	}
}

// put appends a definition, adding its container and depth.
func (b *bracesReader) put(d Def) int {
	var outer *Def
	for i := len(b.blocks) - 1; i >= 0 && outer == nil; i-- {
		if at := b.blocks[i].def; at >= 0 {
			outer = &b.defs[at]
			d.Depth = outer.Depth + 1
			if d.Container == "" {
				d.Container = outer.FullName()
				if len(d.Container) > maxSignature {
					d.Container = outer.Container
				}
			}
			if d.Kind == Func && IsType(outer.Kind) {
				d.Kind = Method
			}
		}
	}
	d.Exported = Exported(b.fam.name, d, outer)
	b.defs = append(b.defs, d)
	return len(b.defs) - 1
}

// IsType reports whether definitions of a kind have methods.
func IsType(kind string) bool {
	switch kind {
	case Class, Struct, Interface, Trait, Enum, Impl:
		return true
	}
	return false
}

// finish sets the line where a definition ends.
func (b *bracesReader) finish(def, line int) {
	if def >= 0 {
		b.defs[def].EndLine = max(b.defs[def].EndLine, line)
	}
}

func (b *bracesReader) semicolon(i int) {
	if b.paren > 0 {
		return
	}
	if b.fam.style == styleC && b.pending < 0 && b.kAndR(i) {
		b.old = true
		return
	}
	b.endStatement(i + 1)
}

// endStatement ends the statement before the token at next.
func (b *bracesReader) endStatement(next int) {
	if b.pending >= 0 {
		b.finish(b.pending, b.lineBefore(next))
	} else if next > b.head {
		b.declaration(next)
	}
	b.restart(next)
}

func (b *bracesReader) restart(next int) {
	b.head, b.pending, b.old = next, -1, false
}

// open enters the block whose brace is at i.
func (b *bracesReader) open(i int) {
	if b.fam.style == styleC && b.toks[i].first && i > b.head && b.column(i) == 0 {
		b.resync(i)
	}
	in := block{place: inFunc, def: -1, paren: b.paren, head: b.head, pending: b.pending}
	switch {
	case b.paren > 0:
		if at := b.top().place; b.fam.style == styleJS && (at == inFile || at == inValue) && (b.kind(i-1) == '(' || b.kind(i-1) == ',') {
			in.place = inValue // an object passed as an argument: its methods are of interest
		}
	case (b.pending >= 0 || b.top().place == inClass || b.top().place == inFace) && b.isTypeText(i):
		in.goesOn = true
	case b.pending >= 0:
		in.def, in.place = b.pending, b.body(b.defs[b.pending].Kind)
		in.goesOn = b.defs[b.pending].Kind == Const || b.defs[b.pending].Kind == Var || b.defs[b.pending].Kind == Type
	default:
		b.headOf(i, &in)
	}
	b.blocks = append(b.blocks, in)
	b.paren = 0
	b.restart(i + 1)
}

// body returns the kind of block that a definition's body is.
func (b *bracesReader) body(kind string) place {
	switch kind {
	case Module:
		return inFile
	case Class, Struct, Impl:
		return inClass
	case Interface, Trait:
		return inFace
	case Enum:
		return inEnum
	case Const:
		if b.fam.style == styleJS {
			return inValue
		}
		if b.fam.name == "zig" {
			return inClass
		}
	case Type:
		if b.fam.style == styleJS {
			return inFunc
		}
	}
	return inFunc
}

// close leaves the block whose brace is at i.
func (b *bracesReader) close(i int) {
	if i > b.head {
		b.endStatement(i)
	}
	if len(b.blocks) == 1 {
		b.paren = 0
		b.restart(i + 1)
		return
	}
	was := *b.top()
	b.blocks = b.blocks[:len(b.blocks)-1]
	b.finish(was.def, int(b.toks[i].line))
	b.paren, b.head, b.pending = was.paren, was.head, was.pending
	if was.paren > 0 || was.goesOn {
		return // the surrounding statement continues
	}
	if b.fam.style == styleC && b.afterTypedef(i, was) {
		return
	}
	b.restart(i + 1)
}

// resync leaves blocks that cannot contain a function which begins at the start of a line, because
// a closing brace must be missing before it.
func (b *bracesReader) resync(i int) {
	for len(b.blocks) > 1 && b.top().place != inFile && b.column(b.head) == 0 {
		top := b.top()
		if top.def >= 0 && !(b.defs[top.def].Kind == Func || b.defs[top.def].Kind == Method) {
			return
		}
		b.finish(top.def, b.lineBefore(b.head))
		b.blocks = b.blocks[:len(b.blocks)-1]
		b.paren, b.pending = 0, -1
	}
}

// endsBefore reports whether a statement ends with the line before the token at i.
func (b *bracesReader) endsBefore(i int) bool {
	switch b.toks[i].kind {
	case '{':
		return b.pending < 0 && b.fam.style != styleJS && b.fam.style != styleJava
	case '.', '?', ':', '|', '&', '=', '+', '*', '/', '%', '>', tokArrow, tokThin, tokOp, tokPath, ',', ')', ']', '}', ';':
		return false
	case '<':
		return b.fam.style == styleJS && b.kind(i-1) == ')'
	case tokIdent:
		switch string(b.text(b.toks[i])) {
		case "extends", "implements", "instanceof", "in", "as", "where", "throws", "with", "is", "by":
			return false
		}
	}
	switch b.toks[i-1].kind {
	case '.', ',', '(', '[', '=', '+', '-', '*', '/', '%', '<', '|', '&', ':', '?', '!', tokArrow, tokThin, tokOp, tokPath:
		return false
	case tokIdent:
		switch string(b.text(b.toks[i-1])) {
		case "extends", "implements", "default", "export", "async", "function", "class", "func", "fun", "interface", "type", "def":
			return false
		}
	}
	return b.adornedTo() < i // otherwise only decorations have been read
}

// adornedTo returns the end of this statement's decorations. It remembers the result, so as not to
// read them again on each line.
func (b *bracesReader) adornedTo() int {
	if b.adorned[0] != b.head || b.adorned[1] < b.head {
		b.adorned = [2]int{b.head, b.head}
	}
	b.adorned[1] = b.decorations(b.adorned[1])
	return b.adorned[1]
}
