package jinja

// The statements, one function per tag. Each function starts at the name of its tag and stops
// before the end of the tag.

func (p *parser) forTag() stmt {
	s := &forStmt{line: p.next().line, recursive: p.tagEndsWith("recursive")}
	outer := p.scope
	var closeFunc func() int
	if s.recursive {
		closeFunc = p.openFunc()
	}
	closeScope := p.open(false)
	inner := p.scope
	s.target = p.assignTarget(false)
	s.loop = p.declare("loop", s.line).slot
	p.expectName("in")
	p.scope = outer // the iterated expression cannot see the targets
	s.iter = p.tuple(false, "recursive")
	p.scope = inner
	if p.skipName("if") {
		s.filter = p.expression()
	}
	p.skipName("recursive")
	p.loops++
	s.body = p.statements("endfor", "else")
	p.loops--
	s.slots = closeScope()
	if s.recursive {
		s.size = closeFunc()
	}
	if p.next().text == "else" {
		closeElse := p.open(false)
		s.no = p.bodyUntil("endfor")
		closeElse()
	}
	return s
}

// tagEndsWith reports whether the name is the last word of the tag.
func (p *parser) tagEndsWith(name string) bool {
	i := p.i
	for p.toks[i].kind != tokBlockEnd && p.toks[i].kind != tokEOF {
		i++
	}
	if i > 0 && p.toks[i-1].kind == ":" {
		i--
	}
	return i > 0 && p.toks[i-1].kind == tokName && p.toks[i-1].text == name
}

func (p *parser) ifTag() stmt {
	s := &ifStmt{}
	p.soft++
	defer func() { p.soft-- }()
	for {
		line := p.next().line
		cond := p.tuple(false, "")
		body := p.statements("elif", "else", "endif")
		s.arms = append(s.arms, ifArm{cond, body, line})
		switch p.cur().text {
		case "elif":
			continue
		case "else":
			p.next()
			s.no = p.bodyUntil("endif")
		default:
			p.next()
		}
		return s
	}
}

func (p *parser) setTag() stmt {
	line := p.next().line
	// In {% set x = x + 1 %}, x is read before it is assigned. The target can still be parsed
	// first, since slots are resolved later.
	tgt := p.assignTarget(true)
	if p.skip("=") {
		return &setStmt{line, tgt, p.tuple(true, "")}
	}
	s := &setBlock{line: line, target: tgt}
	if p.is("|") {
		s.filter = p.filters(nil)
	}
	done := p.open(false)
	s.body = p.bodyUntil("endset")
	s.slots = done()
	return s
}

func (p *parser) withTag() stmt {
	s := &withStmt{line: p.next().line}
	done := p.open(false)
	inner := p.scope
	for !p.is(tokBlockEnd) && !p.is(tokEOF) {
		if len(s.targets) > 0 {
			p.expect(",")
		}
		s.targets = append(s.targets, p.assignTarget(false))
		p.expect("=")
		p.scope = inner.parent // values cannot see the targets
		s.values = append(s.values, p.expression())
		p.scope = inner
	}
	s.body = p.bodyUntil("endwith")
	s.slots = done()
	return s
}

func (p *parser) filterTag() stmt {
	s := &filterBlock{line: p.next().line}
	s.filter = p.filters(p.filter(nil))
	done := p.open(false)
	s.body = p.bodyUntil("endfilter")
	s.slots = done()
	return s
}

func (p *parser) blockTag() stmt {
	p.next()
	name := p.expect(tokName).text
	scopedBlock := p.skipName("scoped")
	p.skipName("required")
	s := &blockStmt{}
	done := p.open(!scopedBlock)
	s.body = p.bodyUntil("endblock")
	s.slots = done()
	p.skipName(name)
	return s
}

func (p *parser) autoescapeTag() stmt {
	line := p.next().line
	if x, ok := p.expression().(*constExpr); !ok || truth(x.v) {
		fail(line, "autoescape can only be turned off: chat templates are not HTML")
	}
	s := &blockStmt{}
	done := p.open(false)
	s.body = p.bodyUntil("endautoescape")
	s.slots = done()
	return s
}

