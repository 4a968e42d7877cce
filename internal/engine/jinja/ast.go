package jinja

// operator is a binary operator.
type operator byte

const (
	opAdd operator = iota
	opSub
	opMul
	opDiv
	opFloorDiv
	opMod
	opPow
	opEq
	opNe
	opLt
	opLe
	opGt
	opGe
	opIn
	opNotIn
)

var opNames = [...]string{"+", "-", "*", "/", "//", "%", "** or pow()", "==", "!=", "<", "<=", ">", ">=", "in", "not in"}

func (op operator) String() string { return opNames[op] }

// expr is an expression node.
type expr interface {
	eval(r *run, f *frame) (Value, error)
}

// stmt is a statement node.
type stmt interface {
	exec(r *run, f *frame) (signal, error)
}

// signal reports how a statement ended.
type signal byte

const (
	sigNone signal = iota
	sigBreak
	sigContinue
)

// target is something to which a value can be assigned.
type target interface {
	assign(r *run, f *frame, v Value) error
}

// Expressions.
type (
	constExpr struct{ v Value }
	nameExpr  struct {
		name  string
		refs  []ref // slots to search, innermost scope first
		vars  int   // index into the table of variables that come from outside the template
		scope *scope
	}
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	dictExpr  struct{ keys, values []expr }
	attrExpr  struct {
		obj  expr
		name string
		key  Value // the name as a value, created once
	}
	itemExpr   struct{ obj, index expr }
	sliceExpr  struct{ obj, from, to, step expr } // nil means not given
	binaryExpr struct {
		op   operator
		l, r expr
	}
	compareExpr struct {
		first expr
		ops   []operator
		rest  []expr
	}
	concatExpr struct{ parts []expr }
	andExpr    struct{ l, r expr }
	orExpr     struct{ l, r expr }
	notExpr    struct{ x expr }
	negExpr    struct{ x expr }
	posExpr    struct{ x expr }
	condExpr   struct {
		cond, yes, no expr // no is nil if there is no else
		line          int
	}
	callExpr struct {
		fn   expr
		args callArgs
	}
	filterExpr struct {
		x    expr // nil in a filter block or a filtered set, where the text is passed in
		name string
		fn   *builtin // nil if the function is unknown, which is an error only when it is called
		args callArgs
	}
	testExpr struct {
		x    expr
		name string
		fn   *builtin
		args callArgs
	}
)

// callArgs holds the arguments of a call as written.
type callArgs struct {
	pos      []expr
	names    []string // of the keyword arguments
	named    []expr
	star     expr // *args
	starStar expr // **kwargs
}

// Statements.
type (
	textStmt   struct{ s string }
	outputStmt struct {
		x    expr
		line int
	}
	ifStmt struct {
		arms []ifArm
		no   []stmt
	}
	ifArm struct {
		cond expr
		body []stmt
		line int
	}
	forStmt struct {
		line   int
		target target
		iter   expr
		filter expr // nil means none
		body   []stmt
		no     []stmt
		slots  [2]int // the slots of the body's scope, cleared for each round
		loop   int    // slot of the variable loop
		// For a recursive loop, whose body is called like a function: size is the size of the
		// frame.
		recursive bool
		size      int
	}
	setStmt struct {
		line   int
		target target
		x      expr
	}
	setBlock struct {
		line   int
		target target
		filter expr // nil means none
		scoped
	}
	filterBlock struct {
		line   int
		filter expr
		scoped
	}
	withStmt struct {
		line    int
		targets []target
		values  []expr
		scoped
	}
	macroStmt struct {
		line   int
		target *nameTarget
		def    *macroDef
	}
	callBlock struct {
		line int
		call *callExpr
		def  *macroDef
	}
	generationBlock struct {
		line int
		def  *macroDef
	}
	blockStmt struct{ scoped }
	jumpStmt  struct{ sig signal }
)

// scoped is a body whose variables are in the slots [slots[0], slots[1]).
type scoped struct {
	body  []stmt
	slots [2]int
}

// macroDef is the code of a macro or of the body of a call block.
type macroDef struct {
	name     string
	params   []string
	paramAt  []int  // slots
	defaults []expr // aligned with the last params
	body     []stmt
	size     int // of the frame
	caller   int // slot of the name caller, or -1 if the body does not mention it
	varargs  int
	kwargs   int
}

// nameTarget is a variable of the current function.
type nameTarget struct{ slot int }

// tupleTarget unpacks into several targets.
type tupleTarget struct{ items []target }

// attrTarget is ns.name on the left side of a set.
type attrTarget struct {
	ns   *nameExpr
	attr string
}
