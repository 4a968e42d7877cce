package codetext

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

	keyword   keyword // the keyword that waits for its name
	receiver  bool    // Go: the parentheses between func and the name
	group     keyword // Go: names in the parentheses behind const, var or type
	candidate int     // name( where a definition may stand, or -1
	pending   int     // C: the name behind struct or class, until a brace shows that it is defined here
	lastWord  int     // the last word's token, or -1 when something else came after
	assigned  int     // the word before = or :
	typeNext  bool    // the next brace holds members
	blockNext bool    // the next brace is the body of a definition

	blocks []block // Python: open definitions by their indentation
}

type scope struct {
	members bool // definitions may stand in it
	paren   int  // parentheses that were open outside
}

type block struct {
	indent  int
	members bool
}

func (d *definer) reset(x *Lexer) {
	*d = definer{x: x, scope: d.scope[:0], blocks: d.blocks[:0], candidate: -1, pending: -1, lastWord: -1, assigned: -1}
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
	if inside || blank {
		if !inside {
			d.lineStarted = false
		}
		return
	}
	d.lineStarted = false
	d.indent = indent
	if d.x.lang == Python && d.paren == 0 {
		for n := len(d.blocks); n > 0 && d.blocks[n-1].indent >= indent; n-- {
			d.blocks = d.blocks[:n-1]
		}
	}
	if !d.x.syn.braces {
		d.keyword = 0
	}
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

func (d *definer) word(tok int, w []byte) {
	started := d.lineStarted
	d.lineStarted = true
	last := d.last
	d.last = 'a'
	prev := d.lastWord
	d.lastWord = tok
	if d.keyword != 0 && !d.receiver {
		if k := keywordOf(d.x.lang, w); k != 0 && (d.keyword == k || k.modifies()) { // enum class, const fn
			d.keyword = max(d.keyword, k)
			return
		}
		d.named(tok, w)
		return
	}
	if k := keywordOf(d.x.lang, w); k != 0 && last != '.' && last != '>' {
		d.keywordSeen(k, prev, started)
		return
	}
	if d.group != 0 && d.paren == 1 && !started {
		d.define(tok, d.group == typeWord)
		d.typeNext = d.group == typeWord
	}
}

// keywordSeen is called for a word that begins a definition.
func (d *definer) keywordSeen(k keyword, prev int, started bool) {
	switch k {
	case controlWord:
		d.candidate = -1
		d.lastWord = -1
		return
	case variable:
		if !d.open() {
			return
		}
	}
	if k == function && d.assigned >= 0 && d.x.lang == JavaScript {
		d.define(d.assigned, d.open())
		d.assigned = -1
		return
	}
	d.keyword = k
}

// named is called for the name that follows a keyword.
func (d *definer) named(tok int, w []byte) {
	k := d.keyword
	d.keyword = 0
	switch d.x.lang {
	case Python:
		if d.paren > 0 {
			return
		}
		members := len(d.blocks) == 0 || d.blocks[len(d.blocks)-1].members
		d.define(tok, members)
		d.blocks = append(d.blocks, block{d.indent, k == typeWord})
		return
	case Ruby, Lua, Elixir, Haskell, Lisp, SQL:
		d.define(tok, true)
		return
	}
	if d.x.lang == C && k == typeWord {
		d.pending = tok
		return
	}
	d.define(tok, d.open())
	d.typeNext = k == typeWord
	d.blockNext = k == function
	d.candidate = -1
}

// other is called for a byte of code that belongs to no word, comment or space, and
// with '"' for a string and '0' for a number.
func (d *definer) other(c byte) {
	d.lineStarted = true
	last := d.last
	d.last = c
	switch c {
	case '(', '[':
		if c == '(' {
			d.parenthesis()
		}
		d.paren++
	case ')', ']':
		d.paren = max(d.paren-1, 0)
		if d.receiver && d.paren == 0 {
			d.receiver = false
		}
		if d.paren == 0 {
			d.group = 0
		}
	case '{':
		d.brace()
	case '}':
		if n := len(d.scope); n > 0 {
			d.paren = d.scope[n-1].paren
			d.scope = d.scope[:n-1]
		}
		d.keyword, d.candidate = 0, -1
	case ';':
		d.pending = -1
		d.keyword, d.candidate, d.typeNext, d.blockNext, d.assigned = 0, -1, false, false, -1
	case '=', ':':
		if d.lastWord >= 0 && (c == '=' || d.x.lang == JavaScript) {
			d.assigned = d.lastWord
			if d.x.lang == Python && c == '=' && d.indent == 0 && d.paren == 0 && last == 'a' {
				d.define(d.lastWord, false)
			}
		}
		if c == '=' && d.x.lang != JavaScript {
			d.candidate, d.pending = -1, -1
		}
	case '>':
		if last == '=' && d.x.lang == JavaScript && d.assigned >= 0 && d.open() { // name = (…) =>
			d.define(d.assigned, true)
			d.assigned = -1
			d.blockNext = true
		}
	case '!', '<', '*', '&':
		if c == '!' && d.keyword != 0 { // macro_rules! name
			return
		}
		if d.keyword == typeWord && c == '<' && d.x.lang == Rust { // impl<T> Name
			return
		}
	}
	d.lastWord = -1
}

// parenthesis looks at what stands before an open one.
func (d *definer) parenthesis() {
	switch {
	case d.keyword == function && d.x.lang == Go && d.paren == 0 && len(d.scope) == 0:
		d.receiver = true
	case d.keyword != 0:
		if d.x.lang == Go && d.open() {
			d.group = d.keyword
		}
		d.keyword = 0
	case d.x.syn.braces && d.lastWord >= 0 && d.open() && d.x.lang != Go && d.x.lang != Rust:
		d.candidate = d.lastWord
	}
}

// brace opens a scope, and makes a candidate in front of it a definition.
func (d *definer) brace() {
	if d.pending >= 0 && d.candidate < 0 {
		d.define(d.pending, d.open())
		d.typeNext = true
	}
	if d.candidate >= 0 && d.paren == 0 {
		d.define(d.candidate, true)
		d.blockNext = true
	}
	members := d.typeNext && !d.blockNext
	d.scope = append(d.scope, scope{members, d.paren})
	d.paren = 0
	d.candidate, d.pending, d.typeNext, d.blockNext, d.keyword = -1, -1, false, false, 0
}

// keyword is what a word before a name says of it.
type keyword uint8

const (
	variable keyword = 1 + iota
	function
	typeWord
	controlWord // if, for, while: a block, but no definition
)

// modifies reports keywords that may stand beside another one.
func (k keyword) modifies() bool { return k != controlWord }

// keywordOf tells what a word begins in a language, 0 for most.
func keywordOf(l Lang, w []byte) keyword {
	if len(w) < 2 || len(w) > 11 {
		return 0
	}
	switch string(w) {
	case "if", "for", "while", "switch", "catch", "return", "else", "do", "new", "throw", "sizeof", "await", "foreach", "elif", "with", "match", "assert", "synchronized", "using", "lock", "try", "finally", "loop", "unsafe", "case":
		if l == Python || l == Ruby {
			return 0
		}
		return controlWord
	case "class", "interface", "enum", "trait", "module", "record", "protocol", "extension", "object", "namespace":
		switch l {
		case Go, C, Rust, Shell, Lua, SQL, Data, Plain, Proto:
			if l == C && (w[0] == 'c' || w[0] == 'e' || w[0] == 'n') || l == Rust && (w[0] == 'e' || w[0] == 't') || l == Proto && w[0] == 'e' {
				return typeWord
			}
			return 0
		case Python:
			if w[0] != 'c' {
				return 0
			}
		case JavaScript:
			if w[0] == 'o' || w[0] == 'r' || w[0] == 'p' || w[0] == 't' || string(w) == "extension" {
				return 0
			}
		case Java:
			if w[0] == 'm' || w[0] == 'p' || w[0] == 'n' {
				return 0
			}
		}
		return typeWord
	case "struct", "union":
		if l == Go || l == Python || l == JavaScript || l == Java || l == Ruby {
			return 0
		}
		return typeWord
	case "impl", "mod":
		if l == Rust {
			return typeWord
		}
	case "message", "service":
		if l == Proto {
			return typeWord
		}
	case "macro_rules", "fn":
		if l == Rust || l == C {
			return function
		}
	case "func":
		if l == Go || l == Swift {
			return function
		}
	case "fun":
		if l == Java || l == Haskell {
			return function
		}
	case "function":
		switch l {
		case JavaScript, PHP, Lua, Shell, SQL:
			return function
		}
	case "def", "defp", "defmodule", "defmacro", "defn", "defun":
		switch l {
		case Python, Ruby, Java, Elixir, Lisp:
			return function
		}
	case "table", "view", "procedure":
		if l == SQL {
			return typeWord
		}
	case "rpc":
		if l == Proto {
			return function
		}
	case "type":
		switch l {
		case Go, Rust, JavaScript, Haskell, Proto:
			return typeWord
		}
	case "const", "var", "let", "val":
		switch l {
		case Go, JavaScript, Rust, Swift, Java, PHP:
			return variable
		}
	case "static":
		if l == Rust {
			return variable
		}
	case "define":
		if l == C || l == Lisp {
			return variable
		}
	case "mut", "async", "local":
		// "static mut NAME", "let mut name"
	}
	return 0
}
