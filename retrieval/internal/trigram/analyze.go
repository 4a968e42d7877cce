package trigram

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// info describes the matches of an expression, as folded text. If texts is set, it lists all
// matches. Otherwise every match starts with an element of heads, ends with an element of tails,
// and occurs in a document that satisfies need.
type info struct {
	finite bool
	texts  []string // if finite; an empty list means that nothing can match
	heads  []string // if not finite; "" among them means that nothing is known
	tails  []string
	need   *node
}

const (
	maxTexts   = 64   // maximum of texts of one expression; if there are more, only heads and tails are kept
	maxClass   = 64   // folded characters of a class
	maxText    = 4096 // total bytes of all texts
	maxRepeats = 16   // repetitions of an expression that are expanded one by one
)

var (
	unknown = info{heads: []string{""}, tails: []string{""}, need: all}
	empty   = info{finite: true, texts: []string{""}}
)

func finite(texts ...string) info {
	slices.Sort(texts)
	return info{finite: true, texts: slices.Compact(texts)}
}

// analyze analyses re. If first is true, nothing else of the match precedes re, and re may match
// the newline before it. If last is true, nothing else follows, and re may match the newline after
// it.
func analyze(re *syntax.Regexp, first, last bool) info {
	switch re.Op {
	case syntax.OpNoMatch:
		return finite()
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return empty
	case syntax.OpBeginLine, syntax.OpBeginText:
		if first {
			return finite("\n")
		}
		return empty
	case syntax.OpEndLine, syntax.OpEndText:
		if last { // a line-by-line search may not count a carriage return as part of the line
			return finite("\n", "\r")
		}
		return empty
	case syntax.OpLiteral:
		return literal(re.Rune)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return analyze(re.Sub[0], first, last)
	case syntax.OpConcat:
		return sequence(re.Sub, first, last)
	case syntax.OpAlternate:
		branches := make([]info, len(re.Sub))
		for i, sub := range re.Sub {
			branches[i] = analyze(sub, first, last)
		}
		return oneOf(branches...)
	case syntax.OpQuest:
		return oneOf(analyze(re.Sub[0], false, false), empty)
	case syntax.OpPlus:
		return repeated(analyze(re.Sub[0], false, false), 1, -1)
	case syntax.OpRepeat:
		return repeated(analyze(re.Sub[0], false, false), re.Min, re.Max)
	}
	return unknown // any character; any number of repetitions
}

func sequence(subs []*syntax.Regexp, first, last bool) info {
	out := empty
	ends := 0 // from here on, the remaining subexpressions match no text
	for i, sub := range subs {
		if !zeroWidth(sub) {
			ends = i + 1
		}
	}
	for i, sub := range subs {
		out = out.then(analyze(sub, first, last && i+1 >= ends))
		first = first && zeroWidth(sub)
	}
	return out
}

// zeroWidth reports whether re matches only empty text.
func zeroWidth(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}

// literal returns the info of literal text in a pattern. U+FFFD also matches bytes that are not
// UTF-8.
func literal(runes []rune) info {
	var text []byte
	out := empty
	for _, r := range runes {
		if r == utf8.RuneError {
			out = out.then(finite(string(text))).then(unknown)
			text = text[:0]
			continue
		}
		text = utf8.AppendRune(text, foldRune(r))
	}
	return out.then(finite(string(text)))
}

// class returns the info of one character out of the ranges in pairs.
func class(pairs []rune) info {
	var texts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		if hi-lo > 4*maxClass || lo <= utf8.RuneError && utf8.RuneError <= hi {
			return unknown
		}
		for r := lo; r <= hi; r++ {
			texts = append(texts, string(foldRune(r)))
		}
		if len(texts) > 16*maxClass {
			return unknown
		}
	}
	if out := finite(texts...); len(out.texts) <= maxClass {
		return out
	}
	return unknown
}

// repeated returns the info of min to max repetitions; a negative max means no limit.
func repeated(one info, min, max int) info {
	if min == 0 {
		if max == 0 {
			return empty
		}
		if max == 1 {
			return oneOf(one, empty)
		}
		return unknown
	}
	out := one
	n := 1
	for n < min && n < maxRepeats {
		out = out.then(one)
		n++
	}
	if n < min || max != min {
		// Whatever comes between, the match ends with one more repetition.
		out = out.then(unknown)
		out.tails = one.ends().tails
	}
	return out
}

// oneOf returns the info of an alternation.
func oneOf(branches ...info) info {
	var texts []string
	every := true
	for _, b := range branches {
		every = every && b.finite
		texts = append(texts, b.texts...)
	}
	if every {
		if out := finite(texts...); !out.tooMuch() {
			return out
		}
	}
	var out info
	var needs []*node
	for _, b := range branches {
		b = b.ends()
		out.heads = append(out.heads, b.heads...)
		out.tails = append(out.tails, b.tails...)
		needs = append(needs, b.need)
	}
	out.heads = fewer(out.heads, firstByte)
	out.tails = fewer(out.tails, lastByte)
	out.need = join(opOr, needs...)
	return out
}

// then returns the info of a followed by b.
func (a info) then(b info) info {
	if a.finite && b.finite {
		if out, ok := product(a.texts, b.texts); ok {
			return finite(out...)
		}
	}
	out := info{need: all}
	if a.finite {
		if heads, ok := product(a.texts, b.ends().heads); ok {
			out.heads = shortened(heads, head)
		}
	}
	if b.finite {
		if tails, ok := product(a.ends().tails, b.texts); ok {
			out.tails = shortened(tails, tail)
		}
	}
	// The texts at the seam between a and b. If a side is finite, its complete texts are used, so
	// that the trigrams within them are included.
	left, right := a.joint(true), b.joint(false)
	a, b = a.ends(), b.ends()
	if out.heads == nil {
		out.heads = a.heads
	}
	if out.tails == nil {
		out.tails = b.tails
	}
	out.need = join(opAnd, a.need, b.need)
	meet, ok := product(left, right)
	if !ok {
		meet, ok = product(shortened(left, tail), shortened(right, head))
	}
	if ok {
		out.need = join(opAnd, out.need, requirement(meet))
	}
	return out
}

// joint returns the known texts that end (or start) a match.
func (a info) joint(atEnd bool) []string {
	switch {
	case a.finite:
		return a.texts
	case atEnd:
		return a.tails
	}
	return a.heads
}

// ends returns the same information, with heads and tails instead of the texts.
func (a info) ends() info {
	if !a.finite {
		return a
	}
	return info{heads: shortened(a.texts, head), tails: shortened(a.texts, tail), need: requirement(a.texts)}
}

// requirement returns the condition that a document satisfies if it contains one of the texts.
func requirement(texts []string) *node {
	var parts []*node
	for _, s := range texts {
		if len(s) < 3 {
			return all
		}
		parts = append(parts, leaf(trigrams(s)))
	}
	return join(opOr, parts...)
}

// trigrams returns the distinct trigrams of a text, ascending.
func trigrams(s string) []uint32 {
	var out []uint32
	for i := 2; i < len(s); i++ {
		out = append(out, uint32(s[i-2])<<16|uint32(s[i-1])<<8|uint32(s[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
