package words

// A definer follows the words and signs of code and finds what is defined. It
// knows two ways: a keyword before the name (func, class, struct), and a name
// with parentheses and a block behind it where a definition may stand.
type definer struct {
	x     *Lexer
	scope []scope // open braces

	paren       int // open parentheses and brackets
	last        byte
	lineStarted bool // something of code stands on this line already
	indent      int

	keyword       keyword // the keyword that waits for its name
	receiver      bool    // Go: the parentheses between func and the name
	group         keyword // Go: names in the parentheses behind const, var or type
	candidate     int     // name( where a definition may stand, or -1
	candidateSign byte    // what stood before it
	macro         bool    // C: the candidate is a macro, and the definition's name its last argument
	pending       int     // C: the name behind struct or class, until a brace shows that it is defined here
	lastWord      int     // the last word's token, or -1 when something else came after
	assigned      int     // the word before = or :
	typeNext      bool    // the next brace holds members
	blockNext     bool    // the next brace is the body of a definition

	blocks []block // Python: open definitions by their indentation

	head      int // the first word of the line
	set       int // Python: the head that was just set
	annotated int // Python: the head with a type behind it
	name      int // the name just defined, which a dot and another word may go on
	second    int // a keyword behind a keyword, which may be the name after all
	first     keyword
	sign      byte // what stood before the last word
	given     bool // JavaScript, Lua: the function's name stood before it
	before    int  // JavaScript: assigned before the last =, which may be half of =>
	typed     bool // JavaScript: a type stands between the name and its =
	held      int  // C#: what => defines
	generic   int  // open < whose words are no names
	angle     int  // open < behind a word
	angled    int  // that word
	arrow     bool // the last sign was ->
	frozen    bool // C: what comes before the brace are members' initial values
	old       bool // C: parameters are declared behind the parentheses
	impl      impl
	create    bool // SQL: create stood here

	directive bool    // C: the line begins with #define
	continued bool    // a backslash stood at the end of the line
	branches  []state // C: what was open at each #if
	typedef   typedef
}

// impl is how far the head of an impl of Rust has been read.
type impl uint8

const (
	noImpl  impl = iota
	implOf       // a type's name, or a trait's, is being read
	implFor      // for has been seen
	implEnd      // where has been seen
)

// A typedef of C, whose name stands at its end.
type typedef struct {
	on      bool
	line    int
	scopes  int
	pointer bool // (* has been seen
	name    int  // the word behind that
}

type state struct{ scopes, paren int }

type scope struct {
	members bool // definitions may stand in it
	paren   int  // parentheses that were open outside
	outer   head // what goes on behind it, when they were
}

// A head is what is known of the definition that may be about to begin.
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

// open reports whether a definition may stand here.
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

// ended reports that a statement may end with what stood last.
func (d *definer) ended() bool {
	switch d.last {
	case 'a', '0', '"', ')', ']', '}':
		return true
	}
	return false
}

// operandExpected reports that a slash here begins a regular expression.
func (d *definer) operandExpected() bool {
	switch d.last {
	case 0, '(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '+', '\n', '>':
		return true
	}
	return false
}

// define notes that the token is a definition's name, and whether a chunk may begin with its line.
func (d *definer) define(tok int, chunk bool) {
	t := &d.x.tokens[tok]
	t.Kind = Definition
	if !chunk {
		return
	}
	// The line of the definition's first word: the name may stand lines below.
	for i := len(d.x.lines) - 1; i >= 0; i-- {
		if l := &d.x.lines[i]; l.start <= t.Start {
			if l.def < 0 {
				l.def = int32(tok)
			}
			return
		}
	}
}

// move makes the next word of a dotted name the one that is defined: M.parse, self.build.
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