func (p *parser) printTag() stmt {
	line := p.next().line
	s := &blockStmt{}
	for !p.is(tokBlockEnd) && !p.is(tokEOF) {
		if len(s.body) > 0 {
			p.expect(",")
		}
		s.body = append(s.body, &outputStmt{p.expression(), line})
	}
	return s
}

func (p *parser) jumpTag() stmt {
	t := p.next()
	if p.loops == 0 {
		fail(t.line, "'%s' outside of a loop", t.text)
	}
	if t.text == "break" {
		return &jumpStmt{sigBreak}
	}
	return &jumpStmt{sigContinue}
}

func (p *parser) macroTag() stmt {
	line := p.next().line
	name := p.expect(tokName)
	s := &macroStmt{line: line, target: p.declare(name.text, name.line)}
	s.def = p.macro(name.text, "endmacro", p.signature)
	return s
}

func (p *parser) callTag() stmt {
	s := &callBlock{line: p.next().line}
	s.def = p.macro("caller", "endcall", func(def *macroDef) {
		if p.is("(") {
			p.signature(def)
		}
		body := p.scope
		p.scope = body.parent // the call cannot see the parameters
		call, ok := p.expression().(*callExpr)
		if !ok {
			fail(s.line, "expected a call after the call tag")
		}
		s.call, p.scope = call, body
	})
	return s
}

func (p *parser) generationTag() stmt {
	line := p.next().line
	return &generationBlock{line, p.macro("caller", "endgeneration", func(*macroDef) {})}
}

// macro parses a macro or call block: the head in the scope of its parameters, then the body.
func (p *parser) macro(name, end string, head func(def *macroDef)) *macroDef {
	def := &macroDef{name: name, caller: -1, varargs: -1, kwargs: -1}
	done := p.openFunc()
	sc := p.scope
	first := len(p.names)
	head(def)
	def.body = p.bodyUntil(end)
	for _, n := range p.names[first:] {
		p.implicit(sc, n, def)
	}
	def.size = done()
	return def
}

// implicit declares caller, varargs and kwargs if the body uses them without assigning them.
func (p *parser) implicit(sc *scope, n *nameExpr, def *macroDef) {
	if _, own := sc.names[n.name]; own {
		return
	}
	for s := n.scope; s != nil && s != sc; s = s.parent {
		if s.fn != sc.fn { // used by a macro inside this one, which has separate variables
			return
		}
	}
	switch n.name {
	case "caller":
		def.caller = sc.declare(n.name)
	case "varargs":
		def.varargs = sc.declare(n.name)
	case "kwargs":
		def.kwargs = sc.declare(n.name)
	}
}

func (p *parser) signature(def *macroDef) {
	p.expect("(")
	for !p.is(")") {
		if len(def.params) > 0 {
			p.expect(",")
		}
		t := p.expect(tokName)
		if p.skip("=") {
			def.defaults = append(def.defaults, p.expression())
		} else if len(def.defaults) > 0 {
			fail(t.line, "non-default argument follows default argument")
		}
		def.params = append(def.params, t.text)
		def.paramAt = append(def.paramAt, p.declare(t.text, t.line).slot)
	}
	p.expect(")")
}

// assignTarget parses the left side of an assignment; attributes of namespaces are allowed only in
// set.
func (p *parser) assignTarget(attrs bool) target {
	line := p.cur().line
	var items []target
	tuple := false
	for {
		items = append(items, p.oneTarget(attrs))
		if !p.skip(",") {
			break
		}
		tuple = true
		if p.is("=") || p.isName("in") || p.is(tokBlockEnd) || p.is(")") {
			break
		}
	}
	if !tuple {
		return items[0]
	}
	if p.chain += len(items); p.chain > maxChain {
		fail(line, "too many targets")
	}
	return &tupleTarget{items}
}

func (p *parser) oneTarget(attrs bool) target {
	t := p.next()
	if t.kind == "(" {
		p.enter()
		defer p.leave()
		x := p.assignTarget(attrs)
		p.expect(")")
		return x
	}
	if t.kind != tokName {
		fail(t.line, "can't assign to '%s'", t.describe())
	}
	if p.is(".") {
		if !attrs {
			fail(t.line, "can't assign to an attribute here")
		}
		p.next()
		return &attrTarget{p.name(t.text), p.expect(tokName).text}
	}
	return p.declare(t.text, t.line)
}
