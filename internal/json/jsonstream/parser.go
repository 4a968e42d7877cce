package jsonstream

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Parser incrementally parses one JSON value that arrives in pieces, reading each byte once. It
// accepts the same input as encoding/json and produces the same value. The zero value is ready.
//
// While the value is incomplete, [Parser.Root] shows the part read so far: members in order of
// arrival, and the text of an open string up to the last byte.
type Parser struct {
	root  *Node
	stack []*Node // open objects and arrays
	open  *Node   // the string, number or literal being read
	key   strings.Builder
	inKey bool
	state state

	num      numState
	literal  string // the remaining bytes of true, false or null
	hex      rune   // value of \uXXXX so far, and the number of digits still to come
	digits   int
	high     rune    // a high surrogate that waits for its partner, or 0
	pending  [4]byte // the start of a character that is split between two pieces
	npending int

	offset int
	err    error
}

type state uint8

const (
	wantValue     state = iota
	wantFirstItem       // after '[': a value or ']'
	wantFirstKey        // after '{': a key or '}'
	wantKey             // after ',' in an object
	wantColon
	wantComma // after a value in a container
	inString
	inEscape
	inHex
	inNumber
	inLiteral
	ended
)

// maxDepth is encoding/json's limit of nesting.
const maxDepth = 10000

// Feed reads the next piece. An error means that the text is not JSON; later calls return it again.
func (p *Parser) Feed(piece string) error {
	for i := 0; i < len(piece) && p.err == nil; {
		if p.state == inString && p.npending == 0 && p.high == 0 {
			if n := plainRun(piece[i:]); n > 0 {
				p.text().WriteString(piece[i : i+n])
				i += n
				p.offset += n
				continue
			}
		}
		p.step(piece[i])
		i++
		p.offset++
	}
	return p.err
}

