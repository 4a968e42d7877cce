package words

// word handles a word of code.
func (d *definer) word(tok int, w []byte) {
	started := d.lineStarted
	d.lineStarted = true
	last := d.last
	d.last = 'a'
	prev := d.lastWord
	d.lastWord = tok
	d.sign = last
	if d.macro && d.paren == 1 {
		d.candidate = tok
	}
	if !started {
		d.head = tok
	}
	if d.directive && d.keyword == 0 || d.generic > 0 {
		return
	}
	if d.name >= 0 {
		if d.goesOn(last) {
			d.move(tok)
			return
		}
		d.name = -1
	}
	if last == '#' && d.preprocessor(w) || d.x.lang == SQL && d.sql(tok, w) || d.impl != noImpl && d.implWord(tok, prev, last, w) {
		return
	}
	if d.x.lang == C {
		d.cWord(tok, prev, last, started, w)
	}
	k := keywordOf(d.x.lang, w)
	if d.keyword != 0 && !d.receiver {
		if k != 0 && k.modifies() { // enum class, const fn
			d.first, d.second = d.keyword, tok
			d.keyword = k
			return
		}
		if d.x.lang == Rust && string(w) == "mut" {
			return
		}
		if d.x.lang == Rust && w[0] == '$' || d.x.lang == Java && string(w) == "instanceof" {
			d.dropKeyword()
			return
		}
		d.named(tok)
		return
	}
	if k != 0 && !d.noKeyword(last) {
		d.keywordSeen(k, last, started, w)
		return
	}
	if d.group != 0 && d.paren == 1 && !started {
		d.define(tok, d.group == typeWord)
		d.typeNext = d.group == typeWord
	}
}

// goesOn reports whether a sign joins the words of one name.
func (d *definer) goesOn(sign byte) bool {
	switch sign {
	case '.':
		return true
	case ':':
		return d.x.lang == Lua || d.x.lang == Ruby
	case '\\':
		return d.x.lang == PHP
	}
	return false
}

// noKeyword reports whether a sign before a word makes the word an ordinary name: x.class,
// x->class, 'static, User::class.
func (d *definer) noKeyword(last byte) bool {
	return last == '.' || last == '>' && d.arrow || last == '\'' || last == ':' && d.x.lang == PHP
}

// keywordSeen handles a keyword that begins a definition.
func (d *definer) keywordSeen(k keyword, last byte, started bool, w []byte) {
	switch k {
	case controlWord:
		if d.paren == 0 {
			d.candidate = -1
		}
		d.lastWord = -1
		if string(w) == "return" || string(w) == "case" {
			d.last = ';' // a value follows: return /regular expression/
		}
		return
	case variable:
		if !d.open() {
			return
		}
	case function:
		if d.x.lang == Go && started { // a type: func(int) error
			return
		}
		if d.assigned >= 0 && (last == '=' || last == ':' || last == 'a') && (d.x.lang == JavaScript || d.x.lang == Lua) {
			d.define(d.assigned, d.open())
			d.assigned = -1
			d.given = true
		}
	case typeWord:
		if d.x.lang == Rust && w[0] == 'i' {
			switch last { // but not in x: impl Trait
			case 0, 'a', '}', '{', ';', ']':
			default:
				return
			}
			if d.paren > 0 {
				return
			}
			d.impl = implOf
		}
	}
	d.keyword = k
}

// named handles the name after a keyword.
func (d *definer) named(tok int) {
	k := d.keyword
	d.dropKeyword()
	switch {
	case d.given:
		d.given = false
		d.blockNext = true
		d.lastWord = -1
		return
	case d.x.lang == C && k == typeWord, d.impl != noImpl:
		d.pending = tok
		return
	}
	if d.directive { // a macro may be in the middle of anything
		d.define(tok, d.open())
		return
	}
	d.name = tok
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
	d.define(tok, d.open())
	d.typeNext = k == typeWord
	d.blockNext = k == function
	d.candidate = -1
}

func (d *definer) dropKeyword() { d.keyword, d.second = 0, -1 }

