package edit

import (
	"fmt"
	"slices"
	"strings"
)

// placement is a hunk with the places where it may go.
type placement struct {
	old, new   []string
	steps      []step
	lead, tail int   // context lines before the first and after the last change
	at         []int // the lines (from 0) at which its old lines may begin, in ascending order; a single one, once it is settled
	level      level
	note       string
}

// core returns the range of lines of the file that the hunk changes. Context may overlap that of
// other hunks; cores may not.
func (p *placement) core() (start, end int) { return p.coreAt(p.at[0]) }

func (p *placement) coreAt(at int) (start, end int) { return at + p.lead, at + len(p.old) - p.tail }

// newPlacement splits a hunk into context and changes.
func newPlacement(lines []patchLine) placement {
	var p placement
	for _, l := range lines {
		s := step{-1, -1}
		if l.op != '+' {
			s.old = len(p.old)
			p.old = append(p.old, l.text)
		}
		if l.op != '-' {
			s.new = len(p.new)
			p.new = append(p.new, l.text)
		}
		p.steps = append(p.steps, s)
	}
	for p.lead < len(lines) && lines[p.lead].op == ' ' {
		p.lead++
	}
	for p.tail < len(lines) && lines[len(lines)-1-p.tail].op == ' ' {
		p.tail++
	}
	return p
}

// candidates finds the places where a hunk may go, judging by the hunk alone.
func (t *target) candidates(h *patchHunk) (placement, *Error) {
	p := newPlacement(h.lines)
	if len(p.old) == 0 {
		return t.insertion(h, p)
	}
	find := t.strongest
	if h.eof {
		find = t.strongestAtEnd
	}
	p.level, p.at = find(p.old)
	if len(p.at) == 0 {
		if q := newPlacement(peelContext(h.lines)); len(q.old) > 0 && len(q.old) < len(p.old) {
			if q.level, q.at = find(q.old); len(q.at) > 0 {
				p = q
			}
		}
	}
	if len(p.at) == 0 && !h.plain {
		if u, err := t.unescapeHunk(h); u != nil || err != nil {
			if u != nil {
				return *u, nil
			}
			return p, err
		}
	}
	if h.eof && len(p.at) == 0 {
		if _, at := t.strongest(p.old); len(at) > 0 {
			return p, notAtEnd(at)
		}
	}
	if len(p.at) == 0 || allBlank(p.old) && len(p.at) > 1 && len(h.anchors) == 0 && !h.eof {
		return p, t.hunkNotFound(p)
	}
	if err := t.escapedNew(strings.Join(p.old, lf), strings.Join(p.new, lf), strings.Join(p.added(), lf)); err != nil {
		return p, err
	}
	if p.level > levelExact {
		p.note = "matched " + levelWords[p.level]
	}
	if err := t.byAnchors(h, &p); err != nil {
		return p, err
	}
	if p.level >= levelTrim && len(p.at) == 1 {
		if other := t.rival(p.old, p.at[0]); other > 0 {
			return p, rivalry(p.at[0]+1, other)
		}
	}
	return p, nil
}

// maxTrailing is the number of blank lines that may follow the last place that strongestAtEnd
// tries.
const maxTrailing = 64

// strongestAtEnd finds the place of pat at the end of the file, at the first level that has one.
// Only blank lines may follow.
func (t *target) strongestAtEnd(pat []string) (level, []int) {
	last := len(t.lines) - len(pat)
	for l := levelExact; l < levels; l++ {
		for i := last; i >= 0 && last-i <= maxTrailing; i-- {
			if sameAll(l, t.lines[i:], pat) {
				return l, []int{i}
			}
			if !blank(t.lines[i+len(pat)-1].text) {
				break
			}
		}
	}
	return 0, nil
}

func notAtEnd(at []int) *Error {
	return &Error{Kind: NotFound, Lines: lineNumbers(at),
		Detail: fmt.Sprintf("the hunk ends with %s, but its lines are at %s and not at the end of the file", eofMark, places(lineNumbers(at))),
		Advice: "Leave out " + eofMark + ", or give the last lines of the file as context"}
}

// hunkNotFound explains the refusal of a hunk whose old lines do not occur.
func (t *target) hunkNotFound(p placement) *Error {
	if len(p.at) > 1 {
		return hunkAmbiguous(lineNumbers(p.at), "")
	}
	r := Replacement{Old: strings.Join(p.old, lf), New: strings.Join(p.new, lf)}
	e := t.notFound(r)
	e.Detail = strings.Replace(e.Detail, "the old text", "the text of the hunk (its context and - lines)", 1)
	return e
}

