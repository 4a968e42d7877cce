package jinja

import (
	"fmt"
	"slices"
)

// postfix parses attributes, subscripts and calls after x.
func (p *parser) postfix(x expr) expr {
	for {
		switch p.cur().kind {
		case ".":
			x = p.attribute(x)
		case "[":
			p.next()
			x = p.subscript(x)
		case "(":
			x = &callExpr{x, p.callArgs()}
		default:
			return x
		}
		p.link()
	}
}

func (p *parser) attribute(x expr) expr {
	p.next()
	t := p.next()
	switch t.kind {
	case tokName:
		return &attrExpr{x, t.text, Str(t.text)}
	case tokInteger:
		return &itemExpr{x, &constExpr{t.num}}
	}
	fail(t.line, "expected name or number after '.', got '%s'", t.describe())
	return nil
}

func (p *parser) subscript(x expr) expr {
	var args []expr
	for !p.is("]") {
		if len(args) > 0 {
			p.expect(",")
		}
		arg, s := p.subscribed(x)
		if s != nil {
			if len(args) > 0 || !p.is("]") {
				fail(p.cur().line, "a slice cannot be one of several subscripts")
			}
			p.expect("]")
			return s
		}
		args = append(args, arg)
	}
	p.expect("]")
	if len(args) == 1 {
		return &itemExpr{x, args[0]}
	}
	return &itemExpr{x, &tupleExpr{args}}
}

// subscribed parses one subscript: an index, or a slice of x.
func (p *parser) subscribed(x expr) (index expr, slice *sliceExpr) {
	s := &sliceExpr{obj: x}
	if !p.is(":") {
		s.from = p.expression()
		if !p.is(":") {
			return s.from, nil
		}
	}
	p.next()
	if !p.is(":") && !p.is("]") && !p.is(",") {
		s.to = p.expression()
	}
	if p.skip(":") && !p.is("]") && !p.is(",") {
		s.step = p.expression()
	}
	return nil, s
}

func (p *parser) callArgs() callArgs {
	open := p.expect("(")
	bad := func(when bool) {
		if when {
			fail(open.line, "invalid syntax for function call expression")
		}
	}
	var a callArgs
	for first := true; !p.is(")"); first = false {
		if !first {
			p.expect(",")
			if p.is(")") {
				break
			}
		}
		switch {
		case p.skip("*"):
			bad(a.star != nil || a.starStar != nil)
			a.star = p.expression()
		case p.skip("**"):
			bad(a.starStar != nil)
			a.starStar = p.expression()
		case p.is(tokName) && p.peek().kind == "=":
			bad(a.starStar != nil)
			name := p.next().text
			if slices.Contains(a.names, name) {
				fail(open.line, "keyword argument repeated: %s", name)
			}
			p.next()
			a.names = append(a.names, name)
			a.named = append(a.named, p.expression())
		default:
			bad(a.star != nil || a.starStar != nil || len(a.names) > 0)
			a.pos = append(a.pos, p.expression())
		}
	}
	p.expect(")")
	return a
}

// filterOrTest parses filters, tests and calls of their results after x.
func (p *parser) filterOrTest(x expr) expr {
	for {
		switch {
		case p.is("|"):
			p.next()
			x = p.filter(x)
		case p.isName("is"):
			x = p.test(x)
		case p.is("("):
			x = &callExpr{x, p.callArgs()}
		default:
			return x
		}
		p.link()
	}
}

// filters parses any number of filters after x.
func (p *parser) filters(x expr) expr {
	for p.skip("|") {
		p.link()
		x = p.filter(x)
	}
	return x
}

// dotted parses a name that may contain dots.
func (p *parser) dotted() token {
	t := p.expect(tokName)
	for p.skip(".") {
		t.text += "." + p.expect(tokName).text
	}
	return t
}

func (p *parser) filter(x expr) expr {
	t := p.dotted()
	f := &filterExpr{x: x, name: t.text, fn: filterTable[t.text]}
	if f.fn == nil {
		p.unknownName(t.line, "no filter named '%s'", t.text)
	}
	if p.is("(") {
		f.args = p.callArgs()
	}
	return f
}

func (p *parser) test(x expr) expr {
	p.next()
	negated := p.skipName("not")
	t := p.dotted()
	e := &testExpr{x: x, name: t.text, fn: testTable[t.text]}
	if e.fn == nil {
		p.unknownName(t.line, "no test named '%s'", t.text)
	}
	switch p.cur().kind {
	case "(":
		e.args = p.callArgs()
	case tokName, tokString, tokInteger, tokFloat, "[", "{":
		if p.isName("else") || p.isName("or") || p.isName("and") {
			break
		}
		if p.isName("is") {
			fail(t.line, "you cannot chain multiple tests with is")
		}
		e.args.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return &notExpr{e}
	}
	return e
}

// unknownName records an unknown filter or test. This is an error at once, unless a condition may
// keep it from being reached.
func (p *parser) unknownName(line int, format, name string) {
	if p.soft == 0 {
		p.unknown = append(p.unknown, &SyntaxError{Line: line, Message: fmt.Sprintf(format, name)})
	}
}
