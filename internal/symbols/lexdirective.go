package symbols

import "bytes"

// A condition is an open #if.
type condition struct {
	depth int  // depth of braces at its start
	taken bool // one of its branches was read
}

// directive reads a preprocessor line. If reading all branches of a condition would unbalance the
// braces, only the first branch is read.
func (x *lexer) directive() {
	from, end := x.pos, x.directiveEnd()
	i := from + 1
	for i < end && classes[x.src[i]] == classSpace {
		i++
	}
	w := i
	for w < end && classes[x.src[w]] >= classIdent {
		w++
	}
	word, rest := string(x.src[i:w]), bytes.TrimSpace(x.src[w:end])
	line := x.line
	skipTo := func() {
		x.line = line + uint32(bytes.Count(x.src[from:end], []byte("\n")))
		x.pos, x.fresh = end, false
	}
	switch word {
	case "define":
		x.define(w, end)
		skipTo()
	case "if", "ifdef", "ifndef":
		dead := word == "if" && string(rest) == "0"
		x.ifs = append(x.ifs, condition{x.depth, !dead})
		skipTo()
		if dead {
			x.skipBranch()
		}
	case "else", "elif", "elifdef", "elifndef":
		skipTo()
		if n := len(x.ifs); n > 0 {
			if x.ifs[n-1].taken && x.depth != x.ifs[n-1].depth {
				x.skipBranch()
			}
			x.ifs[n-1].taken = true
		}
	case "endif":
		if n := len(x.ifs); n > 0 {
			x.ifs = x.ifs[:n-1]
		}
		skipTo()
	default:
		skipTo()
	}
}

// directiveEnd returns the end of the line, including continuation lines after a backslash and
// excluding a trailing comment.
func (x *lexer) directiveEnd() int {
	i := x.pos
	for i < x.until {
		switch {
		case x.src[i] == '\n':
			if i == 0 || x.src[i-1] != '\\' && !(x.src[i-1] == '\r' && i > 1 && x.src[i-2] == '\\') {
				return i
			}
		case x.src[i] == '/' && i+1 < x.until && x.src[i+1] == '*':
			return i
		}
		i++
	}
	return x.until
}

// define makes a token of the name of a macro with a value.
func (x *lexer) define(i, end int) {
	for i < end && classes[x.src[i]] == classSpace {
		i++
	}
	from := i
	for i < end && classes[x.src[i]] >= classIdent {
		i++
	}
	if i > from && len(bytes.TrimSpace(x.src[i:end])) > 0 {
		at := x.pos
		x.emit(tokDefine, from, i)
		x.pos = at
	}
}

// skipBranch moves to the line of the directive that ends this branch.
func (x *lexer) skipBranch() {
	depth := 0
	for x.pos < x.until {
		i := bytes.IndexByte(x.src[x.pos:x.until], '\n')
		if i < 0 {
			x.pos = x.until
			return
		}
		x.pos += i
		x.newline()
		line := bytes.TrimLeft(x.src[x.pos:min(x.until, x.pos+200)], " \t")
		if len(line) == 0 || line[0] != '#' {
			continue
		}
		word := bytes.TrimLeft(line[1:], " \t")
		switch {
		case bytes.HasPrefix(word, []byte("if")):
			depth++
		case bytes.HasPrefix(word, []byte("endif")):
			if depth--; depth < 0 {
				return
			}
		case bytes.HasPrefix(word, []byte("el")) && depth == 0:
			return
		}
	}
}
