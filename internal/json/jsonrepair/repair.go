// Package jsonrepair repairs typical errors in JSON from language models: trailing commas, single
// or smart quotes, Python literals, Markdown fences, comments, unescaped quotes and line breaks
// inside strings, missing commas and brackets.
//
// It repairs only text with a single interpretation. Text that ends inside a string, list or object
// was cut off and is refused: if it were completed, half of a file might be written as if it were
// the whole. Ambiguous text, such as a key without a value, is refused too. Every repair has a
// [Risk], because some repairs are certain, such as dropping a trailing comma, and others are a
// guess, such as distinguishing an inner quote from a closing one.
//
// The text is read once from left to right, with look-ahead that is bounded by the next quote, so
// the work is linear in its length.
package jsonrepair

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Risk is the amount of guessing in a repair.
type Risk uint8

// The risks, in increasing order.
const (
	None   Risk = iota // nothing was changed
	Low                // spelling only: no other interpretation exists
	Medium             // structure: the text contradicts other interpretations
	High               // a guess: the result is likely right, and the model should see the assumption
)

// String returns "none", "low", "medium" or "high".
func (r Risk) String() string { return [...]string{"none", "low", "medium", "high"}[r] }

// Result is repaired JSON.
type Result struct {
	JSON  []byte   // valid JSON; the input itself if that was valid
	Notes []string // descriptions of the repairs, one for each kind
	Risk  Risk     // the highest risk of all repairs

	// Moved means that brackets were added, removed or exchanged, so a member may have been meant
	// for another object.
	Moved bool

	Spellings []Spelling // values without quotes in a form of numbers that JSON does not have
}

// Kind is the kind of reason why text was refused.
type Kind uint8

// The kinds of refusal.
const (
	Malformed Kind = iota // not JSON in any interpretation
	Truncated             // it ends before it is complete
	Ambiguous             // it has several interpretations
	TooDeep               // nested beyond maxDepth
)

// Error is the reason why text was refused, and the position.
type Error struct {
	Kind   Kind
	Offset int // in bytes
	Msg    string
}

// Error describes the fault in one line.
func (e *Error) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }

// maxDepth is the deepest nesting that is repaired. Valid JSON may be deeper.
const maxDepth = 512

// Repair repairs text. Valid JSON is returned unchanged.
func Repair(text []byte) (Result, error) {
	if json.Valid(text) {
		return Result{JSON: text}, nil
	}
	s := string(text)
	if inner := betweenQuotes(s); inner != "" {
		return result([]byte(inner), 1<<fixOuterQuotes), nil
	}
	return repair(s, 0)
}

// betweenQuotes returns the valid list or object that text has between single quotes, as in a
// shell, or "".
func betweenQuotes(text string) string {
	t := strings.TrimSpace(text)
	if len(t) < 4 || t[0] != '\'' || t[len(t)-1] != '\'' || t[1] != '{' && t[1] != '[' {
		return ""
	}
	inner := strings.ReplaceAll(t[1:len(t)-1], `\'`, "'")
	if !json.Valid([]byte(inner)) {
		return ""
	}
	return inner
}

// errEscaped reports escaped quotes outside of a string: the whole text has one level of escapes
// too many.
var errEscaped = errors.New("escaped outside a string")

func repair(s string, fixes uint64) (Result, error) {
	r := &repairer{s: s, fixes: fixes, noComment: len(s), out: make([]byte, 0, len(s)+len(s)/16+16)}
	err := r.document()
	if err != nil && r.mismatch {
		if again := (&repairer{s: s, fixes: fixes, noComment: len(s), out: r.out[:0], wrong: true}); again.document() == nil && !again.noted(fixExtraClose) {
			r, err = again, nil
		}
	}
	if plain := withoutEntities(s); err != nil && plain != "" {
		return repair(plain, fixes|1<<fixEntities)
	}
	if err == errEscaped {
		if fixes&(1<<fixOverEscaped) != 0 {
			return Result{}, &Error{Malformed, r.i, "a backslash stands outside any string"}
		}
		fixes |= 1 << fixOverEscaped
		plain := unescapeOnce(s)
		if json.Valid([]byte(plain)) {
			return result([]byte(plain), fixes), nil
		}
		return repair(plain, fixes)
	}
	if err != nil {
		return Result{}, err
	}
	if !json.Valid(r.out) {
		return Result{}, &Error{Malformed, len(s), "it is not JSON"}
	}
	res := result(r.out, r.fixes)
	res.Spellings = r.spellings
	return res, nil
}

func result(out []byte, fixes uint64) Result {
	res := Result{JSON: out, Notes: make([]string, 0, bits.OnesCount64(fixes))}
	res.Moved = fixes&(1<<fixExtraClose|1<<fixMissingClose|1<<fixWrongClose) != 0
	for f := range numFixes {
		if fixes&(1<<f) != 0 {
			res.Notes = append(res.Notes, fixInfo[f].text)
			res.Risk = max(res.Risk, fixInfo[f].risk)
		}
	}
	return res
}

// repairer reads s and writes valid JSON to out.
type repairer struct {
	s      string
	i      int
	out    []byte
	stack  []byte // the open brackets: '{', '[' or '('
	fixes  uint64 // one bit per fix
	fenced bool   // inside a Markdown fence
	equals bool   // keys and values are separated by = or an arrow

	mismatch bool // a bracket was closed by another one, and was taken to be missing
	unclosed bool // a list was taken to end before a key
	wrong    bool // such a bracket is taken to be the wrong one

	scalars   int // scalar values written
	spellings []Spelling
	noComment int // from here on no comment ends
}

func (r *repairer) note(f fix) { r.fixes |= 1 << f }

func (r *repairer) noted(f fix) bool { return r.fixes&(1<<f) != 0 }

func (r *repairer) eof() bool { return r.i >= len(r.s) }

// at returns the byte at i, or 0 past the end.
func (r *repairer) at(i int) byte {
	if i < len(r.s) {
		return r.s[i]
	}
	return 0
}

func (r *repairer) fail(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Offset: r.i, Msg: fmt.Sprintf(format, args...)}
}

func (r *repairer) truncated(inside string) error {
	return &Error{Kind: Truncated, Offset: len(r.s), Msg: "the text ends inside " + inside + ": it was cut off"}
}

func (r *repairer) push(c byte) error {
	if len(r.stack) >= maxDepth {
		return r.fail(TooDeep, "nested more than %d deep", maxDepth)
	}
	r.stack = append(r.stack, c)
	return nil
}

func (r *repairer) pop() { r.stack = r.stack[:len(r.stack)-1] }

// open reports whether a bracket c is open anywhere around the current one.
func (r *repairer) open(c byte) bool {
	for _, x := range r.stack {
		if x == c {
			return true
		}
	}
	return false
}

// top returns the innermost open bracket, or 0 at the top level.
func (r *repairer) top() byte { return r.up(1) }

func (r *repairer) up(n int) byte {
	if len(r.stack) < n {
		return 0
	}
	return r.stack[len(r.stack)-n]
}
