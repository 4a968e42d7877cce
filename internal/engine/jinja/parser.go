package jinja

import "slices"

// Limits of the parser. They limit the depth of the tree, and thus the stack needed to walk it.
const (
	maxNesting = 100    // of brackets, unary operators and conditional expressions in an expression
	maxBlocks  = 100    // of statements in statements
	maxChain   = 10_000 // operators, calls, filters and subscripts in one statement
	maxSource  = 16 << 20
)

// parser is a recursive-descent parser over the tokens of one template.
type parser struct {
	toks    []token
	i       int
	scope   *scope
	names   []*nameExpr    // to be resolved once all assignments are known
	depth   int            // nesting of the current expression
	blocks  int            // of open statements
	chain   int            // number of operators in the current statement
	soft    int            // number of open if tags; in them an unknown filter or test fails only when it is reached
	unknown []*SyntaxError // the unknown filters and tests outside if tags
	loops   int            // number of open for bodies in this function
}

// Parse parses a template. If that fails, it returns a *SyntaxError with the line and the reason.
func Parse(src string) (t *Template, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(lexFault)
			if !ok {
				panic(p)
			}
			t, err = nil, f.err
		}
	}()
	if len(src) > maxSource {
		fail(1, "template is larger than %d bytes", maxSource)
	}
	fn := &function{}
	p := &parser{toks: lex(src), scope: newScope(nil, fn)}
	body := p.statements()
	if !p.is(tokEOF) {
		fail(p.cur().line, "unexpected '%s'", p.cur().describe())
	}
	if len(p.unknown) > 0 {
		return nil, p.unknown[0]
	}
	t = &Template{body: body}
	t.vars = p.resolve()
	t.size = fn.size
	return t, nil
}

// resolve assigns slots to every name and returns the names that may come from outside.
func (p *parser) resolve() []string {
	at := map[string]int{}
	var vars []string
	for _, n := range p.names {
		n.refs = n.scope.resolve(n.name)
		n.scope = nil
		i, ok := at[n.name]
		if !ok {
			i = len(vars)
			at[n.name] = i
			vars = append(vars, n.name)
		}
		n.vars = i
	}
	return vars
}

func (p *parser) cur() token  { return p.toks[p.i] }
func (p *parser) peek() token { return p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) is(kind tokenKind) bool { return p.cur().kind == kind }

func (p *parser) isName(name string) bool { return p.is(tokName) && p.cur().text == name }

func (p *parser) next() token {
	t := p.cur()
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

func (p *parser) skip(kind tokenKind) bool {
	if p.is(kind) {
		p.i++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(kind tokenKind) token {
	if t := p.cur(); t.kind != kind {
		if t.kind == tokEOF {
			fail(t.line, "unexpected end of template, expected '%s'", kind)
		}
		fail(t.line, "expected token '%s', got '%s'", kind, t.describe())
	}
	return p.next()
}

func (p *parser) expectName(name string) token {
	if !p.isName(name) {
		fail(p.cur().line, "expected '%s', got '%s'", name, p.cur().describe())
	}
	return p.next()
}

// name returns a name node in the current scope.
func (p *parser) name(s string) *nameExpr {
	n := &nameExpr{name: s, scope: p.scope}
	p.names = append(p.names, n)
	return n
}

// declare turns a name into a target that is assigned in the current scope.
func (p *parser) declare(s string, line int) *nameTarget {
	switch s {
	case "true", "false", "none", "True", "False", "None":
		fail(line, "can't assign to '%s'", s)
	}
	return &nameTarget{slot: p.scope.declare(s)}
}

// open enters a scope. The returned function leaves the scope and returns its slots.
func (p *parser) open(hidden bool) func() [2]int {
	s := newScope(p.scope, p.scope.fn)
	s.hidden = hidden
	p.scope = s
	return func() [2]int {
		p.scope = s.parent
		return s.span()
	}
}

// openFunc enters the scope of a new function. The returned function leaves the scope and returns
// the size of its frame.
func (p *parser) openFunc() func() int {
	s := newScope(p.scope, &function{})
	loops := p.loops
	p.scope, p.loops = s, 0
	return func() int {
		p.scope, p.loops = s.parent, loops
		return s.fn.size
	}
}

// statements parses up to one of the end tags and leaves that tag's name as the current token. With
// no end tags, it parses to the end.
func (p *parser) statements(ends ...string) []stmt {
	if len(ends) > 0 {
		p.skip(":")
		p.expect(tokBlockEnd)
	}
	if p.blocks++; p.blocks > maxBlocks {
		fail(p.cur().line, "statements are nested more than %d levels deep", maxBlocks)
	}
	defer func() { p.blocks-- }()
	var body []stmt
	for {
		t := p.cur()
		p.chain = 0
		switch t.kind {
		case tokData:
			p.next()
			body = append(body, &textStmt{t.text})
		case tokVarBegin:
			p.next()
			body = append(body, &outputStmt{p.tuple(true, ""), t.line})
			p.expect(tokVarEnd)
		case tokBlockBegin:
			p.next()
			if p.is(tokName) && slices.Contains(ends, p.cur().text) {
				return body
			}
			body = append(body, p.statement(ends))
			p.expect(tokBlockEnd)
		default:
			if len(ends) > 0 {
				fail(t.line, "unexpected end of template: looking for {%% %s %%}", ends[len(ends)-1])
			}
			return body
		}
	}
}

// bodyUntil parses a body with a single end tag and consumes the tag.
func (p *parser) bodyUntil(end string) []stmt {
	body := p.statements(end)
	p.next()
	return body
}

// tags maps the name that opens a statement to its parser. It is filled in init because statements
// contain statements.
var tags map[string]func(p *parser) stmt

func init() {
	tags = map[string]func(p *parser) stmt{
		"for": (*parser).forTag, "if": (*parser).ifTag, "set": (*parser).setTag, "with": (*parser).withTag,
		"macro": (*parser).macroTag, "call": (*parser).callTag, "filter": (*parser).filterTag, "block": (*parser).blockTag,
		"generation": (*parser).generationTag, "break": (*parser).jumpTag, "continue": (*parser).jumpTag,
		"print": (*parser).printTag, "autoescape": (*parser).autoescapeTag,
	}
}

func (p *parser) statement(ends []string) stmt {
	t := p.cur()
	if t.kind != tokName {
		fail(t.line, "tag name expected, got '%s'", t.describe())
	}
	if parse := tags[t.text]; parse != nil {
		return parse(p)
	}
	switch t.text {
	case "include", "import", "from", "extends":
		fail(t.line, "the %s tag needs another template, and a chat template has no others: inline it", t.text)
	case "do", "trans", "debug":
		fail(t.line, "the %s tag is not available in chat templates", t.text)
	}
	if len(ends) > 0 {
		fail(t.line, "unknown tag '%s'; the innermost open block ends with '%s'", t.text, ends[len(ends)-1])
	}
	fail(t.line, "unknown tag '%s'", t.text)
	return nil
}
