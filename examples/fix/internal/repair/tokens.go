package repair

import (
	"go/scanner"
	"go/token"
	"strings"
)

// Tokens returns the tokens of Go code as one text, which is equal for code that differs only in
// white space, line breaks and comments. The code may be a part of a file and need not parse.
// Automatic semicolons are equal to written ones; a semicolon that is redundant before a closing
// bracket is left out.
func Tokens(code string) string {
	src := []byte(code)
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
	var b strings.Builder
	for semicolons := 0; ; {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return b.String()
		case token.SEMICOLON:
			semicolons++
			continue
		case token.RBRACE, token.RPAREN:
			semicolons = 0
		}
		for ; semicolons > 0; semicolons-- {
			b.WriteString(";\x00")
		}
		if lit == "" {
			lit = tok.String()
		}
		b.WriteString(lit + "\x00") // only an invalid token can contain this byte
	}
}

// Edited returns the text of a function in which a line, counted from 1 at the func line, has a new
// text after its indentation. The line must be in the function.
func (f Function) Edited(line int, text string) string {
	lines := strings.Split(f.Text, "\n")
	old := lines[line-1]
	lines[line-1] = old[:len(old)-len(strings.TrimLeft(old, " \t"))] + text
	return strings.Join(lines, "\n")
}
