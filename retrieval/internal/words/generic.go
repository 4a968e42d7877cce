package words

// less handles a < and reports whether the state before it is still valid.
func (d *definer) less() bool {
	switch d.x.lang {
	case Rust, Java, JavaScript, Swift, CSharp:
		if d.keyword != 0 || d.name >= 0 || d.impl != noImpl { // impl<T> Name, fun <T> name
			d.generic = 1
			return true
		}
	case Ruby:
		d.noName() // class << self
		return false
	}
	switch {
	case d.angle > 0:
		d.angle++
	case d.lastWord >= 0 && d.open():
		d.angle, d.angled = 1, d.lastWord
	}
	return false
}

// inGeneric handles a sign between < and >, where no names are defined.
func (d *definer) inGeneric(c, last byte) {
	switch c {
	case '<':
		d.generic++
	case '>':
		if last != '-' && last != '=' {
			d.generic--
		}
	case '{', '}', ';': // not a list of types after all
		d.generic = 0
		d.other(c)
	}
}

// greater handles a >. It reports whether the word before the < becomes the last word again.
func (d *definer) greater(last byte) bool {
	switch {
	case last == '=':
		d.fatArrow()
	case d.angle > 0 && last != '-':
		if d.angle--; d.angle == 0 {
			if d.x.lang == C && d.pending > d.angled { // template <class T>
				d.pending = -1
			}
			d.lastWord = d.angled
			return true
		}
	}
	return false
}

// fatArrow handles =>.
func (d *definer) fatArrow() {
	switch d.x.lang {
	case JavaScript: // name = (…) =>
		if d.paren > 0 {
			return
		}
		if d.assigned = d.before; d.assigned >= 0 && d.open() {
			d.define(d.assigned, true)
			d.assigned, d.before, d.candidate = -1, -1, -1
			d.blockNext = true
		}
	case CSharp: // int Twice(int x) => x * 2;
		if d.held >= 0 && d.open() {
			d.define(d.held, true)
		}
		d.held = -1
	}
}