// plainRun returns the number of bytes at the start of s that need no decoding inside a string.
func plainRun(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

var errIncomplete = errors.New("the JSON ends before it is complete")

// Close ends the input. It returns an error if the value is incomplete.
func (p *Parser) Close() error {
	if p.err == nil && p.state == inNumber && len(p.stack) == 0 {
		p.endNumber()
	}
	if p.err == nil && p.state != ended {
		return errIncomplete
	}
	return p.err
}

// Done reports whether the value is complete. A top-level number is complete only after
// [Parser.Close].
func (p *Parser) Done() bool { return p.err == nil && p.state == ended }

// Root returns the value read so far, or nil before its first byte. It must be read only between
// calls of Feed.
func (p *Parser) Root() *Node { return p.root }

// Value returns the value so far, as encoding/json decodes it into an any, numbers as
// [json.Number].
func (p *Parser) Value() any { return p.root.value() }

func (p *Parser) fail(c byte, where string) {
	p.err = &SyntaxError{Offset: p.offset, msg: fmt.Sprintf("invalid character %q %s", rune(c), where)}
}

// SyntaxError reports where the text stopped being JSON.
type SyntaxError struct {
	Offset int // in bytes
	msg    string
}

// Error describes the fault in one line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.msg) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// step reads one byte.
func (p *Parser) step(c byte) {
	switch p.state {
	case inString:
		p.stringByte(c)
		return
	case inEscape:
		p.escapeByte(c)
		return
	case inHex:
		p.hexByte(c)
		return
	case inNumber:
		if p.numberByte(c) {
			return
		}
	case inLiteral:
		p.literalByte(c)
		return
	}
	if p.err != nil || isSpace(c) {
		return
	}
	p.structural(c)
}

// structural reads a byte between scalars.
func (p *Parser) structural(c byte) {
	switch p.state {
	case wantValue:
		p.value(c)
	case wantFirstItem:
		if c == ']' {
			p.pop()
			return
		}
		p.value(c)
	case wantFirstKey, wantKey:
		switch {
		case c == '"':
			p.key.Reset()
			p.inKey, p.state = true, inString
		case c == '}' && p.state == wantFirstKey:
			p.pop()
		default:
			p.fail(c, "where a key was expected")
		}
	case wantColon:
		if c != ':' {
			p.fail(c, "after a key")
			return
		}
		p.state = wantValue
	case wantComma:
		p.afterValue(c)
	case ended:
		p.fail(c, "after the value")
	}
}

func (p *Parser) afterValue(c byte) {
	top := p.stack[len(p.stack)-1]
	switch {
	case c == ',' && top.Kind == Object:
		p.state = wantKey
	case c == ',':
		p.state = wantValue
	case c == '}' && top.Kind == Object, c == ']' && top.Kind == Array:
		p.pop()
	default:
		p.fail(c, "after a value")
	}
}

// value begins a value.
func (p *Parser) value(c byte) {
	n := &Node{}
	switch {
	case c == '{':
		n.Kind, p.state = Object, wantFirstKey
	case c == '[':
		n.Kind, p.state = Array, wantFirstItem
	case c == '"':
		n.Kind, p.state = String, inString
	case c == '-' || c >= '0' && c <= '9':
		n.Kind, p.state = Number, inNumber
		p.num = numStart
	case c == 't':
		n.Kind, p.state, p.literal = Bool, inLiteral, "rue"
	case c == 'f':
		n.Kind, p.state, p.literal = Bool, inLiteral, "alse"
	case c == 'n':
		n.Kind, p.state, p.literal = Null, inLiteral, "ull"
	default:
		p.fail(c, "where a value was expected")
		return
	}
	p.attach(n)
	switch n.Kind {
	case Object, Array:
		if len(p.stack) >= maxDepth {
			p.fail(c, "nested too deep")
			return
		}
		p.stack = append(p.stack, n)
	case Number:
		p.open = n
		p.numberByte(c)
	default:
		p.open = n
		if n.Kind != String {
			n.text.WriteByte(c)
		}
	}
}

// attach adds n to the open container, or makes it the root.
func (p *Parser) attach(n *Node) {
	if len(p.stack) == 0 {
		p.root = n
		return
	}
	top := p.stack[len(p.stack)-1]
	if top.Kind == Object {
		top.Members = append(top.Members, Member{Key: p.key.String(), Value: n})
		p.key = strings.Builder{} // the key shares the old builder's memory
		return
	}
	top.Items = append(top.Items, n)
}

// pop closes the innermost container.
func (p *Parser) pop() {
	p.stack[len(p.stack)-1].Done = true
	p.stack = p.stack[:len(p.stack)-1]
	p.after()
}

// after sets the state for what follows a value.
func (p *Parser) after() {
	p.state = wantComma
	if len(p.stack) == 0 {
		p.state = ended
	}
}

// endScalar ends the open string, number or literal.
func (p *Parser) endScalar() {
	p.open.Done = true
	p.open = nil
	p.after()
}

func (p *Parser) literalByte(c byte) {
	if p.literal[0] != c {
		p.fail(c, "in a literal")
		return
	}
	p.open.text.WriteByte(c)
	if p.literal = p.literal[1:]; p.literal == "" {
		p.endScalar()
	}
}

// text returns the builder for the characters of the string being read.
func (p *Parser) text() *strings.Builder {
	if p.inKey {
		return &p.key
	}
	return &p.open.text
}

// stringByte reads a byte inside a string.
func (p *Parser) stringByte(c byte) {
	if c >= utf8.RuneSelf {
		p.flushHigh()
		p.pending[p.npending] = c
		p.npending++
		for p.npending > 0 && utf8.FullRune(p.pending[:p.npending]) {
			p.flushRune()
		}
		return
	}
	p.flushPending()
	if c == '\\' {
		p.state = inEscape
		return
	}
	p.flushHigh()
	switch {
	case c == '"' && p.inKey:
		p.inKey, p.state = false, wantColon
	case c == '"':
		p.endScalar()
	case c < 0x20:
		p.fail(c, "in a string")
	default:
		p.text().WriteByte(c)
	}
}

// flushRune writes the first character of pending. A byte that cannot start a character becomes
// U+FFFD, as in encoding/json.
func (p *Parser) flushRune() {
	r, n := utf8.DecodeRune(p.pending[:p.npending])
	p.text().WriteRune(r)
	copy(p.pending[:], p.pending[n:p.npending])
	p.npending -= n
}

func (p *Parser) flushPending() {
	for p.npending > 0 {
		p.flushRune()
	}
}

// flushHigh writes U+FFFD for a high surrogate whose partner is missing.
func (p *Parser) flushHigh() {
	if p.high != 0 {
		p.text().WriteRune(utf8.RuneError)
		p.high = 0
	}
}

func (p *Parser) escapeByte(c byte) {
	if c == 'u' {
		p.state, p.hex, p.digits = inHex, 0, 4
		return
	}
	p.flushHigh()
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(from, c)
	if i < 0 {
		p.fail(c, "in a string escape")
		return
	}
	p.text().WriteByte(to[i])
	p.state = inString
}

func (p *Parser) hexByte(c byte) {
	var d rune
	switch {
	case c >= '0' && c <= '9':
		d = rune(c - '0')
	case c >= 'a' && c <= 'f':
		d = rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		d = rune(c-'A') + 10
	default:
		p.fail(c, "in a \\u escape")
		return
	}
	p.hex = p.hex<<4 | d
	if p.digits--; p.digits > 0 {
		return
	}
	p.state = inString
	if p.high != 0 {
		if r := utf16.DecodeRune(p.high, p.hex); r != utf8.RuneError {
			p.high = 0
			p.text().WriteRune(r)
			return
		}
		p.flushHigh()
	}
	switch {
	case utf16.IsSurrogate(p.hex):
		p.high = p.hex
	default:
		p.text().WriteRune(p.hex)
	}
}

// numState is the parser's position inside a number.
type numState uint8

const (
	numStart numState = iota
	numMinus
	numZero // a leading 0: no more digits before the point
	numInt
	numPoint
	numFrac
	numE
	numSign
	numExp
)

// numberByte reads a byte of a number. It returns false if the number ended before that byte.
func (p *Parser) numberByte(c byte) bool {
	digit := c >= '0' && c <= '9'
	next := p.num
	switch {
	case p.num == numStart && c == '-':
		next = numMinus
	case (p.num == numStart || p.num == numMinus) && c == '0':
		next = numZero
	case (p.num == numStart || p.num == numMinus || p.num == numInt) && digit:
		next = numInt
	case (p.num == numZero || p.num == numInt) && c == '.':
		next = numPoint
	case (p.num == numPoint || p.num == numFrac) && digit:
		next = numFrac
	case (p.num == numZero || p.num == numInt || p.num == numFrac) && (c == 'e' || c == 'E'):
		next = numE
	case p.num == numE && (c == '+' || c == '-'):
		next = numSign
	case (p.num == numE || p.num == numSign || p.num == numExp) && digit:
		next = numExp
	default:
		p.endNumber()
		return false
	}
	p.num = next
	p.open.text.WriteByte(c)
	return true
}

// endNumber ends the open number, if it may end here.
func (p *Parser) endNumber() {
	switch p.num {
	case numZero, numInt, numFrac, numExp:
		p.endScalar()
	default:
		p.err = &SyntaxError{Offset: p.offset, msg: "a number is incomplete"}
	}
}
