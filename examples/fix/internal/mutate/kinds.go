package mutate

import "slices"

// The kinds of slips. Every slip can be repaired by a slip of the same kind.
const (
	Boundary        = "boundary"         // < and <=, > and >=
	Direction       = "direction"        // < and >, <= and >=
	Comparison      = "comparison"       // == and !=, < and >=: the opposite comparison
	EqualOrder      = "equal-order"      // == or != and one of < <= > >=
	Logic           = "logic"            // && and ||
	Negation        = "negation"         // a missing ! and one too many
	Guard           = "guard"            // x != nil && or similar, missing or one too many
	Condition       = "condition"        // one operand of && or || missing or too many
	Sum             = "sum"              // + and -
	Arithmetic      = "arithmetic"       // other arithmetic operators
	Bits            = "bits"             // & | ^ &^
	Shift           = "shift"            // << and >>
	Sign            = "sign"             // x and -x
	Operands        = "operands"         // a - b and b - a
	PlusOne         = "plus-one"         // a missing + 1 or - 1 and one too many
	Integer         = "integer"          // an integer off by one
	IntegerScale    = "integer-scale"    // an integer doubled or halved, or base 10 and 16 confused
	Boolean         = "boolean"          // true and false
	Rune            = "rune"             // a character and its counterpart
	String          = "string"           // a string with a small slip
	OtherLiteral    = "other-literal"    // another literal in the function
	Variable        = "variable"         // another variable of the same type
	Constant        = "constant"         // another constant of the same type
	ReceiverField   = "receiver-field"   // x and r.x, where r is the receiver
	Field           = "field"            // another field of the same type
	Method          = "method"           // another method of the same signature
	Function        = "function"         // another function of the same signature
	Arguments       = "arguments"        // two arguments swapped
	WrappedCall     = "wrapped-call"     // strings.ToLower(x) and x, and similar
	LenCap          = "len-cap"          // len and cap
	MakeSize        = "make-size"        // make([]T, n) and make([]T, 0, n)
	SliceBound      = "slice-bound"      // a slice bound on the other side, or missing
	SliceTail       = "slice-tail"       // x and x[1:] and x[:len(x)-1]
	FirstLast       = "first-last"       // x[0] and x[len(x)-1]
	AssignOperator  = "assign-operator"  // += and -=, and similar
	AssignPlain     = "assign-plain"     // += and =
	Define          = "define"           // := and =, which shadows a variable or overwrites it
	Increment       = "increment"        // ++ and --
	Branch          = "branch"           // break and continue
	IfFor           = "if-for"           // if and for
	RangePair       = "range-pair"       // the key and the value of a range
	ReturnedError   = "returned-error"   // return err and return nil
	ReturnedZero    = "returned-zero"    // a returned variable and the zero value of its type
	ReturnedSwapped = "returned-swapped" // two results swapped
	Deferred        = "deferred"         // defer f() and f()
)

// Kinds returns the names of all kinds of mutants, sorted. The set is closed under inversion: the
// mutants of a function broken by any kind include the original line, within the limits described
// at the kinds.
func Kinds() []string {
	kinds := []string{
		Boundary, Direction, Comparison, EqualOrder, Logic, Negation, Guard, Condition, Sum, Arithmetic, Bits, Shift, Sign, Operands,
		PlusOne, Integer, IntegerScale, Boolean, Rune, String, OtherLiteral, Variable, Constant, ReceiverField, Field, Method, Function,
		Arguments, WrappedCall, LenCap, MakeSize, SliceBound, SliceTail, FirstLast, AssignOperator, AssignPlain, Define,
		Increment, Branch, IfFor, RangePair, ReturnedError, ReturnedZero, ReturnedSwapped, Deferred,
	}
	slices.Sort(kinds)
	return kinds
}
