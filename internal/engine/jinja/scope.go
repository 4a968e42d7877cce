package jinja

// Names are resolved once, after parsing. A function (the template, a macro, the body of a call
// block, a recursive loop) has one frame of slots when it runs; the scopes inside it (loops, with,
// captured blocks) own ranges of those slots. Reading a name looks at the slot of the innermost
// scope that assigns it and, while that is unset, at the next one outwards, then at the variables
// given to Render and the global functions.

// ref is the place of a variable: slot in the frame of the function that lies up functions
// outwards.
type ref struct{ up, slot int }

// function is the unit that gets a frame.
type function struct{ size int }

// scope is a range of names.
type scope struct {
	parent *scope
	fn     *function
	names  map[string]int // slots
	first  int            // slot of the range
	hidden bool           // a block: sees only itself and the outermost scope
}

func newScope(parent *scope, fn *function) *scope {
	return &scope{parent: parent, fn: fn, names: map[string]int{}, first: fn.size}
}

// declare returns the slot of a name assigned in this scope.
func (s *scope) declare(name string) int {
	if slot, ok := s.names[name]; ok {
		return slot
	}
	slot := s.fn.size
	s.fn.size++
	s.names[name] = slot
	return slot
}

// span is the range of slots to clear when the scope is entered: its own and those of the scopes
// inside it. It is known once the scope is closed; slots are handed out in order, so it holds no
// slot of an outer scope.
func (s *scope) span() [2]int { return [2]int{s.first, s.fn.size} }

// resolve lists the slots where a name may be found, innermost first.
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
