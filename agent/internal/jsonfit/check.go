package jsonfit

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// The limits of one check.
const (
	maxFaults = 10   // described
	maxDepth  = 1000 // of values and references
	// The values that are visited and copied: unions inside unions multiply them.
	minWork     = 100_000
	workPerByte = 50
)

// checker applies schemas to one answer and collects the faults.
type checker struct {
	faults  []string
	more    int
	work    int // that is left
	depth   int
	changed bool // a null for an omitted member was removed
}

func (c *checker) fault(at []string, format string, args ...any) {
	if len(c.faults) == maxFaults {
		c.more++
		return
	}
	c.faults = append(c.faults, place(at)+": "+fmt.Sprintf(format, args...))
}

// place formats a path as a person would: findings[2].file.
func place(at []string) string {
	if len(at) == 0 {
		return "the answer"
	}
	return strings.TrimPrefix(strings.Join(at, ""), ".")
}

const tooMuch = "it is too deep or too complex to check"

// size counts the values in v.
func size(v *jsontree.Value) int {
	n := 1
	for _, x := range v.Items {
		n += size(x)
	}
	for _, m := range v.Members {
		n += size(m.Value)
	}
	return n
}

// clean applies s to a copy of v and returns the copy if s accepts it.
func (c *checker) clean(s *node, v *jsontree.Value, at []string) (*jsontree.Value, *checker) {
	trial := &checker{work: c.work, depth: c.depth}
	if trial.work -= size(v); trial.work < 0 {
		trial.fault(at, tooMuch)
		c.work = trial.work
		return nil, trial
	}
	w := v.Clone()
	trial.check(s, w, at)
	c.work = trial.work
	if trial.bad() {
		return nil, trial
	}
	return w, trial
}

func (c *checker) accepts(s *node, v *jsontree.Value) bool {
	w, _ := c.clean(s, v, nil)
	return w != nil
}

func (c *checker) bad() bool { return len(c.faults) > 0 }

// take replaces v by the copy that a trial accepted.
func (c *checker) take(v, w *jsontree.Value, trial *checker) {
	if trial.changed {
		*v, c.changed = *w, true
	}
}

// check applies s to v.
func (c *checker) check(s *node, v *jsontree.Value, at []string) {
	if s == nil {
		return
	}
	c.depth++
	defer func() { c.depth-- }()
	if c.work--; c.work < 0 || c.depth > maxDepth {
		if !c.bad() {
			c.fault(at, tooMuch)
		}
		return
	}
	if s.never {
		c.fault(at, "not allowed")
		return
	}
	if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(t string) bool { return isType(v, t) }) {
		c.fault(at, "want %s, got %s", strings.Join(s.types, " or "), show(v))
		return
	}
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(x *jsontree.Value) bool { return equal(x, v) }) {
		c.fault(at, "want %s, got %s", choices(s.enum), show(v))
		return
	}
	c.combined(s, v, at)
	switch v.Kind {
	case jsontree.Number:
		c.number(&s.num, v, at)
	case jsontree.String:
		text := v.Text()
		c.count(s.length, utf8.RuneCountInString(text), "character", at)
		if s.pattern != nil && !s.pattern.MatchString(text) {
			c.fault(at, "%s does not match the pattern %s", show(v), s.pattern)
		}
	case jsontree.Array:
		c.array(s, v, at)
	case jsontree.Object:
		c.object(&s.object, v, at)
	}
}

// combined applies the schemas that s combines.
func (c *checker) combined(s *node, v *jsontree.Value, at []string) {
	c.check(s.ref, v, at)
	for _, sub := range s.allOf {
		c.check(sub, v, at)
	}
	if len(s.anyOf) > 0 {
		c.union(s.anyOf, v, at, false)
	}
	if len(s.oneOf) > 0 {
		c.union(s.oneOf, v, at, true)
	}
	if s.not != nil && c.accepts(s.not, v) {
		c.fault(at, "this value is not allowed")
	}
	if s.cond[0] != nil {
		if c.accepts(s.cond[0], v) {
			c.check(s.cond[1], v, at)
		} else {
			c.check(s.cond[2], v, at)
		}
	}
}

// union applies forms of which one must accept v, or exactly one.
func (c *checker) union(forms []*node, v *jsontree.Value, at []string, one bool) {
	var found *jsontree.Value
	var with, near *checker
	for _, form := range forms {
		w, trial := c.clean(form, v, at)
		switch {
		case w == nil:
			if near == nil || deep(trial, at) > deep(near, at) {
				near = trial
			}
		case found != nil:
			c.fault(at, "it fits several of the allowed forms; give what only one of them has")
			return
		default:
			found, with = w, trial
		}
		if found != nil && !one {
			break
		}
	}
	if found != nil {
		c.take(v, found, with)
		return
	}
	for _, f := range near.faults { // of the form that was most likely meant
		if len(c.faults) < maxFaults {
			c.faults = append(c.faults, f)
		}
	}
}

// deep returns how far below a place the first fault is: a form whose faults are deep has the right
// outer shape.
func deep(c *checker, at []string) int {
	return len(strings.SplitN(c.faults[0], ": ", 2)[0]) - len(place(at))
}