func hunkAmbiguous(lines []int, how string) *Error {
	return &Error{Kind: Ambiguous, Lines: lines,
		Detail: fmt.Sprintf("the hunk fits at %s%s", places(lines), how),
		Advice: "Add context lines, or an @@ line with the function or class it is in, until it fits one place only"}
}

// insertion places a hunk that has only new lines: at the end of the file, before an empty last
// line, as the reference implementation does. After an @@ line the hunk must belong there, because
// other implementations place it elsewhere.
func (t *target) insertion(h *patchHunk, p placement) (placement, *Error) {
	if len(h.anchors) > 0 && !h.eof && len(t.lines) > 0 {
		scopes, err := t.scopes(h.anchors)
		if err != nil {
			return p, err
		}
		if len(scopes) != 1 || !t.reachesEnd(scopes[0], p.new) {
			return p, &Error{Kind: Malformed, Detail: "the hunk has + lines only, so it does not say on which side of what they go",
				Advice: "Give the line before or after the new lines as a context line (with a space in front)"}
		}
	}
	end := len(t.lines)
	if end > 0 && t.lines[end-1].text == "" {
		end--
	}
	p.at = []int{end}
	if !h.eof && len(t.lines) > 0 {
		p.note = "has no context; its lines were added at the end of the file"
	}
	return p, nil
}

// reachesEnd reports whether new lines for the block of sc go to the end of the file, whether they
// are meant for the end of the block or for behind it.
func (t *target) reachesEnd(sc scope, added []string) bool {
	if !t.atEnd(sc.end) {
		return false
	}
	depth, first := len(indentOf(t.lines[sc.start].text)), firstLine(added)
	if first >= 0 && len(indentOf(added[first])) <= depth {
		return true
	}
	for _, l := range slices.Backward(t.lines) {
		if !blank(l.text) {
			return len(indentOf(l.text)) > depth || sc.start == len(t.lines)-1
		}
	}
	return false
}

// peelContext removes the blank context lines at both ends.
func peelContext(ls []patchLine) []patchLine {
	for len(ls) > 0 && ls[0].op == ' ' && blank(ls[0].text) {
		ls = ls[1:]
	}
	for len(ls) > 0 && ls[len(ls)-1].op == ' ' && blank(ls[len(ls)-1].text) {
		ls = ls[:len(ls)-1]
	}
	return ls
}

// atEnd reports whether only blank lines follow from line i on.
func (t *target) atEnd(i int) bool {
	for _, l := range t.lines[i:] {
		if !blank(l.text) {
			return false
		}
	}
	return true
}

// byAnchors reduces the places to those that the @@ lines allow: after the line they name and, if
// that leaves several, within the block that the line opens.
func (t *target) byAnchors(h *patchHunk, p *placement) *Error {
	if len(h.anchors) == 0 {
		return nil
	}
	scopes, err := t.scopes(h.anchors)
	if err != nil {
		return err
	}
	var after, within []int
	for _, s := range p.at {
		isAfter := slices.ContainsFunc(scopes, func(sc scope) bool { return sc.start < s+len(p.old) })
		isWithin := slices.ContainsFunc(scopes, func(sc scope) bool { return sc.start < s+len(p.old) && s < sc.end })
		if isAfter {
			after = append(after, s)
		}
		if isWithin {
			within = append(within, s)
		}
	}
	switch {
	case len(after) == 0:
		return &Error{Kind: NotFound, Lines: lineNumbers(p.at), Detail: fmt.Sprintf("the hunk fits at %s, but not after its @@ line (%s)",
			places(lineNumbers(p.at)), visible(h.anchors[len(h.anchors)-1])), Advice: "Give the @@ line that comes before that place, or other context"}
	case len(after) > 1 && len(within) > 0:
		p.at = within
	default:
		p.at = after
	}
	return nil
}

// scope is a line with the end of the block it opens, judging by indentation.
type scope struct{ start, end int }

// maxScopes is the maximum number of lines that an @@ line may match; with more it is of no use.
const maxScopes = 100

