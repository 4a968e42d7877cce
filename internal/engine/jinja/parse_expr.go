package jinja

// Expressions by precedence, from the lowest: conditional, or, and, not, comparison, + -, ~, * / //
// %, **, unary, postfix.

// enter counts a level of nesting; leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		fail(p.cur().line, "expression is nested more than %d levels deep", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// link counts an operator, call, filter or subscript, because a long chain of them also makes a
// deep tree.
func (p *parser) link() {
	if p.chain++; p.chain > maxChain {
		fail(p.cur().line, "a statement has more than %d operators, calls and filters", maxChain)
	}
}

// tuple parses an expression, or several with commas between them, up to the end of the tag, a
// closing parenthesis or the token end.
func (p *parser) tuple(withCond bool, end string) expr {
	return p.tupleIn(withCond, end, false)
}

func (p *parser) tupleIn(withCond bool, end string, empty bool) expr {
	var items []expr
	isTuple := false
	for {
		if p.is(tokVarEnd) || p.is(tokBlockEnd) || p.is(")") || end != "" && p.isName(end) {
			break
		}
		if withCond {
			items = append(items, p.expression())
		} else {
			items = append(items, p.or())
		}
		if !p.skip(",") {
			break
		}
		isTuple = true
	}
	switch {
	case !isTuple && len(items) == 1:
		return items[0]
	case !isTuple && !empty:
		fail(p.cur().line, "expected an expression, got '%s'", p.cur().describe())
	}
	return &tupleExpr{items}
}

func (p *parser) expression() expr {
	p.enter()
	defer p.leave()
	line := p.cur().line
	known := len(p.unknown)
	x := p.or()
	for p.skipName("if") {
		p.link()
		c := &condExpr{cond: p.or(), yes: x, line: line}
		if p.skipName("else") {
			c.no = p.expression()
		}
		p.unknown = p.unknown[:known] // these are errors only if the code is reached
		x, line = c, p.cur().line
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.skipName("or") {
		p.link()
		x = &orExpr{x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.skipName("and") {
		p.link()
		x = &andExpr{x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	if p.skipName("not") {
		p.enter()
		defer p.leave()
		return &notExpr{p.not()}
	}
	return p.compare()
}

var compareOps = map[tokenKind]operator{"==": opEq, "!=": opNe, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe}

func (p *parser) compareOp() (operator, bool) {
	t := p.cur()
	if op, ok := compareOps[t.kind]; ok {
		p.next()
		return op, true
	}
	if p.skipName("in") {
		return opIn, true
	}
	if n := p.peek(); p.isName("not") && n.kind == tokName && n.text == "in" {
		p.i += 2
		return opNotIn, true
	}
	return 0, false
}

func (p *parser) compare() expr {
	x := p.sum()
	var c *compareExpr
	for {
		op, ok := p.compareOp()
		if !ok {
			break
		}
		p.link()
		if c == nil {
			c = &compareExpr{first: x}
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
	if c == nil {
		return x
	}
	return c
}

// binary parses a left-associative chain of operators.
func (p *parser) binary(ops map[tokenKind]operator, operand func() expr) expr {
	x := operand()
	for {
		op, ok := ops[p.cur().kind]
		if !ok {
			return x
		}
		p.next()
		p.link()
		x = &binaryExpr{op, x, operand()}
	}
}

var (
	sumOps     = map[tokenKind]operator{"+": opAdd, "-": opSub}
	productOps = map[tokenKind]operator{"*": opMul, "/": opDiv, "//": opFloorDiv, "%": opMod}
	powerOps   = map[tokenKind]operator{"**": opPow}
)

func (p *parser) sum() expr     { return p.binary(sumOps, p.concat) }
func (p *parser) product() expr { return p.binary(productOps, p.power) }
func (p *parser) power() expr   { return p.binary(powerOps, p.unary) }

func (p *parser) concat() expr {
	x := p.product()
	if !p.is("~") {
		return x
	}
	parts := []expr{x}
	for p.skip("~") {
		p.link()
		parts = append(parts, p.product())
	}
	return &concatExpr{parts}
}

func (p *parser) unary() expr { return p.filterOrTest(p.signed()) }

func (p *parser) signed() expr {
	p.enter()
	defer p.leave()
	switch {
	case p.skip("-"):
		return p.postfix(&negExpr{p.signed()})
	case p.skip("+"):
		return p.postfix(&posExpr{p.signed()})
	}
	return p.postfix(p.primary())
}

var constants = map[string]Value{
	"true": Bool(true), "True": Bool(true), "false": Bool(false), "False": Bool(false), "none": None{}, "None": None{},
}

func (p *parser) primary() expr {
	t := p.next()
	switch t.kind {
	case tokName:
		if v, ok := constants[t.text]; ok {
			return &constExpr{v}
		}
		return p.name(t.text)
	case tokString:
		s := t.text
		for p.is(tokString) {
			s += p.next().text
		}
		return &constExpr{Str(s)}
	case tokInteger, tokFloat:
		return &constExpr{t.num}
	case "(":
		p.enter()
		defer p.leave()
		x := p.tupleIn(true, "", true)
		p.expect(")")
		return x
	case "[":
		return &listExpr{p.list()}
	case "{":
		return p.dict()
	}
	if t.kind == tokEOF {
		fail(t.line, "unexpected end of template, expected an expression")
	}
	fail(t.line, "unexpected '%s'", t.describe())
	return nil
}

func (p *parser) list() []expr {
	var items []expr
	for !p.is("]") {
		if len(items) > 0 {
			p.expect(",")
			if p.is("]") {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.expect("]")
	return items
}

func (p *parser) dict() expr {
	d := &dictExpr{}
	for !p.is("}") {
		if len(d.keys) > 0 {
			p.expect(",")
			if p.is("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.expect(":")
		d.values = append(d.values, p.expression())
	}
	p.expect("}")
	return d
}
