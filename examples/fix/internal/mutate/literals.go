package mutate

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

func (w *walker) literal(n *ast.BasicLit) {
	switch w.parent(1).(type) {
	case *ast.Field, *ast.ImportSpec, *ast.ArrayType:
		return // a struct tag, an import path or a type
	}
	switch n.Kind {
	case token.INT:
		w.integer(n)
	case token.CHAR:
		w.character(n)
	case token.STRING:
		w.stringSlips(n)
	}
	for _, other := range w.names.literals {
		// Only literals that occur more than once in the function are replaced, so that the right
		// literal still occurs in the function.
		if other.kind == n.Kind && other.value != n.Value && len(n.Value) <= shortLiteral && w.names.literalCount[n.Value] > 1 && !w.isFormat(n) {
			w.replaceNode(OtherLiteral, n, other.value)
		}
	}
}

// shortLiteral is the maximum length of a literal that may be confused with another one in the
// function.
const shortLiteral = 24

func (w *walker) integer(n *ast.BasicLit) {
	v, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil || v > 1<<40 {
		return
	}
	switch hex := strings.HasPrefix(n.Value, "0x"); {
	case strconv.FormatInt(v, 10) == n.Value:
		w.replaceNode(Integer, n, strconv.FormatInt(v+1, 10))
		if v > 0 {
			w.replaceNode(Integer, n, strconv.FormatInt(v-1, 10))
		}
	case hex && n.Value == "0x"+strconv.FormatInt(v, 16):
		w.replaceNode(Integer, n, "0x"+strconv.FormatInt(v+1, 16))
		if v > 0 {
			w.replaceNode(Integer, n, "0x"+strconv.FormatInt(v-1, 16))
		}
		return
	default:
		return
	}
	if v >= 8 && v <= 1<<20 && v&(v-1) == 0 {
		w.replaceNode(IntegerScale, n, strconv.FormatInt(2*v, 10))
		if v > 8 {
			w.replaceNode(IntegerScale, n, strconv.FormatInt(v/2, 10))
		}
	}
	switch v {
	case 10:
		w.replaceNode(IntegerScale, n, "16")
		w.replaceNode(IntegerScale, n, "8")
	case 16, 8:
		w.replaceNode(IntegerScale, n, "10")
	}
}

// runePairs are characters that are confused with each other, in both directions.
var runePairs = [][2]rune{
	{'(', ')'}, {'[', ']'}, {'{', '}'}, {'<', '>'}, {'\'', '"'}, {' ', '\t'}, {'\n', '\r'}, {'-', '_'}, {'/', '\\'}, {'.', ','},
	{',', ';'}, {':', ';'}, {'+', '-'}, {'0', '1'}, {'9', '0'}, {'[', '{'}, {']', '}'}, {'.', '/'}, {'&', '|'}, {'*', '?'},
}

// confused returns the characters that r may be confused with.
func confused(r rune) []rune {
	var others []rune
	for _, p := range runePairs {
		if p[0] == r {
			others = append(others, p[1])
		} else if p[1] == r {
			others = append(others, p[0])
		}
	}
	if c := otherCase(r); c != r {
		others = append(others, c)
	}
	return others
}

func otherCase(r rune) rune {
	switch {
	case r > unicode.MaxASCII:
	case unicode.IsLower(r):
		return unicode.ToUpper(r)
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	}
	return r
}

func (w *walker) character(n *ast.BasicLit) {
	s, err := strconv.Unquote(n.Value)
	if err != nil || strconv.QuoteRune([]rune(s)[0]) != n.Value {
		return // the original is not written in the form that the repair would have
	}
	for _, r := range confused([]rune(s)[0]) {
		w.replaceNode(Rune, n, strconv.QuoteRune(r))
	}
}

// stringSlips makes strings that differ slightly: in the case of the first letter, a separator, the
// line ending, or a space at the end. Strings with format verbs stay unchanged.
func (w *walker) stringSlips(n *ast.BasicLit) {
	s, err := strconv.Unquote(n.Value)
	if err != nil || strconv.Quote(s) != n.Value || len(s) > 40 || w.isFormat(n) || w.inMessage() {
		return
	}
	put := func(s string) { w.replaceNode(String, n, strconv.Quote(s)) }
	rs := []rune(s)
	if len(rs) == 1 {
		for _, r := range confused(rs[0]) {
			put(string(r))
		}
	}
	if len(rs) > 1 {
		if c := otherCase(rs[0]); c != rs[0] {
			put(string(c) + s[1:])
		}
	}
	switch s {
	case ",", ":", ";":
		put(s + " ")
	case ", ", ": ", "; ":
		put(s[:1])
	}
	switch {
	case strings.HasSuffix(s, "\r\n"):
		put(strings.TrimSuffix(s, "\r\n") + "\n")
	case strings.HasSuffix(s, "\n"):
		put(strings.TrimSuffix(s, "\n") + "\r\n")
	}
	switch s {
	case "":
		put(" ")
	case " ":
		put("")
	}
}

// isFormat reports whether a string literal seems to be a format.
func (w *walker) isFormat(n *ast.BasicLit) bool {
	return n.Kind == token.STRING && strings.Contains(n.Value, "%")
}

// inMessage reports whether the node is the text of an error or a panic: a slip in it would not be
// a bug.
func (w *walker) inMessage() bool {
	c, ok := w.parent(1).(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name == "panic" || strings.HasSuffix(f.Name, "Error")
	case *ast.SelectorExpr:
		switch f.Sel.Name {
		case "New", "Errorf", "Error", "Printf", "Fprintf", "Sprintf", "Println", "Print", "Fatal", "Fatalf", "Log", "Logf":
			return true
		}
	}
	return false
}
