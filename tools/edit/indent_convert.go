package edit

import "strings"

// canConvert reports whether some width of a tab explains the evidence.
func (in *indents) canConvert(seen []seenIndent) bool {
	for u := 1; u <= maxUnit; u++ {
		if _, ok := depth(seen, u); ok {
			return hasTab(seen)
		}
	}
	return false
}

const maxUnit = 8

func hasTab(seen []seenIndent) bool {
	for _, s := range seen {
		if strings.ContainsRune(s.model, '\t') || strings.ContainsRune(s.file, '\t') {
			return true
		}
	}
	return false
}

// depth returns the number of columns by which the file is indented deeper than the model if a tab
// is u columns, provided that it is the same on every line.
func depth(seen []seenIndent, u int) (int, bool) {
	d := 0
	for k, s := range seen {
		x := columns(s.file, u) - columns(s.model, u)
		if k > 0 && x != d {
			return 0, false
		}
		d = x
	}
	return d, true
}

// convert translates x by the widths of a tab that explain the evidence. It prefers those that need
// no change of depth, if there are any, and the width suggested by the usual indentation of the
// model or the file, if it is among them. All remaining widths must agree.
func (in *indents) convert(seen []seenIndent, x string) (string, bool) {
	if in.file.mixed && strings.ContainsRune(x, '\t') {
		return "", false // perhaps the line is one of those with tabs
	}
	var level, shifted []int
	likely := 0
	for u := 1; u <= maxUnit; u++ {
		d, ok := depth(seen, u)
		switch {
		case !ok:
			continue
		case d == 0:
			level = append(level, u)
		default:
			shifted = append(shifted, u)
		}
		if u == in.likelyUnit() {
			likely = u
		}
	}
	units := level
	if len(units) != 1 && likely > 0 {
		units = nil // the evidence does not show it
	} else if len(units) == 0 {
		units = shifted
	}
	if likely > 0 {
		units = append(units, likely)
	}
	result, found := "", false
	for _, u := range units {
		d, _ := depth(seen, u)
		y, ok := in.write(columns(x, u)+d, u)
		if !ok || found && y != result {
			return "", false
		}
		result, found = y, true
	}
	return result, found
}

// likelyUnit returns the width of one step: the model's spaces if the file uses tabs, the file's
// spaces if it uses spaces.
func (in *indents) likelyUnit() int {
	if in.file.char == '\t' {
		return in.unit
	}
	return in.file.width
}

// write returns an indentation of n columns in the file's style.
func (in *indents) write(n, u int) (string, bool) {
	switch {
	case n < 0:
		return "", false
	case in.file.char == ' ':
		return strings.Repeat(" ", n), true
	case in.file.char == '\t' && n%u == 0:
		return strings.Repeat("\t", n/u), true
	}
	return "", false
}

// scale explains evidence in which both model and file indent with spaces, in steps of different
// width.
func scale(seen []seenIndent) indentRule {
	num, den, steps := 0, 0, map[int]bool{}
	for _, s := range seen {
		m, f := len(s.model), len(s.file)
		if strings.Trim(s.model+s.file, " ") != "" || (m == 0) != (f == 0) {
			return nil
		}
		if m == 0 {
			continue
		}
		if num == 0 {
			num, den = f, m
		}
		if f*den != m*num {
			return nil
		}
		steps[m] = true
	}
	if len(steps) < 2 { // a single step could also be a shift
		return nil
	}
	return func(x string) (string, bool) {
		if strings.Trim(x, " ") != "" || len(x)*num%den != 0 {
			return "", false
		}
		return strings.Repeat(" ", len(x)*num/den), true
	}
}

// columns returns the width of an indentation if a tab is u columns.
func columns(s string, u int) int { return len(s) + (u-1)*strings.Count(s, "\t") }
