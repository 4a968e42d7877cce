package trigram

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// info is what is known of the matches of an expression, as folded text. Where texts is set, it is
// all of them. Else every match starts with one of heads, ends with one of tails, and the document
// around it holds need.
type info struct {
	finite bool
	texts  []string // if finite; none of them: nothing can match
	heads  []string // if not finite; "" among them: nothing is known
	tails  []string
	need   *node
}

const (
	maxTexts   = 64   // of one expression; more are known by their heads and tails only
	maxClass   = 64   // characters of a class, folded
	maxText    = 4096 // bytes of all texts together
	maxRepeats = 16   // of one expression that are looked at one by one
)

var (
	unknown = info{heads: []string{""}, tails: []string{""}, need: all}
	empty   = info{finite: true, texts: []string{""}}
)

func finite(texts ...string) info {
	slices.Sort(texts)
	return info{finite: true, texts: slices.Compact(texts)}
}

// analyze finds out about re. Where nothing of the match can lie before (first) or behind it
// (last), it may start or end with the newline beside the match.
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
		if last { // who searches line by line may not count a carriage return as part of one
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
	return unknown // any character; any number of something
}

func sequence(subs []*syntax.Regexp, first, last bool) info {
	out := empty
	ends := 0 // from here on nothing matches text
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

// zeroWidth reports that re never matches text.
func zeroWidth(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}

// literal is text as it stands in a pattern. U+FFFD matches bytes that are not UTF-8, too.
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

// class is one of the characters between pairs of first and last.
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

// repeated is something min times or more, up to max; a max below 0 is no bound.
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
		// Whatever follows, the last of it is one more.
		out = out.then(unknown)
		out.tails = one.ends().tails
	}
	return out
}

// oneOf is what is known where one of several matches.
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

// then is what is known where a and behind it b matches.
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
	// Where the two meet. A finite side is whole there, so that its own trigrams are among these.
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

// joint are the texts that end (or start) a match, as long as they are known.
func (a info) joint(atEnd bool) []string {
	switch {
	case a.finite:
		return a.texts
	case atEnd:
		return a.tails
	}
	return a.heads
}

// ends is the same knowledge without the texts themselves.
func (a info) ends() info {
	if !a.finite {
		return a
	}
	return info{heads: shortened(a.texts, head), tails: shortened(a.texts, tail), need: requirement(a.texts)}
}

// requirement is what a document must hold that holds one of the texts.
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

// trigrams are the different ones of a text, ascending.
func trigrams(s string) []uint32 {
	var out []uint32
	for i := 2; i < len(s); i++ {
		out = append(out, uint32(s[i-2])<<16|uint32(s[i-1])<<8|uint32(s[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
