package words

import "strings"

// preprocessor handles the word after a #, and reports whether the word has been handled
// completely. If both branches of an #if open a brace, it counts only once.
func (d *definer) preprocessor(w []byte) bool {
	if d.x.lang != C && d.x.lang != CSharp {
		return false
	}
	switch string(w) {
	case "define":
		d.directive = true
		d.keyword = variable
	case "if", "ifdef", "ifndef":
		d.branches = append(d.branches, state{len(d.scope), d.paren})
		d.directive = true
	case "else", "elif":
		if n := len(d.branches); n > 0 {
			d.scope = d.scope[:d.branches[n-1].scopes] // restore the length, so that scopes closed in a branch are open again
			d.paren = d.branches[n-1].paren
		}
		d.directive = true
	case "endif":
		if n := len(d.branches); n > 0 {
			d.branches = d.branches[:n-1]
		}
		d.directive = true
	case "include", "pragma", "undef", "region", "endregion", "error", "import":
		d.directive = true
	default:
		return false
	}
	return true
}

// cWord handles a word of C that is not a keyword.
func (d *definer) cWord(tok, prev int, last byte, started bool, w []byte) {
	switch {
	case d.pending >= 0 && prev == d.pending && string(w) != "final": // class EXPORT Name
		d.pending = tok
	case d.candidate >= 0 && d.paren == 0 && last == ')' && !started && len(d.scope) == 0:
		d.old = true
	}
	switch {
	case d.typedef.on:
		if d.typedef.pointer && d.typedef.name < 0 {
			d.typedef.name = tok
		}
		d.typedef.pointer = false
	case len(w) == 7 && string(w) == "typedef" && d.open():
		d.typedef = typedef{on: true, line: len(d.x.lines) - 1, scopes: len(d.scope), name: -1}
	}
}

// endTypedef defines the name at the end of a typedef.
func (d *definer) endTypedef() {
	t := &d.typedef
	if !t.on || d.paren > 0 || len(d.scope) > t.scopes {
		return
	}
	t.on = false
	if t.name < 0 {
		t.name = d.lastWord
	}
	if t.name < 0 {
		return
	}
	d.x.tokens[t.name].Kind = Definition
	if l := &d.x.lines[t.line]; l.def < 0 {
		l.def = int32(t.name)
	}
}

// implWord follows the head of a Rust impl until it finds the implementing type, and reports
// whether the word belongs to the head.
func (d *definer) implWord(tok, prev int, last byte, w []byte) bool {
	switch {
	case d.pending < 0:
		return false
	case string(w) == "for":
		d.impl = implFor
	case string(w) == "where":
		d.impl = implEnd
	case d.impl == implFor:
		d.pending = tok
		d.impl = implOf
	case d.impl == implOf && (last == ':' || prev == d.pending): // fmt::Display, mut Name
		d.pending = tok
	}
	return true
}

// sql follows a statement that creates something, and reports whether the word has been handled
// completely.
func (d *definer) sql(tok int, w []byte) bool {
	low := ""
	if len(w) <= 12 {
		low = strings.ToLower(string(w))
	}
	if d.keyword != 0 {
		switch low {
		case "if", "not", "exists", "concurrently", "only", "body":
			return true
		}
		d.named(tok)
		return true
	}
	switch low {
	case "create":
		d.create = true
	case "table", "view", "procedure", "function", "index", "trigger", "type", "sequence", "schema", "database":
		if d.create {
			d.keyword = typeWord
		}
		d.create = false
	}
	return true
}
