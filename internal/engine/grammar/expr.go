package grammar

import (
	"encoding/binary"
	"errors"
	"slices"
)

// expr is a set of JSON values that is converted to normal form only when needed. Equal expressions
// are the same node.
type expr struct {
	kind exprKind
	id   int32
	src  *source
	kids []*expr
	form *form // the normal form, once computed
	busy bool
	void int8 // 0 unknown, 1 certainly empty, 2 not empty
}

type exprKind uint8

const (
	exprForm exprKind = iota // form is given
	exprSource
	exprAnd
	exprNot
)

// schemas builds the expressions and forms of one JSON Schema document.
type schemas struct {
	v       *Vocab
	any     *expr
	none    *expr
	byKey   map[string]*expr
	sources map[string]*expr
	root    *resource
	ids     map[string]*source // by absolute URI, with anchors
	indexed bool
	fuel    int
	depth   int
	nextID  int32
}

var (
	errSchemaSize = errors.New("the schema has too many combinations (allOf, anyOf, oneOf, not): simplify it")
	errBusy       = errors.New("the schema refers to itself without anything in between ($ref cycle)")
	errSchemaDeep = errors.New("the schema is nested too deeply")
)

const schemaFuel = 200_000

func newSchemas(v *Vocab) *schemas {
	s := &schemas{v: v, byKey: map[string]*expr{}, sources: map[string]*expr{}, fuel: schemaFuel}
	s.any = s.add(&expr{form: fullForm(), void: 2})
	s.none = s.add(&expr{form: &form{}, void: 1})
	return s
}

func (s *schemas) add(e *expr) *expr {
	e.id = s.nextID
	s.nextID++
	return e
}

// both returns the intersection of expressions.
func (s *schemas) both(a, b *expr) *expr {
	switch {
	case a == s.none || b == s.none:
		return s.none
	case a == s.any || a == b:
		return b
	case b == s.any:
		return a
	}
	kids := make([]*expr, 0, 4)
	for _, e := range []*expr{a, b} {
		if e.kind == exprAnd {
			kids = append(kids, e.kids...)
		} else {
			kids = append(kids, e)
		}
	}
	slices.SortFunc(kids, func(a, b *expr) int { return int(a.id - b.id) })
	kids = slices.Compact(kids)
	if len(kids) == 1 {
		return kids[0]
	}
	key := make([]byte, 0, 4*len(kids))
	for _, k := range kids {
		key = binary.LittleEndian.AppendUint32(key, uint32(k.id))
	}
	if e, ok := s.byKey[string(key)]; ok {
		return e
	}
	e := s.add(&expr{kind: exprAnd, kids: kids})
	s.byKey[string(key)] = e
	return e
}

// negated returns the complement of an expression.
func (s *schemas) negated(e *expr) *expr {
	switch {
	case e == s.any:
		return s.none
	case e == s.none:
		return s.any
	case e.kind == exprNot:
		return e.kids[0]
	}
	key := "!" + string(binary.LittleEndian.AppendUint32(nil, uint32(e.id)))
	if n, ok := s.byKey[key]; ok {
		return n
	}
	n := s.add(&expr{kind: exprNot, kids: []*expr{e}})
	s.byKey[key] = n
	return n
}

// norm returns the normal form of an expression.
func (s *schemas) norm(e *expr) (*form, error) {
	if e.form != nil {
		return e.form, nil
	}
	if e.busy {
		return nil, errBusy
	}
	if s.depth++; s.depth > maxNest {
		s.depth--
		return nil, errSchemaDeep
	}
	e.busy = true
	f, err := s.compute(e)
	e.busy = false
	s.depth--
	if err != nil {
		return nil, err
	}
	if f.terms() > maxTerms {
		return nil, errSchemaSize
	}
	e.form = f
	return f, nil
}

func (s *schemas) compute(e *expr) (*form, error) {
	switch e.kind {
	case exprSource:
		return s.source(e.src, fullForm())
	case exprNot:
		f, err := s.norm(e.kids[0])
		if err != nil {
			return nil, err
		}
		return s.not(f)
	}
	out, err := s.norm(e.kids[0])
	for _, k := range e.kids[1:] {
		if err != nil {
			break
		}
		var f *form
		if f, err = s.norm(k); err == nil {
			out, err = s.and(out, f)
		}
	}
	return out, err
}

// narrow returns the part of f that is in e. It uses the conditions of f while e is converted, so
// that alternatives that f rules out are never expanded.
func (s *schemas) narrow(f *form, e *expr) (*form, error) {
	if e.kind != exprSource || e.form != nil || !e.src.applies() {
		g, err := s.norm(e)
		if err != nil {
			return nil, err
		}
		return s.and(f, g)
	}
	if e.busy {
		return nil, errBusy
	}
	if s.fuel--; s.fuel < 0 {
		return nil, errSchemaSize
	}
	if s.depth++; s.depth > maxNest {
		s.depth--
		return nil, errSchemaDeep
	}
	e.busy = true
	g, err := s.source(e.src, f)
	e.busy = false
	s.depth--
	if err == nil && g.terms() > maxTerms {
		return nil, errSchemaSize
	}
	return g, err
}

// applies reports whether a subschema applies other schemas to the same value.
func (src *source) applies() bool {
	m, _ := src.raw.(map[string]any)
	for _, key := range applicatorKeys {
		if _, ok := m[key]; ok {
			return true
		}
	}
	return false
}

// never reports whether an expression certainly has no value. An expression that is still being
// converted counts as having a value.
func (s *schemas) never(e *expr) (bool, error) {
	if e.void != 0 {
		return e.void == 1, nil
	}
	f, err := s.norm(e)
	if errors.Is(err, errBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	none, err := s.void(f)
	if err != nil {
		return false, err
	}
	e.void = 2
	if none {
		e.void = 1
	}
	return none, nil
}