// scopes finds the places of the last of the anchors. Each anchor comes after the previous one,
// inside its block if it occurs there.
func (t *target) scopes(anchors []string) ([]scope, *Error) {
	out := []scope{{-1, len(t.lines)}}
	for _, a := range anchors {
		lines := t.anchorLines(a)
		if len(lines) > maxScopes {
			return nil, &Error{Kind: Ambiguous, Lines: lineNumbers(lines[:maxListed]), Detail: fmt.Sprintf("more than %d lines of the file are the @@ line %s", maxScopes, visible(a)),
				Advice: "Name a line that is not everywhere, such as the head of the function"}
		}
		var next []scope
		for _, outer := range out {
			inner := slices.DeleteFunc(slices.Clone(lines), func(i int) bool { return i <= outer.start || i >= outer.end })
			if len(inner) == 0 {
				inner = slices.DeleteFunc(slices.Clone(lines), func(i int) bool { return i <= outer.start })
			}
			for _, i := range inner {
				if !slices.ContainsFunc(next, func(sc scope) bool { return sc.start == i }) {
					next = append(next, scope{i, t.blockEnd(i)})
				}
			}
		}
		if len(next) == 0 {
			return nil, &Error{Kind: NotFound, Detail: "no line of the file is the @@ line " + visible(a), Near: nearest(t.lines, []string{a}),
				Advice: "Copy the @@ line from the file, or leave it out if the context is unique"}
		}
		out = next
	}
	return out, nil
}

