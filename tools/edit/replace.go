package edit

import (
	"fmt"
	"strings"
)

// Replacement is one edit of one file, as requested by a model.
type Replacement struct {
	// Old is the text to find. It need not consist of whole lines. It must occur in the file
	// exactly once, unless All is set.
	Old string
	// New is the text to put in its place. It is literal: "$1", "\1" and similar have no special
	// meaning.
	New string
	// All replaces every occurrence instead of requiring that there is only one.
	All bool
	// Base is the whole text of the file as the model was last shown it, if the host knows it. If
	// the file has changed since, Old is searched for in Base and the edit is merged into the
	// current file.
	Base string
}

// Result is an edit that was made.
type Result struct {
	// Content is the whole new text of the file.
	Content string
	// Strategy is the name of the step that found the place: "exact" or one of those in the package
	// comment.
	Strategy string
	// Notes describe in words what was done beyond replacing the exact text, for the model to read.
	// They are empty for an exact edit.
	Notes []string
	// Count is the number of places that were replaced.
	Count int
	// Line and EndLine are the first and last line (from 1) of the new text at the first place, in
	// Content. If text was only deleted there, EndLine is Line-1.
	Line, EndLine int
}

// change replaces bytes a to b of a text.
type change struct {
	a, b int
	text string
}

// found is the place of an edit and what it writes there.
type found struct {
	changes  []change // in ascending order, not overlapping
	strategy string
	notes    []string
}

// Replace makes one edit in a text. It either makes the intended edit or fails with an [*Error] and
// changes nothing; the package comment lists the steps by which it finds the place.
//
// A byte order mark, CRLF and mixed line endings, and a missing final newline stay unchanged in
// content, whatever Old and New use. An empty Old is refused, except in an empty file, which New
// then fills.
func Replace(content string, r Replacement) (Result, error) {
	body, mark := cutBOM(content)
	if strings.HasPrefix(r.Old, bom) {
		r.Old, r.New = r.Old[len(bom):], strings.TrimPrefix(r.New, bom)
	}
	switch {
	case r.Old == r.New:
		return Result{}, refuse(NoOp, "the old and the new text are the same", "Send the text you want to have as the new text")
	case r.Old == "" && body == "":
		return finish(mark, body, found{changes: []change{{0, 0, r.New}}, strategy: "empty-file"})
	case r.Old == "":
		return Result{}, refuse(Empty, "the old text is empty, so there is nothing to look for",
			"Give the text to replace; to insert, give the line before or after and repeat it in the new text")
	}
	if onlyCR(body) {
		return replaceCR(mark, body, r)
	}
	r, err := sameEndings(body, r)
	if err != nil {
		return Result{}, err
	}
	if base, _ := cutBOM(r.Base); base != "" && toLF(base) != toLF(body) {
		return replaceInBase(mark, body, base, r)
	}
	f, err := resolve(body, r)
	if err != nil {
		return Result{}, err
	}
	return finish(mark, body, f)
}

func cutBOM(s string) (body, mark string) {
	if strings.HasPrefix(s, bom) {
		return s[len(bom):], bom
	}
	return s, ""
}

// refuse returns the error of a replacement.
func refuse(k Kind, detail, advice string) *Error {
	return &Error{Op: "replace", Kind: k, Detail: detail, Advice: advice}
}

// finish applies the changes.
func finish(mark, body string, f found) (Result, error) {
	var b strings.Builder
	size := len(mark) + len(body)
	for _, c := range f.changes {
		size += len(c.text) - (c.b - c.a)
	}
	b.Grow(size)
	b.WriteString(mark)
	at := 0
	for _, c := range f.changes {
		b.WriteString(body[at:c.a])
		b.WriteString(c.text)
		at = c.b
	}
	b.WriteString(body[at:])
	res := Result{Content: b.String(), Strategy: f.strategy, Notes: f.notes, Count: len(f.changes)}
	first := f.changes[0]
	res.Line = lineAt(body, first.a)
	res.EndLine = res.Line + strings.Count(strings.TrimSuffix(first.text, lf), lf)
	if first.text == "" {
		res.EndLine = res.Line - 1
	}
	if res.Content[len(mark):] == body {
		e := refuse(NoOp, fmt.Sprintf("the file has the new text already at line %d", res.Line), "Go on; there is nothing to change here")
		e.Lines = []int{res.Line}
		return Result{}, e
	}
	return res, nil
}

// resolve tries all the steps in order.
func resolve(body string, r Replacement) (found, error) {
	t := target{body: body, lf: toLF(body)}
	f, err := t.byteForByte(r)
	r.Old, r.New = toLF(r.Old), toLF(r.New)
	for _, step := range []func(Replacement) (*found, error){t.plain, t.numbered, t.escaped, t.agreed} {
		if f == nil && err == nil {
			f, err = step(r)
		}
	}
	if f != nil && err == nil && strings.IndexByte(r.New, '&') >= 0 {
		if e := t.escapedNew(r.Old, r.New, r.New); e != nil {
			return found{}, e
		}
	}
	if f == nil && err == nil {
		f, err = t.unescapedHTML(r)
	}
	if f != nil || err != nil {
		return deref(f), err
	}
	return found{}, t.notFound(r)
}

func deref(f *found) found {
	if f == nil {
		return found{}
	}
	return *f
}

// target is the text to edit, without its byte order mark.
type target struct {
	body   string
	lf     string // body with LF line endings
	not    string // a text that is known not to occur in lf
	lines  []line // body split into lines, once needed
	eol    string // the line ending of most lines, once lines are set
	unit   *fileUnit
	shapes *shapes
	index  map[string][]int // positions of each line, by its text at the weakest level; nil if there is no index
}