// noName handles a sign after a keyword that no name can follow: the word was not a keyword, or the
// keyword after it is the name (const type = 1).
func (d *definer) noName() {
	if d.keyword == 0 || d.receiver {
		return
	}
	if d.second >= 0 && d.second == d.lastWord {
		d.keyword = d.first
		d.named(d.second)
	}
	d.dropKeyword()
	d.given = false
}

// other handles a byte of code that does not belong to a word, comment or space. It receives '"'
// for a string and '0' for a number.
func (d *definer) other(c byte) {
	d.lineStarted = true
	last := d.last
	d.last = c
	if d.directive { // braces in macros need not match
		d.dropKeyword()
		d.lastWord, d.name = -1, -1
		return
	}
	if d.generic > 0 {
		d.inGeneric(c, last)
		return
	}
	if d.name >= 0 && !d.goesOn(c) && c != '<' {
		d.name = -1
	}
	switch c {
	case '(', '[':
		if c == '(' {
			d.parenthesis()
		}
		d.paren++
	case ')', ']':
		d.closeParenthesis()
	case '{':
		d.brace(last)
	case '}':
		d.closeBrace()
	case ';':
		d.semicolon(last)
	case '=':
		d.equals(last)
	case ':':
		d.colon(last)
	case ',':
		d.comma()
	case '.':
		d.noName()
	case '<':
		if d.less() {
			return
		}
	case '>':
		d.arrow = last == '-'
		if d.greater(last) {
			return
		}
	case '!':
		if d.keyword != 0 { // macro_rules! name
			return
		}
	case '*':
		d.typedef.pointer = d.typedef.on && last == '('
	}
	d.lastWord = -1
}

// parenthesis examines the text before an open parenthesis.
func (d *definer) parenthesis() {
	word := d.lastWord
	if d.keyword == function && d.x.lang == Go && d.paren == 0 && len(d.scope) == 0 {
		d.receiver = true
		return
	}
	if d.keyword != 0 {
		if d.x.lang == Go && len(d.scope) == 0 && d.paren == 0 {
			d.group = d.keyword
		}
		if d.keyword != typeWord || d.second >= 0 {
			word = -1
		}
		d.noName()
	}
	switch d.x.lang {
	case Go, Rust, Proto:
		return
	case JavaScript:
	default:
		if d.assigned >= 0 {
			return // a call that produces a value
		}
	}
	if d.sign == '@' || d.sign == '.' && d.x.lang != CSharp {
		return // @Annotation(…), value.method(…)
	}
	if d.x.syn.braces && word >= 0 && d.open() && !d.typeNext && !d.frozen {
		d.candidate, d.candidateSign = word, d.sign
		d.old = false
		d.macro = d.x.lang == C && d.sign != 'a' && d.sign != '*' && capitals(d.x.tokens[word].Of(d.x.src))
	}
}

// capitals reports whether w looks like the name of a macro, such as the TEST of TEST(name) {.
func capitals(w []byte) bool {
	for _, c := range w {
		if classes[c] == lower || classes[c] == wide {
			return false
		}
	}
	return len(w) > 2
}

func (d *definer) comma() {
	d.noName()
	if d.paren > 0 {
		return
	}
	if d.x.lang == JavaScript {
		d.candidate = -1
	}
	if t := &d.typedef; t.on && t.name < 0 && len(d.scope) == t.scopes {
		t.name = d.lastWord
	}
}

func (d *definer) closeParenthesis() {
	d.noName()
	d.paren = max(d.paren-1, 0)
	if d.x.lang == C {
		d.pending = -1
	}
	if d.paren == 0 {
		d.receiver, d.macro = false, false
		if len(d.scope) == 0 {
			d.group = 0
		}
	}
}

