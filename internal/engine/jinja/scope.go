package jinja

// Names are resolved once, after parsing. A function (the template, a macro, the body of a call
// block, a recursive loop) has one frame of slots while it runs. The scopes inside it (loops, with,
// captured blocks) own ranges of those slots. Reading a name looks at the slot of the innermost
// scope that assigns the name. While that slot is unset, it looks at the next scope outwards, and
// finally at the variables given to Render and the global functions.

// ref is the location of a variable: a slot in the frame of an enclosing function; the field up is
// the number of functions to go outwards.
type ref struct{ up, slot int }

// function is the unit that gets a frame.
type function struct{ size int }

// scope is a set of names with their range of slots.
type scope struct {
	parent *scope
	fn     *function
	names  map[string]int // slots
	first  int            // first slot of the range
	hidden bool           // a block, which sees only its own names and those of the outermost scope
}

func newScope(parent *scope, fn *function) *scope {
	return &scope{parent: parent, fn: fn, names: map[string]int{}, first: fn.size}
}

// declare returns the slot of a name that is assigned in this scope.
func (s *scope) declare(name string) int {
	if slot, ok := s.names[name]; ok {
		return slot
	}
	slot := s.fn.size
	s.fn.size++
	s.names[name] = slot
	return slot
}

// span returns the range of slots to clear when the scope is entered: the slots of the scope and of
// the scopes inside it. The range is known only after the scope is closed. Slots are assigned in
// order, so the range contains no slot of an outer scope.
func (s *scope) span() [2]int { return [2]int{s.first, s.fn.size} }

// resolve lists the slots in which a name may be found, innermost first.
func (s *scope) resolve(name string) []ref {
	var refs []ref
	up := 0
	for hidden := false; s != nil; s = s.parent {
		if slot, ok := s.names[name]; ok && (!hidden || s.parent == nil) {
			refs = append(refs, ref{up, slot})
		}
		hidden = hidden || s.hidden
		if s.parent != nil && s.parent.fn != s.fn {
			up++
		}
	}
	return refs
}
