package edit

import (
	"strconv"
	"strings"
)

// numberStyle is how a tool that shows files separates the line number from the line.
type numberStyle struct {
	sep string
	// sure reports that source code hardly ever begins like this, so that a line with this prefix
	// is recognised as a copy even among lines without it.
	sure bool
}

var numberStyles = [...]numberStyle{{"\t", true}, {"→", true}, {"|", true}, {": ", false}, {":", false}}

// numbered strips the line numbers that a file viewer put before every line of the old text, and
// tries again. The numbers of the old text must increase by one per line; those of the new text do
// not matter.
func (t *target) numbered(r Replacement) (*found, error) {
	p, _ := peel(r)
	style, old, ok := stripCounting(p.Old)
	if !ok {
		return nil, nil
	}
	lines := strings.Split(p.New, lf)
	stripped, nonBlank := 0, 0
	for i, l := range lines {
		if blank(l) {
			continue
		}
		nonBlank++
		if _, rest, ok := cutNumber(l, style); ok {
			lines[i] = rest
			stripped++
		}
	}
	if stripped > 0 && stripped < nonBlank && !style.sure {
		return nil, nil
	}
	f, err := t.plain(Replacement{Old: old, New: strings.Join(lines, lf), All: r.All})
	if f != nil {
		f.strategy = "line-numbers+" + f.strategy
		f.notes = append(f.notes, "line numbers before the lines were removed; leave them out next time")
	}
	return f, err
}

// stripCounting strips the numbers if every line has one, in one style, each one more than that of
// the previous line.
func stripCounting(s string) (numberStyle, string, bool) {
	lines := strings.Split(s, lf)
styles:
	for _, style := range numberStyles {
		out := make([]string, len(lines))
		last := 0
		for i, l := range lines {
			n, rest, ok := cutNumber(l, style)
			if !ok || i > 0 && n != last+1 {
				continue styles
			}
			last, out[i] = n, rest
		}
		if allBlank(out) {
			continue
		}
		return style, strings.Join(out, lf), true
	}
	return numberStyle{}, "", false
}

// cutNumber cuts "  12<sep>" off a line. A bare number is the prefix of an empty line.
func cutNumber(l string, style numberStyle) (n int, rest string, ok bool) {
	s := strings.TrimPrefix(strings.TrimLeft(l, " "), "L")
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 7 {
		return 0, "", false
	}
	n, _ = strconv.Atoi(s[:digits])
	s = s[digits:]
	if style.sep == "|" {
		s = strings.TrimLeft(s, " ")
	}
	if rest, ok = strings.CutPrefix(s, style.sep); ok {
		if style.sep == "|" {
			rest = strings.TrimPrefix(rest, " ")
		}
		return n, rest, true
	}
	return n, "", blank(s) || strings.TrimSpace(s) == strings.TrimSpace(style.sep)
}