// brace opens a scope, and makes a candidate before it a definition.
func (d *definer) brace(last byte) {
	if d.pending >= 0 && d.old && d.pending == d.lastWord {
		d.candidate = -1 // what looked like a function's head was a macro
	}
	switch {
	case d.pending >= 0 && d.candidate < 0:
		d.define(d.pending, d.open())
		d.typeNext = true
	case d.x.lang == JavaScript && d.candidate < 0 && (last == '=' || last == ':') && d.paren == 0 && d.open():
		d.typeNext = true // an object's members
	case d.keyword == typeWord && d.second < 0: // namespace {, companion object {
		d.typeNext = true
	case d.x.lang == C && last == '"': // extern "C" {
		d.typeNext = true
	case d.x.lang == CSharp && d.candidate < 0 && d.assigned < 0 && d.lastWord >= 0 && !d.typeNext && len(d.scope) > 0 && d.open():
		d.define(d.lastWord, true) // a property
	}
	if d.candidate >= 0 && d.paren == 0 {
		d.define(d.candidate, true)
		d.blockNext = true
	}
	members := d.typeNext && !d.blockNext
	outer := head{d.candidate, d.assigned, d.before, d.typeNext, d.blockNext, d.frozen}
	if d.paren > 0 {
		members = d.x.lang == JavaScript && d.paren == 1 && last == '(' && len(d.scope) == 0 // call({ method() {} })
	}
	d.scope = append(d.scope, scope{members, d.paren, outer})
	d.paren = 0
	d.endStatement()
}

func (d *definer) closeBrace() {
	if n := len(d.scope); n > 0 {
		s := &d.scope[n-1]
		d.paren = s.paren
		d.scope = d.scope[:n-1]
		d.endStatement()
		if h := s.outer; d.paren > 0 {
			d.candidate, d.assigned, d.before = h.candidate, h.assigned, h.before
			d.typeNext, d.blockNext, d.frozen = h.typeNext, h.blockNext, h.frozen
		}
		return
	}
	d.endStatement()
}

func (d *definer) semicolon(last byte) {
	d.endTypedef()
	if d.candidate >= 0 && d.abstract() {
		d.define(d.candidate, true)
	}
	candidate := d.candidate
	old := d.old && last == 'a' && d.paren == 0
	d.endStatement()
	if old { // int f(a) int a; {
		d.candidate, d.old = candidate, true
	}
}

// abstract reports whether the candidate is a method without a body: void run();
func (d *definer) abstract() bool {
	if d.paren > 0 || len(d.scope) == 0 || !d.open() {
		return false
	}
	switch d.x.lang {
	case Java, CSharp: // an enum constant has no type before it
		return d.candidateSign == 'a' || d.candidateSign == '>' || d.candidateSign == ']'
	case JavaScript:
		return d.assigned < 0
	}
	return false
}

// endStatement resets the state of the statement.
func (d *definer) endStatement() {
	d.dropKeyword()
	d.candidate, d.pending, d.assigned, d.held = -1, -1, -1, -1
	d.typeNext, d.blockNext, d.given, d.typed, d.frozen, d.old, d.create = false, false, false, false, false, false, false
	d.angle, d.impl = 0, noImpl
}

func (d *definer) equals(last byte) {
	d.noName()
	switch d.x.lang {
	case JavaScript:
		if d.paren > 0 {
			return
		}
		d.before = d.assigned
		if d.lastWord >= 0 && !d.typed {
			d.assigned = d.lastWord
		}
		d.typed = false
		return
	case Python:
		if last == '=' && d.set >= 0 { // it was ==
			d.x.tokens[d.set].Kind = Code
		}
		d.set = -1
		if d.indent == 0 && d.paren == 0 && d.head >= 0 && (d.lastWord == d.head || d.annotated == d.head) {
			d.define(d.head, false)
			d.set, d.head = d.head, -1
		}
	case CSharp:
		if d.held = -1; d.assigned < 0 && d.paren == 0 {
			if d.held = d.candidate; d.held < 0 && len(d.scope) > 0 {
				d.held = d.lastWord
			}
		}
	}
	if d.paren == 0 {
		if d.lastWord >= 0 {
			d.assigned = d.lastWord
		}
		d.candidate, d.pending = -1, -1
	}
}

func (d *definer) colon(last byte) {
	d.noName()
	switch d.x.lang {
	case JavaScript:
		if d.lastWord >= 0 && d.paren == 0 {
			d.assigned, d.typed = d.lastWord, d.open()
		}
	case Python:
		if d.lastWord == d.head && d.paren == 0 {
			d.annotated = d.head
		}
	case C, CSharp:
		if d.candidate >= 0 && last == ')' && d.paren == 0 {
			d.frozen = true
		}
	}
}
