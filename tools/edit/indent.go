package edit

import "strings"

// indents translates the indentation that a model wrote into that of the file. Its evidence is the
// matched window: for every non-blank line of the old text, how the model indented it and how the
// file does.
//
// One rule has to explain all the evidence: the same run of white space added or removed
// everywhere, tabs for spaces of one width (possibly at another depth), or a step of another width.
// If no single rule does, or if several rules explain the evidence but disagree about the line in
// question, the translation fails and the edit is refused. There is one exception, for a common
// mistake: a first line whose indentation was cut off while the other lines kept theirs.
type indents struct {
	seen []seenIndent
	unit int      // columns of one step if the model indents with spaces, 0 if unknown
	file fileUnit // the indentation of the file as a whole
	// cutFirst reports that the rule explains all the evidence except for the first line.
	cutFirst bool
	rule     indentRule
}

// seenIndent is one piece of evidence: line i of the old text.
type seenIndent struct {
	i           int
	model, file string
}

// indentRule translates one indentation. It is nil when there is no rule.
type indentRule func(string) (string, bool)

// newIndents gathers the evidence and finds the rule.
func newIndents(window []line, old, new []string, file fileUnit) *indents {
	in := &indents{file: file, unit: spaceUnit(old, new)}
	for i, o := range old {
		if !blank(o) {
			in.seen = append(in.seen, seenIndent{i, indentOf(o), indentOf(window[i].text)})
		}
	}
	in.rule = in.explain(in.seen)
	if in.rule == nil && len(in.seen) > 1 && in.seen[0].i == 0 && in.seen[0].model == "" && letters(old[0]) >= minWordLine {
		in.rule = in.explain(in.seen[1:])
		in.cutFirst = in.rule != nil
	}
	return in
}

// clear reports whether the evidence is consistent: a rule explains it, or the model left out all
// indentation. A window in which single lines are indented differently is not the text that the
// model saw; often a line with a brace is missing.
func (in *indents) clear() bool {
	if in.rule != nil {
		return true
	}
	for _, s := range in.seen {
		if s.model != "" {
			return false
		}
	}
	return true
}

// place describes where in the old text a new line belongs: before line at. run is the number of
// new lines inserted there together, and first reports whether the line is the first of the new
// text. margin reports that the line stands at the margin in any case.
type place struct {
	at, run       int
	first, margin bool
}

// translate returns the file's indentation for a new line that the model indented with x.
func (in *indents) translate(x string, p place) (string, bool) {
	y, ok := in.translated(x, p)
	if !ok || p.margin && y != "" {
		return "", false
	}
	return y, true
}

func (in *indents) translated(x string, p place) (string, bool) {
	if in.rule == nil {
		return in.alike(x, p)
	}
	if in.cutFirst && p.first {
		if s := in.seen[0]; s.model == x {
			return s.file, true
		}
		return "", false
	}
	y, ok := in.rule(x)
	if s := in.seen[0]; ok && in.cutFirst && s.model == x && s.file != y {
		return "", false // either cut off like the first line, or intended: there is no way to tell
	}
	return y, ok
}

// alike is the last resort if no rule explains the evidence: a single new line takes the
// indentation of the nearest old lines that the model indented in the same way, if those agree in
// the file too.
func (in *indents) alike(x string, p place) (string, bool) {
	if p.run > 1 {
		return "", false
	}
	var before, after *seenIndent
	for k := range in.seen {
		s := &in.seen[k]
		if s.model != x {
			continue
		}
		if s.i < p.at {
			before = s
		} else if after == nil {
			after = s
		}
	}
	switch {
	case before == nil && after == nil:
		return "", false
	case before == nil:
		return after.file, true
	case after == nil || after.file == before.file:
		return before.file, true
	}
	return "", false
}

// explain finds one rule for all of the evidence, or nil.
func (in *indents) explain(seen []seenIndent) indentRule {
	if len(seen) == 0 {
		return func(x string) (string, bool) { return x, in.fits("", x, false) }
	}
	native := sharesSpaces(seen)
	if add, ok := sameShift(seen, true); ok {
		return in.orConvert(seen, func(x string) (string, bool) { return add + x, in.fits(known(seen, x), x, native) })
	}
	if cut, ok := sameShift(seen, false); ok {
		own := in.file.char == '\t' && cut != "" && strings.Trim(cut, " ") == "" && hasTab(seen)
		return in.orConvert(seen, func(x string) (string, bool) {
			if own && strings.HasPrefix(x, cut) {
				return x[len(cut):], true // the model writes tabs where it means them
			}
			return strings.TrimPrefix(x, cut), strings.HasPrefix(x, cut) && in.fits(known(seen, x), x, native)
		})
	}
	if in.canConvert(seen) {
		return in.orConvert(seen, func(string) (string, bool) { return "", false })
	}
	return scale(seen)
}

// orConvert tries the plain rule first, then the conversion between tabs and spaces.
func (in *indents) orConvert(seen []seenIndent, plain indentRule) indentRule {
	return func(x string) (string, bool) {
		y, ok := plain(x)
		if ok {
			return y, true
		}
		if strings.Contains(x, "\t") && !hasTab(seen) {
			return "", false // a tab among spaces, which nothing explains
		}
		y, ok = in.convert(seen, x)
		for _, s := range seen {
			if s.model == x { // the evidence itself covers this case, and the rule must not contradict it
				return s.file, !ok || s.file == y
			}
		}
		return y, ok
	}
}

// sharesSpaces reports whether the model has copied indentation that consists of spaces in the file
// too, although the file usually uses tabs. Then the spaces of the model's other lines mean spaces
// too.
func sharesSpaces(seen []seenIndent) bool {
	for _, s := range seen {
		if strings.HasSuffix(s.model, "  ") && strings.HasSuffix(s.file, "  ") {
			return true
		}
	}
	return false
}

// sameShift finds the white space that the file has in addition to the model's (or, if more is
// false, that the model has in addition) at the start of every line.
func sameShift(seen []seenIndent, more bool) (string, bool) {
	shift := ""
	for k, s := range seen {
		long, short := s.file, s.model
		if !more {
			long, short = short, long
		}
		if !strings.HasSuffix(long, short) {
			return "", false
		}
		d := long[:len(long)-len(short)]
		if k > 0 && d != shift {
			return "", false
		}
		shift = d
	}
	return shift, true
}

// known returns the longest indentation in the evidence that is a prefix of x, or x itself if the
// evidence contains an indentation that x is a prefix of.
func known(seen []seenIndent, x string) string {
	best := ""
	for _, s := range seen {
		if strings.HasPrefix(s.model, x) {
			return x
		}
		if strings.HasPrefix(x, s.model) && len(s.model) > len(best) {
			best = s.model
		}
	}
	return best
}

// fits reports whether the part of x after the indentation base is white space of the kind that the
// file uses. A single space is alignment (the star of a comment block) and always fits; so do
// spaces after tabs if the file has them too, and spaces if they are native to the window.
func (in *indents) fits(base, x string, native bool) bool {
	more := x[len(base):]
	if len(more) == 0 || more == " " {
		return true
	}
	switch in.file.char {
	case '\t':
		return native || strings.HasPrefix(base, "\t") || strings.Trim(strings.TrimSuffix(more, " "), "\t") == ""
	case ' ':
		return strings.Trim(more, " ") == ""
	}
	return true
}
