package words

import "testing"

// read reads a text and checks the properties that hold for every text.
func read(t testing.TB, name, src string) Text {
	t.Helper()
	var x Lexer
	text := x.Read(LangOf(name), []byte(src))
	checkText(t, text, []byte(src))
	return text
}

// definitions returns the names that a text defines, in order.
func definitions(text Text, src string) []string { return wordsOf(text, src, Definition) }

func wordsOf(text Text, src string, k Kind) (names []string) {
	for _, tok := range text.Tokens {
		if tok.Kind == k {
			names = append(names, string(tok.Of([]byte(src))))
		}
	}
	return names
}

// titles returns the names of the chunks, "" for a chunk without one.
func titles(text Text, src string) (names []string) {
	for _, c := range text.Chunks {
		name := ""
		if c.Title >= 0 {
			name = string(text.Tokens[c.Title].Of([]byte(src)))
		}
		names = append(names, name)
	}
	return names
}

// checkText checks properties that hold for any text: tokens are in ascending order and inside the
// text, and chunks cover every line and every token exactly once, in order.
func checkText(t testing.TB, text Text, src []byte) {
	t.Helper()
	end := 0
	for i, k := range text.Tokens {
		if int(k.Start) < end || k.Len == 0 || int(k.Start)+int(k.Len) > len(src) {
			t.Fatalf("token %d is %d+%d, the one before ends at %d, the text at %d", i, k.Start, k.Len, end, len(src))
		}
		end = int(k.Start) + int(k.Len)
		if k.Kind > Definition {
			t.Fatalf("token %d is of kind %d", i, k.Kind)
		}
	}
	if want := countLines(src); text.Lines != want {
		t.Fatalf("%d lines, want %d", text.Lines, want)
	}
	line, tok := 1, 0
	starts := lineStarts(src)
	for i, c := range text.Chunks {
		switch {
		case c.First != line || c.Last < c.First:
			t.Fatalf("chunk %d is lines %d to %d, the one before ends at %d", i, c.First, c.Last, line-1)
		case c.Last-c.First+1 > maxLines:
			t.Fatalf("chunk %d has %d lines", i, c.Last-c.First+1)
		case c.Tokens[0] != tok || c.Tokens[1] < tok:
			t.Fatalf("chunk %d has tokens %v, the one before ends at %d", i, c.Tokens, tok)
		case c.Title < -1 || c.Title >= len(text.Tokens):
			t.Fatalf("chunk %d has the title %d of %d", i, c.Title, len(text.Tokens))
		case c.Title >= 0 && text.Tokens[c.Title].Kind != Definition:
			t.Fatalf("chunk %d has a title of kind %d", i, text.Tokens[c.Title].Kind)
		}
		for _, k := range text.Tokens[c.Tokens[0]:c.Tokens[1]] {
			if int(k.Start) < starts[c.First-1] || c.Last < len(starts) && int(k.Start) >= starts[c.Last] {
				t.Fatalf("chunk %d, lines %d to %d, has the token at byte %d", i, c.First, c.Last, k.Start)
			}
		}
		line, tok = c.Last+1, c.Tokens[1]
	}
	if line-1 != text.Lines || tok != len(text.Tokens) {
		t.Fatalf("chunks end with line %d and token %d, the text with %d and %d", line-1, tok, text.Lines, len(text.Tokens))
	}
}

// countLines counts lines as an editor does: a text that ends with a line break has no line after
// it, and an empty text has one line.
func countLines(src []byte) int { return len(lineStarts(src)) }

func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' && i+1 < len(src) {
			starts = append(starts, i+1)
		}
	}
	return starts
}
