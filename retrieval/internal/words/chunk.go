package words

// A Chunk is a run of lines that belong together: a function, a type, the head of a file.
type Chunk struct {
	First, Last int // lines from 1, both included
	Tokens      [2]int
	Title       int // token of the first definition in the chunk, or -1
}

// Sizes of chunks in lines. A definition ends the previous chunk if that chunk has at least
// minLines; a chunk that grows beyond maxLines is cut where the code is least indented.
const (
	minLines = 5
	maxLines = 60
)

// cut divides the text into chunks.
func (x *Lexer) cut() {
	first := 0
	title := -1
	for i := range x.lines {
		l := &x.lines[i]
		if l.def < 0 {
			continue
		}
		at := x.lead(i)
		if at > first && (at-first >= minLines || title < 0) {
			x.emit(first, at, title)
			first, title = at, -1
		}
		if title < 0 {
			title = int(l.def)
		}
	}
	x.emit(first, len(x.lines), title)
}

// lead returns the first line that belongs to the definition in line i, including comments and
// decorators right above it.
func (x *Lexer) lead(i int) int {
	for i > 0 {
		l := &x.lines[i-1]
		if !l.comment || l.blank || l.def >= 0 {
			break
		}
		i--
	}
	return i
}

// emit adds the lines from first up to end, in pieces of at most maxLines.
func (x *Lexer) emit(first, end, title int) {
	for end-first > maxLines {
		at := x.splitAt(first, end)
		x.emitOne(first, at, title)
		first = at
	}
	if end > first {
		x.emitOne(first, end, title)
	}
}

func (x *Lexer) emitOne(first, end, title int) {
	to := len(x.tokens)
	if end < len(x.lines) {
		to = int(x.lines[end].token)
	}
	x.chunks = append(x.chunks, Chunk{First: first + 1, Last: end, Tokens: [2]int{int(x.lines[first].token), to}, Title: title})
}

// splitAt finds the best line to begin the next piece with, in the second half of the allowed
// length: preferably after a blank line and with little indentation.
func (x *Lexer) splitAt(first, end int) int {
	best, bestCost := first+maxLines, 1<<30
	for i := first + maxLines/2; i <= first+maxLines && i < end; i++ {
		l := &x.lines[i]
		if l.blank {
			continue
		}
		cost := int(l.indent)
		if !x.lines[i-1].blank {
			cost += 8
		}
		if end-i < minLines {
			cost += 8
		}
		if cost <= bestCost {
			best, bestCost = i, cost
		}
	}
	return best
}
