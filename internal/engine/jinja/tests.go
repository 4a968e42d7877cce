package jinja

// testTable holds the tests, which follow the word "is".
var testTable table

func init() {
	is := func(f func(v Value) bool) builtin {
		return builtin{fn: func(_ *run, c call) (Value, error) { return Bool(f(c.self)), nil }}
	}
	cmp := func(op operator) builtin {
		return builtin{params: params("other"), fn: func(r *run, c call) (Value, error) {
			ok, err := r.compare(op, c.self, c.args[0])
			return Bool(ok), err
		}}
	}
	testTable = newTable(map[string]builtin{
		"defined":   is(func(v Value) bool { return !isUndefined(v) }),
		"undefined": is(isUndefined),
		"none":      is(func(v Value) bool { return v == Value(None{}) }),
		"true":      is(func(v Value) bool { return v == Value(Bool(true)) }),
		"false":     is(func(v Value) bool { return v == Value(Bool(false)) }),
		"boolean":   is(func(v Value) bool { _, ok := v.(Bool); return ok }),
		"integer":   is(func(v Value) bool { _, isBool := v.(Bool); _, ok := bigOf(v); return ok && !isBool }),
		"float":     is(isFloat),
		"number":    is(isNumber),
		"string":    is(func(v Value) bool { _, ok := text(v); return ok }),
		"mapping":   is(func(v Value) bool { _, ok := v.(*Dict); return ok }),
		"iterable":  is(isIterable),
		"sequence":  is(isSequence),
		"callable":  is(isCallable),
		"escaped":   is(func(v Value) bool { _, ok := v.(markup); return ok }),
		"lower":     is(func(v Value) bool { return isLower(toStr(v)) }),
		"upper":     is(func(v Value) bool { return isUpper(toStr(v)) }),
		"filter":    is(func(v Value) bool { s, ok := text(v); return ok && filterTable[s] != nil }),
		"test":      is(func(v Value) bool { s, ok := text(v); return ok && testTable[s] != nil }),
		"odd":       {fn: func(r *run, c call) (Value, error) { return remainderIs(r, c.self, Int(2), 1) }},
		"even":      {fn: func(r *run, c call) (Value, error) { return remainderIs(r, c.self, Int(2), 0) }},
		"divisibleby": {params: params("num"), fn: func(r *run, c call) (Value, error) {
			return remainderIs(r, c.self, c.args[0], 0)
		}},
		"sameas": {params: params("other"), fn: func(_ *run, c call) (Value, error) { return Bool(c.self == c.args[0]), nil }},
		"in":     {params: params("seq"), fn: testIn},
		"eq":     cmp(opEq), "equalto": cmp(opEq), "==": cmp(opEq),
		"ne": cmp(opNe), "!=": cmp(opNe),
		"lt": cmp(opLt), "lessthan": cmp(opLt), "<": cmp(opLt),
		"le": cmp(opLe), "<=": cmp(opLe),
		"gt": cmp(opGt), "greaterthan": cmp(opGt), ">": cmp(opGt),
		"ge": cmp(opGe), ">=": cmp(opGe),
	})
}

func isUndefined(v Value) bool { _, ok := v.(*undefined); return ok }

func isIterable(v Value) bool {
	switch v.(type) {
	case *generator, *loopState:
		return true
	}
	_, ok := length(v)
	return ok
}

// isSequence reports whether v has a length and subscripts, as Jinja2 tests it: dicts and undefined
// values count.
func isSequence(v Value) bool {
	switch v.(type) {
	case *dictView, *loopState:
		return false
	case *undefined:
		return true
	}
	_, ok := length(v)
	return ok
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *macro, *builtin, *boundMethod, *undefined, *loopState, *joiner:
		return true
	}
	return false
}

func remainderIs(r *run, v, n Value, want Int) (Value, error) {
	m, err := r.binary(opMod, v, n)
	if err != nil {
		return nil, err
	}
	eq, err := r.equal(m, want)
	return Bool(eq), err
}

func testIn(r *run, c call) (Value, error) {
	ok, err := r.contains(c.args[0], c.self)
	return Bool(ok), err
}