func (t *target) split() []line {
	if t.lines == nil {
		t.lines = splitLines(t.body)
		t.eol = mainEOL(t.lines)
	}
	return t.lines
}

// byteForByte handles cases in which line endings must not be normalised: a file without CRLF, and
// an edit whose purpose is to change line endings.
func (t *target) byteForByte(r Replacement) (*found, error) {
	if len(t.lf) != len(t.body) && toLF(r.Old) != toLF(r.New) {
		return nil, nil
	}
	at := occurrences(t.body, r.Old)
	if len(at) > 0 {
		return t.exactly(t.body, at, r)
	}
	if len(t.lf) == len(t.body) {
		t.not = r.Old
	}
	return nil, nil
}

// plain tries the steps for old and new as they are.
func (t *target) plain(r Replacement) (*found, error) {
	if r.Old != t.not {
		if at := occurrences(t.lf, r.Old); len(at) > 0 {
			return t.exactly(t.lf, at, r)
		}
	}
	p, peeled := peel(r)
	if peeled.any() {
		if at := peeled.filter(t.lf, p.Old, occurrences(t.lf, p.Old)); len(at) > 0 {
			if other := t.withBorders(r.Old, p.Old, lineAt(t.lf, at[0])); other > 0 && !r.All {
				return nil, ambiguousAt([]int{lineAt(t.lf, at[0]), other}, ", once without its blank lines and once with other white space or punctuation")
			}
			f, err := t.exactly(t.lf, at, p)
			if f != nil {
				f.strategy = "blank-borders"
				f.notes = append(f.notes, "blank lines around the old and the new text were left out")
			}
			return f, err
		}
	}
	return t.byLines(p)
}

// exactly replaces r.Old at its places in view, which is body or its LF form.
func (t *target) exactly(view string, at []int, r Replacement) (*found, error) {
	if len(at) > 1 && !r.All {
		return nil, ambiguous(view, at, "")
	}
	if err := cutFirstLine(view, at[0], r); err != nil {
		return nil, err
	}
	f := &found{strategy: "exact"}
	raw := offsets{raw: t.body}
	for _, i := range apart(at, len(r.Old)) {
		c := change{i, i + len(r.Old), r.New}
		if m, ok := atIndent(view, i, r); ok {
			how := m.read()
			if how == relative && !r.All && t.likelyAtMargin(m, view, i) {
				how = unclear
			}
			switch how {
			case absolute:
				c.a -= len(m.cut)
				f.strategy = levelNames[levelTrim]
			case unclear:
				if !r.All && !t.literally(m, view, i) {
					return nil, m.indentError(lineAt(view, i))
				}
			}
		}
		if len(t.lf) != len(t.body) && len(view) == len(t.lf) {
			c.a, c.b = raw.of(c.a), raw.of(c.b)
			c.text = localEOL(t.body, c.a, c.b, r.Old, r.New)
		}
		f.changes = append(f.changes, c)
	}
	if r.All {
		f.notes = t.alsoNear(r, len(f.changes))
	}
	if f.strategy != "exact" {
		f.notes = append(f.notes, "the first line of the old text lacked indentation; the new text has that of the file and was written as it is")
	}
	if r.New != "" && strings.HasSuffix(r.Old, lf) && !strings.HasSuffix(r.New, lf) && at[0]+len(r.Old) < len(view) {
		f.notes = append(f.notes, "the old text ends with a newline and the new text does not, so the next line was joined to it")
	}
	return f, nil
}

// cutFirstLine refuses an exact match that begins behind the indentation of a line if the new text
// moves that line down: the line would lose its indentation.
func cutFirstLine(view string, at int, r Replacement) error {
	start := strings.LastIndexByte(view[:at], '\n') + 1
	first, rest, many := strings.Cut(r.Old, lf)
	if !many || blank(rest) || start == at || !blank(view[start:at]) || indentOf(first) != "" || blank(first) {
		return nil
	}
	lines := strings.Split(r.New, lf)
	if lines[0] == first {
		return nil
	}
	for _, l := range lines[1:] {
		if l == first {
			e := refuse(Indentation, fmt.Sprintf("the first line of the old text lacks the indentation it has in the file (line %d), and the new text moves it",
				lineAt(view, at)), "Repeat the edit with the full indentation on every line of both texts")
			e.Lines = []int{lineAt(view, at)}
			return e
		}
	}
	return nil
}

// alsoNear lists the places that an exact replacement of all occurrences left alone because they
// differ in white space.
func (t *target) alsoNear(r Replacement, replaced int) []string {
	old := splitBlock(r.Old)
	if allBlank(old.lines) {
		return nil
	}
	var near []int
	for _, i := range windows(levelTrimPunct, t.split(), old.lines) {
		if !same(levelExact, t.lines[i].text, old.lines[0]) {
			near = append(near, i+1)
		}
	}
	if len(near) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("replaced %d exact matches; similar text that differs in white space was left at %s", replaced, places(near))}
}

// ambiguous returns the error for a text found at several offsets of view.
func ambiguous(view string, at []int, how string) *Error {
	lines := make([]int, len(at))
	n, from := 1, 0
	for k, i := range at {
		n += strings.Count(view[from:i], lf)
		lines[k], from = n, i
	}
	return ambiguousAt(lines, how)
}

func ambiguousAt(lines []int, how string) *Error {
	e := refuse(Ambiguous, fmt.Sprintf("the old text is in the file %d times%s: %s", len(lines), how, places(lines)),
		"Add lines before or after to the old text until it is unique, or ask for all places to be replaced")
	e.Lines = lines
	return e
}
