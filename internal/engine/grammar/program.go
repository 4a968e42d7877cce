package grammar

import "sync"

// program is a compiled grammar: a table of operations that push each other on the stack of the
// matching automaton. It is shared by the machines of all requests; mu guards the lexers, whose
// states are created lazily.
type program struct {
	mu   sync.Mutex
	v    *Vocab
	ops  []op
	root int32
}

type opKind uint8

const (
	opFail   opKind = iota // matches no text
	opLit                  // exactly these bytes
	opString               // the language of a lexer; min and max count code points of an unconstrained JSON string or of text
	opSeq                  // children one after the other
	opAlt                  // any child
	opRepeat               // the child min to max times; max < 0 means no limit
	opSet                  // its children in any order, each at most once
	opToken                // one named token
	opObject               // a JSON object
	opKey                  // the key of the object that precedes it in the table
	opArray                // a JSON array
)

type op struct {
	kind     opKind
	lit      []byte
	lex      *lexer
	min, max int32
	kids     []int32
	token    int32
	set      *setOp
	object   *objectOp
	array    *arrayOp
	space    spacing
}

// objectOp accepts the properties of an object in any order. The names with the first len(bits)
// labels of the key lexer may occur once each and are recorded as bits; further labels are classes
// of other names.
type objectOp struct {
	keys      *lexer
	values    []int32 // by label
	names     int     // labels below names are single properties
	words     int     // words per set of names
	required  []uint64
	welcome   []uint64 // names whose value can be valid
	others    bool     // names other than the listed ones are allowed
	reach     []uint64 // by content state: set of names that the text may still become
	reachMore []bool   // by content state: whether the text can still become another name
	reachAll  bool     // reachMore is true in every state
	min, max  int32    // number of properties; max < 0 means no limit
	closed    bool     // no name is allowed
	wanted    [][]wanted
}

// wanted sets one of the bits that the object needs to be complete, if the property with the
// corresponding label has the given value.
type wanted struct{ bit, value int32 }

// arrayOp accepts the items of an array.
type arrayOp struct {
	prefix   []int32
	rest     int32 // operation of the items after the prefix; -1 means that there are none
	min, max int32
	sat      int32 // counts beyond this are not distinguished

	// With contains, each item matches one of the variants, and the automaton counts the items of
	// each kind.
	holds    []holdOp
	variants []itemVariant
}

// holdOp requires min to max items of a kind; max < 0 means no limit.
type holdOp struct{ min, max int32 }

// itemVariant is an item that counts towards the kinds whose bits are in set.
type itemVariant struct {
	value int32
	set   int
}

func (p *program) add(o op) int32 {
	p.ops = append(p.ops, o)
	return int32(len(p.ops) - 1)
}

// spacing selects the white space that JSON text may contain.
type spacing uint8

// White space between the parts of JSON text.
const (
	spaceFlexible spacing = iota // none, one blank, or a line break and indentation
	spaceNone                    // compact
	spaceLine                    // one blank after each comma and colon, none elsewhere
)

// maxIndent is the maximum number of blanks or tabs after a line break.
const maxIndent = 96

// ws is the transition function of the automaton for white space: state 0 means none yet, 1 after a
// blank, 2 after a carriage return, and 3+n after a line break and n characters of indentation. It
// returns -1 if b must not follow.
func (s spacing) ws(state int32, b byte, separated bool) int32 {
	switch s {
	case spaceNone:
		return -1
	case spaceLine:
		if separated && state == 0 && b == ' ' {
			return 1
		}
		return -1
	}
	switch {
	case b == ' ' || b == '\t':
		switch {
		case state == 0:
			return 1
		case state >= 3 && state < 3+maxIndent:
			return state + 1
		}
	case b == '\n':
		if state <= 2 {
			return 3
		}
	case b == '\r':
		if state <= 1 {
			return 2
		}
	}
	return -1
}

// done reports whether other text may follow the white space in this state.
func (s spacing) done(state int32, separated bool) bool {
	if s == spaceLine && separated {
		return state == 1
	}
	return state != 2
}

// blanks returns the white space bytes that may follow.
func (s spacing) blanks(state int32, separated bool) (set byteSet) {
	for _, b := range []byte(" \t\r\n") {
		if s.ws(state, b, separated) >= 0 {
			set.add(b)
		}
	}
	return set
}
