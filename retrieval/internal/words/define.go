package words

// A definer follows the words and signs of code and finds definitions. It recognises two forms: a
// keyword before the name (func, class, struct), and a name followed by parentheses and a block at
// a position where a definition is allowed.
type definer struct {
	x     *Lexer
	scope []scope // open braces

	paren       int // open parentheses and brackets
	last        byte
	lineStarted bool // this line already has some code
	indent      int

	keyword       keyword // the keyword that is waiting for its name
	receiver      bool    // Go: inside the parentheses between func and the name
	group         keyword // Go: kind of the names in the parentheses after const, var or type
	candidate     int     // a name before "(" where a definition is allowed, or -1
	candidateSign byte    // the sign before the candidate
	macro         bool    // C: the candidate is a macro, and its last argument is the definition's name
	pending       int     // C: the name after struct or class, until a brace shows that it is defined here
	lastWord      int     // the last word's token, or -1 if something else followed it
	assigned      int     // the word before = or :
	typeNext      bool    // the next brace contains members
	blockNext     bool    // the next brace is the body of a definition

	blocks []block // Python: open definitions by their indentation

	head      int // the first word of the line
	set       int // Python: the head that was just assigned
	annotated int // Python: the head followed by a type
	name      int // the name just defined, which may continue with a dot and another word
	second    int // a keyword after a keyword, which may be the name after all
	first     keyword
	sign      byte // the sign before the last word
	given     bool // JavaScript, Lua: the function's name came first
	before    int  // JavaScript: the value of assigned before the last =, which may be half of =>
	typed     bool // JavaScript: there is a type between the name and its =
	held      int  // C#: the name that => defines
	generic   int  // open < in which words are not names
	angle     int  // open < after a word
	angled    int  // the word before that <
	arrow     bool // the last sign was ->
	frozen    bool // C: the text before the brace initialises members
	old       bool // C: parameters are declared after the parentheses
	impl      impl
	create    bool // SQL: after create

	directive bool    // C: the line begins with #define
	continued bool    // the line ended with a backslash
	branches  []state // C: the open scopes at each #if
	typedef   typedef
}

// impl is the reading position in the head of a Rust impl.
type impl uint8

const (
	noImpl  impl = iota
	implOf       // reading the name of a type or a trait
	implFor      // after for
	implEnd      // after where
)

// A typedef of C. The name is at its end.
type typedef struct {
	on      bool
	line    int
	scopes  int
	pointer bool // after (*
	name    int  // the word after the pointer
}

type state struct{ scopes, paren int }

type scope struct {
	members bool // definitions are allowed inside
	paren   int  // number of parentheses open outside
	outer   head // the statement outside, which continues after it if parentheses were open
}

// A head holds the state of the definition that may be about to begin.
type head struct {
	candidate, assigned, before int
	typeNext, blockNext, frozen bool
}

type block struct {
	indent  int
	members bool
}

func (d *definer) reset(x *Lexer) {
	*d = definer{
		x: x, scope: d.scope[:0], blocks: d.blocks[:0], branches: d.branches[:0], candidate: -1, pending: -1, lastWord: -1, assigned: -1,
		head: -1, set: -1, annotated: -1, name: -1, second: -1, before: -1, held: -1, angled: -1,
	}
}

func (d *definer) depth() int { return len(d.scope) }

// open reports whether a definition is allowed here.
func (d *definer) open() bool {
	if d.paren > 0 {
		return false
	}
	return len(d.scope) == 0 || d.scope[len(d.scope)-1].members
}

func (d *definer) newLine(indent int, blank, inside bool) {
	d.name = -1
	if inside || blank {
		if !inside && !d.continued {
			d.directive = false
		}
		if blank {
			d.continued = false
		}
		if !inside {
			d.lineStarted = false
		}
		return
	}
	d.lineStarted = false
	d.indent = indent
	d.head, d.annotated = -1, -1
	if !d.continued {
		d.directive = false
	}
	d.continued = false
	if d.last == '.' { // ...
		d.last = '\n'
	}
	if d.paren == 0 && d.ended() {
		d.assigned, d.typed = -1, false
	}
	if d.x.lang == Python && d.paren == 0 {
		for n := len(d.blocks); n > 0 && d.blocks[n-1].indent >= indent; n-- {
			d.blocks = d.blocks[:n-1]
		}
	}
	if !d.x.syn.braces {
		d.keyword = 0
	}
}

// ended reports whether a statement may end after the last sign or word.
func (d *definer) ended() bool {
	switch d.last {
	case 'a', '0', '"', ')', ']', '}':
		return true
	}
	return false
}

// operandExpected reports whether a slash here begins a regular expression.
func (d *definer) operandExpected() bool {
	switch d.last {
	case 0, '(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '+', '\n', '>':
		return true
	}
	return false
}

// define records that a token is a definition's name, and whether a chunk may begin with the
// definition's line.
func (d *definer) define(tok int, chunk bool) {
	t := &d.x.tokens[tok]
	t.Kind = Definition
	if !chunk {
		return
	}
	// The line of the definition's first word. The name may be several lines below it.
	for i := len(d.x.lines) - 1; i >= 0; i-- {
		if l := &d.x.lines[i]; l.start <= t.Start {
			if l.def < 0 {
				l.def = int32(tok)
			}
			return
		}
	}
}

// move makes the next word of a dotted name the defined name, such as parse in M.parse and build in
// self.build.
func (d *definer) move(to int) {
	from := d.name
	d.name = to
	d.x.tokens[from].Kind, d.x.tokens[to].Kind = Code, Definition
	for i := len(d.x.lines) - 1; i >= 0; i-- {
		l := &d.x.lines[i]
		if l.def == int32(from) {
			l.def = int32(to)
		}
		if l.start <= d.x.tokens[from].Start {
			return
		}
	}
}