func (c *checker) number(n *numberRules, v *jsontree.Value, at []string) {
	if *n == (numberRules{}) {
		return
	}
	x := rat(v)
	switch {
	case x == nil:
		c.fault(at, "the exponent of %s is too large", v.Raw())
	case n.min != nil && x.Cmp(n.min) < 0:
		c.fault(at, "want at least %s, got %s", decimal(n.min), v.Raw())
	case n.max != nil && x.Cmp(n.max) > 0:
		c.fault(at, "want at most %s, got %s", decimal(n.max), v.Raw())
	case n.above != nil && x.Cmp(n.above) <= 0:
		c.fault(at, "want more than %s, got %s", decimal(n.above), v.Raw())
	case n.below != nil && x.Cmp(n.below) >= 0:
		c.fault(at, "want less than %s, got %s", decimal(n.below), v.Raw())
	case n.step != nil && !new(big.Rat).Quo(x, n.step).IsInt():
		c.fault(at, "want a multiple of %s, got %s", decimal(n.step), v.Raw())
	}
}

func (c *checker) count(b bounds, n int, of string, at []string) {
	switch {
	case n < b.min:
		c.fault(at, "want at least %d %ss, got %d", b.min, of, n)
	case b.max >= 0 && n > b.max:
		c.fault(at, "want at most %d %ss, got %d", b.max, of, n)
	}
}

func (c *checker) array(s *node, v *jsontree.Value, at []string) {
	c.count(s.count, len(v.Items), "element", at)
	matches := 0
	for i, x := range v.Items {
		sub := s.items
		if i < len(s.prefix) {
			sub = s.prefix[i]
		}
		c.check(sub, x, append(slices.Clip(at), "["+strconv.Itoa(i)+"]"))
		if s.contains != nil && c.accepts(s.contains, x) {
			matches++
		}
	}
	if s.contains != nil && (matches < s.matches.min || s.matches.max >= 0 && matches > s.matches.max) {
		c.fault(at, "%d of its elements are as the schema asks for in contains, which is not the right number", matches)
	}
	if s.unique {
		for i, x := range v.Items {
			if c.work -= i; c.work < 0 {
				c.fault(at, tooMuch)
				return
			}
			if slices.ContainsFunc(v.Items[:i], func(y *jsontree.Value) bool { return equal(x, y) }) {
				c.fault(at, "its elements must differ, and element %d is there twice", i)
				return
			}
		}
	}
}

func (c *checker) object(o *objectRules, v *jsontree.Value, at []string) {
	c.dropNulls(o, v)
	for _, key := range o.required {
		if v.Get(key) == nil {
			c.fault(below(at, key), "missing")
		}
	}
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Key] {
			c.fault(below(at, m.Key), "given twice")
		}
		seen[m.Key] = true
		c.member(o, m, below(at, m.Key))
	}
	for key, also := range o.needs {
		for _, need := range also {
			if v.Get(key) != nil && v.Get(need) == nil {
				c.fault(below(at, need), "missing; it is needed together with %s", key)
			}
		}
	}
	for key, s := range o.also {
		if v.Get(key) != nil {
			c.check(s, v, at)
		}
	}
	c.count(o.count, len(v.Members), "member", at)
}

func (c *checker) member(o *objectRules, m jsontree.Member, at []string) {
	if o.names != nil {
		c.check(o.names, jsontree.NewString(m.Key), at)
	}
	s, known := o.props[m.Key]
	c.check(s, m.Value, at)
	for _, p := range o.patterns {
		if p.re.MatchString(m.Key) {
			known = true
			c.check(p.s, m.Value, at)
		}
	}
	switch {
	case known || o.rest == nil:
	case o.rest.never:
		c.fault(at, "unknown member")
	default:
		c.check(o.rest, m.Value, at)
	}
}

// dropNulls removes members that are null although their schema does not accept null, if they may
// be absent: the strict mode of OpenAI has no other way to omit a member.
func (c *checker) dropNulls(o *objectRules, v *jsontree.Value) {
	kept := v.Members[:0:0]
	for _, m := range v.Members {
		s := o.props[m.Key]
		if s == nil || m.Value.Kind != jsontree.Null || slices.Contains(o.required, m.Key) || c.accepts(s, m.Value) {
			kept = append(kept, m)
		}
	}
	if len(kept) < len(v.Members) {
		v.Members, c.changed = kept, true
	}
}

func below(at []string, key string) []string {
	return append(slices.Clip(at), "."+clip(key, 60))
}

func isType(v *jsontree.Value, name string) bool {
	if name == "integer" {
		n := rat(v)
		return n != nil && n.IsInt()
	}
	return v.Kind.String() == name
}

func equal(x, y *jsontree.Value) bool {
	if a, b := rat(x), rat(y); a != nil && b != nil {
		return a.Cmp(b) == 0
	}
	return x.Equal(y)
}

func decimal(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// show formats a value for a model: its type, and its text if that is short.
func show(v *jsontree.Value) string {
	switch v.Kind {
	case jsontree.Null:
		return "null"
	case jsontree.Array:
		return "a list"
	case jsontree.Object:
		return "an object"
	case jsontree.String:
		return "the text " + strconv.Quote(clip(v.Text(), 60))
	}
	return "the " + v.Kind.String() + " " + clip(v.Raw(), 60)
}

func choices(xs []*jsontree.Value) string {
	var parts []string
	for i, x := range xs {
		if i == 20 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, clip(string(x.JSON()), 60))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "one of " + strings.Join(parts, ", ")
}

// clip shortens s to about n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