// anchorLines finds the lines that an @@ line names. It looks for lines that are equal except for
// white space, then except for punctuation look-alikes, then lines that begin with it, then lines
// that contain it. It stops after maxScopes+1 lines.
func (t *target) anchorLines(a string) []int {
	folded := fold(a)
	for _, fits := range []func(string) bool{
		func(l string) bool { return l == a },
		func(l string) bool { return fold(l) == folded },
		func(l string) bool { return strings.HasPrefix(l, a) },
		func(l string) bool { return len(a) > 2 && strings.Contains(l, a) },
	} {
		var out []int
		for i := range t.lines {
			if len(out) <= maxScopes && fits(trimLeft(trimRight(t.lines[i].text))) {
				out = append(out, i)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// blockEnd returns the line after the block that line i opens: all lines with deeper indentation,
// and lines of brackets at the depth of line i.
func (t *target) blockEnd(i int) int {
	depth := len(indentOf(t.lines[i].text))
	for j := i + 1; j < len(t.lines); j++ {
		l := t.lines[j].text
		if blank(l) || len(indentOf(l)) > depth {
			continue
		}
		if s := trimLeft(l); len(indentOf(l)) == depth && strings.IndexByte("{})]", s[0]) >= 0 {
			continue
		}
		return j
	}
	return len(t.lines)
}

// settle chooses one place for every hunk. Hunks that fit in only one place each may come in any
// order. Otherwise the hunks must be in the order of the patch, and there must be only one way to
// place them. bad is the hunk that an error is about.
func settle(ps []placement) (order []int, bad int, err *Error) {
	order = make([]int, len(ps))
	alone := true
	for i := range ps {
		order[i] = i
		alone = alone && len(ps[i].at) == 1
	}
	if !alone {
		if bad, err := byOrder(ps); err != nil {
			return nil, bad, err
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, aEnd := ps[i].core()
		b, bEnd := ps[j].core()
		if a != b {
			return a - b
		}
		return aEnd - bEnd
	})
	for k := 1; k < len(order); k++ {
		start, _ := ps[order[k]].core()
		if _, end := ps[order[k-1]].core(); start < end {
			return nil, order[k], &Error{Kind: Conflict, Lines: []int{start + 1},
				Detail: fmt.Sprintf("the hunk changes line %d, which hunk %d changes too", start+1, order[k-1]+1),
				Advice: "Join the two hunks into one"}
		}
	}
	return order, 0, nil
}

// byOrder places the hunks one after another, once as early and once as late as possible. Only if
// both agree, there is just one way to place them.
func byOrder(ps []placement) (bad int, err *Error) {
	early := make([]int, len(ps))
	end := 0
	for i := range ps {
		k := slices.IndexFunc(ps[i].at, func(at int) bool { s, _ := ps[i].coreAt(at); return s >= end })
		if k < 0 {
			return i, hunkAmbiguousOrLate(ps[i], end)
		}
		early[i] = ps[i].at[k]
		_, end = ps[i].coreAt(early[i])
	}
	start := int(^uint(0) >> 1)
	late := make([]int, len(ps))
	for i := len(ps) - 1; i >= 0; i-- {
		for k := len(ps[i].at) - 1; k >= 0; k-- {
			if s, e := ps[i].coreAt(ps[i].at[k]); e <= start {
				late[i], start = ps[i].at[k], s
				break
			}
		}
	}
	for i := range ps {
		if early[i] != late[i] {
			at := slices.DeleteFunc(slices.Clone(ps[i].at), func(s int) bool { return s < early[i] || s > late[i] })
			return i, hunkAmbiguous(lineNumbers(at), "")
		}
	}
	for i := range ps {
		ps[i].at = early[i : i+1]
	}
	return 0, nil
}

// hunkAmbiguousOrLate explains that a hunk only fits before the hunks that precede it.
func hunkAmbiguousOrLate(p placement, end int) *Error {
	if len(p.at) > 1 {
		return hunkAmbiguous(lineNumbers(p.at), fmt.Sprintf(", all of them before line %d, where the hunk before it ends", end+1))
	}
	return &Error{Kind: NotFound, Lines: lineNumbers(p.at),
		Detail: fmt.Sprintf("the hunk fits at line %d only, which is before the hunks that precede it", p.at[0]+1),
		Advice: "Give the hunks in the order of the file"}
}

// renderHunk returns the new lines for the part of the window that the hunk changes.
func (t *target) renderHunk(p *placement) ([]line, *Error) {
	how := relative
	start, end := p.core()
	var in *indents
	var all evidence
	if p.level >= levelTrim {
		window := t.lines[p.at[0] : p.at[0]+len(p.old)]
		in = newIndents(window, p.old, p.new, t.habits(window))
		all = readHunk(window, p)
		switch {
		case in.lostMarker(p.added()):
			how = absolute
		case in.scattered():
			how = in.readScattered(all, p.added())
		default:
			how = all.verdict()
		}
	}
	if p.level == levelRightPunct || p.level == levelTrimPunct {
		if r := prettified(t.lines[p.at[0]:], p.old, p.added()); r != 0 {
			return nil, prettyError(p.at[0]+1, r)
		}
	}
	return t.settleReading(how, all, start, end, func(how reading) ([]line, *Error) { return t.renderHunkAs(how, in, p) })
}

// renderHunkAs is renderHunk with the new lines read as how says.
func (t *target) renderHunkAs(how reading, in *indents, p *placement) ([]line, *Error) {
	start := p.at[0]
	window := t.lines[start : start+len(p.old)]
	r := &renderer{window: window, old: p.old, new: p.new, level: p.level, eol: t.eol}
	if p.level >= levelTrim && !r.setIndent(how, in) {
		return nil, unclearIndent(start+1, oddIndent)
	}
	out, bad := r.render(p.steps)
	if bad >= 0 {
		return nil, unclearIndent(start+1, cannotIndent(p.new[bad]))
	}
	return out[p.lead : len(out)-p.tail], nil
}

// added returns the lines that only the new side has.
func (p *placement) added() []string {
	var out []string
	for _, s := range p.steps {
		if s.old < 0 {
			out = append(out, p.new[s.new])
		}
	}
	return out
}

// unescapeHunk tries a hunk with its HTML entities undone. It returns nil if that does not help.
func (t *target) unescapeHunk(h *patchHunk) (*placement, *Error) {
	p := newPlacement(h.lines)
	old, added, sure := strings.Join(p.old, lf), strings.Join(p.added(), lf), true
	for range maxRounds {
		u := unescapeRound(old, added)
		plain := h.withText(u.old, u.new)
		if len(u.chars) == 0 || plain == nil {
			return nil, nil
		}
		q, err := t.candidates(plain)
		if err == nil {
			if why := t.entityDoubt(u.chars, sure && u.sure); why != "" {
				return nil, &Error{Kind: OverEscaped, Detail: "the hunk matches once its HTML entities are undone, but " + why, Advice: plainAdvice}
			}
			q.note = strings.TrimPrefix(q.note+"; "+entityNote(u.chars), "; ")
			return &q, nil
		}
		if err.Kind != NotFound && err.Kind != AlreadyApplied && err.Kind != Elided && err.Kind != OverEscaped {
			return nil, err
		}
		sure = sure && u.further(added)
		old, added = u.old, u.next
	}
	return nil, nil
}

// withText returns the hunk with other old and new lines, or nil if their number differs.
func (h *patchHunk) withText(old, added string) *patchHunk {
	out := *h
	out.plain = true
	out.lines = make([]patchLine, len(h.lines))
	olds, news := strings.Split(old, lf), strings.Split(added, lf)
	for i, l := range h.lines {
		from := &olds
		if l.op == '+' {
			from = &news
		}
		if len(*from) == 0 {
			return nil
		}
		out.lines[i], *from = patchLine{l.op, (*from)[0]}, (*from)[1:]
	}
	if left := strings.Join(append(olds, news...), ""); left != "" {
		return nil
	}
	return &out
}
