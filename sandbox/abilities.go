package sandbox

// Wrapper is implemented by a sandbox that wraps another one, such as one that logs commands. [As]
// and [AbilitiesOf] then find the abilities of the wrapped sandbox, whose methods bypass the
// wrapper: a wrapper that must see everything implements the interfaces itself or has no Unwrap.
type Wrapper interface {
	Sandbox
	// Unwrap returns the wrapped sandbox.
	Unwrap() Sandbox
}

// As returns box, or the outermost sandbox that it wraps (see [Wrapper]), as one of the optional
// interfaces:
//
//	if f, ok := sandbox.As[sandbox.Forker](box); ok {
//		fork, err := f.Fork(ctx)
//		...
//	}
//
// It returns false if none implements T. An ability can still be refused at a call, as a fork of a
// workspace in place is, with [ErrInPlace].
func As[T any](box Sandbox) (T, bool) {
	for box != nil {
		if t, ok := box.(T); ok {
			return t, true
		}
		w, ok := box.(Wrapper)
		if !ok {
			break
		}
		box = w.Unwrap()
	}
	var none T
	return none, false
}

// Abilities are all optional interfaces of a sandbox. A nil field is an ability that it does not
// have.
type Abilities struct {
	Differ    Differ    // lists what changed
	Exporter  Exporter  // shows the change and brings it out
	Reviewer  Reviewer  // checks what the host would execute later
	Forker    Forker    // opens a second sandbox in the current state
	Restorer  Restorer  // returns to an earlier state
	Adopter   Adopter   // goes on from a fork
	DryRunner DryRunner // runs a command without effect
	Approver  Approver  // runs one command under other terms
}

// AbilitiesOf returns what box can do beyond the methods of [Sandbox]; see [As].
func AbilitiesOf(box Sandbox) Abilities {
	var a Abilities
	a.Differ, _ = As[Differ](box)
	a.Exporter, _ = As[Exporter](box)
	a.Reviewer, _ = As[Reviewer](box)
	a.Forker, _ = As[Forker](box)
	a.Restorer, _ = As[Restorer](box)
	a.Adopter, _ = As[Adopter](box)
	a.DryRunner, _ = As[DryRunner](box)
	a.Approver, _ = As[Approver](box)
	return a
}
