package jsonrepair

import (
	"math/big"
	"regexp"
	"strings"
)

// literals are the spellings of JSON's literals in other languages.
var literals = map[string]string{
	"true": "true", "True": "true", "TRUE": "true",
	"false": "false", "False": "false", "FALSE": "false",
	"null": "null", "Null": "null", "NULL": "null", "None": "null", "nil": "null", "undefined": "null",
}

var (
	number      = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	looseNumber = regexp.MustCompile(`^([-+]?)(0|[1-9][0-9]*)?(\.([0-9]*))?([eE][-+]?[0-9]+)?$`)
	cutNumber   = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*)?([.eE]|[eE][-+])?$`)
	underscored = regexp.MustCompile(`^[-+]?[0-9]+(_[0-9]+)*(\.[0-9]+(_[0-9]+)*)?([eE][-+]?[0-9]+)?$`)
	otherBase   = regexp.MustCompile(`^[-+]?0([xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*|[oO][0-7]+(_[0-7]+)*|[bB][01]+(_[01]+)*)$`)
	openNumber  = regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.?[0-9]*|\.[0-9]+)[eE][-+]?$|^[-+]$`)
	zeros       = regexp.MustCompile(`^[-+]?0[0-9_]+(\.[0-9]*)?$`)
	oddNumber   = regexp.MustCompile(`^[-+]{0,2}([0-9][0-9_]*_[0-9_]*|0[xXoObB][0-9A-Za-z_]*|[0-9]+[nLu]|[0-9.]+([ ,]+[-+]?[0-9.]+)+|[0-9]+)$`)
	marked      = regexp.MustCompile("^([-+]?[0-9][0-9.]*[-+:=|'#,;/\\\\`]+|(true|false|null|True|False|None)([^-\\w\\s].*|(true|false|null|True|False|None)+))$")
	noNumber    = regexp.MustCompile(`^[-+]?(NaN|Infinity|Inf|inf|nan)$`)
)

// Spelling is a value that was written without quotes in a form of numbers that JSON does not have.
// It is not text: a caller that knows the type of the value must not take it for a string.
type Spelling struct {
	Value int    // number of scalar values before it, in the order of the text
	Text  string // as it was written
}

// scalar writes a literal, number or text.
func (r *repairer) scalar(text string) error {
	if lit, ok := literals[text]; ok {
		if lit != text {
			r.note(fixLiteral)
		}
		r.out = append(r.out, lit...)
		return nil
	}
	if len(text) < 400 {
		switch n, ok := tidyNumber(text); {
		case number.MatchString(text):
			r.out = append(r.out, text...)
			return nil
		case ok:
			r.spelled(text)
			r.note(fixNumber)
			r.out = append(r.out, n...)
			return nil
		case marked.MatchString(text) || marks(text):
			return r.fail(Ambiguous, "%q is neither a value nor text in quotes", text)
		case openNumber.MatchString(text):
			return r.fail(Ambiguous, "the number %s is not complete", text)
		case zeros.MatchString(text) || noNumber.MatchString(text) || oddNumber.MatchString(text):
			r.spelled(text)
		}
	}
	r.note(fixBareString)
	r.encode(text)
	return nil
}

func (r *repairer) spelled(text string) {
	r.spellings = append(r.spellings, Spelling{r.scalars - 1, text})
}

// tidyNumber converts +1, .5, 2., 1_000 and 0x1F to valid JSON numbers.
func tidyNumber(text string) (string, bool) {
	if otherBase.MatchString(text) && len(text) <= 20 {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0)
		if !ok {
			return "", false
		}
		return n.String(), true
	}
	if strings.Contains(text, "_") && underscored.MatchString(text) {
		text = strings.ReplaceAll(text, "_", "")
		if number.MatchString(text) {
			return text, true
		}
	}
	m := looseNumber.FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[4] == "" {
		return "", false
	}
	sign, whole, frac, exp := m[1], m[2], m[4], m[5]
	if sign == "+" {
		sign = ""
	}
	if whole == "" {
		whole = "0"
	}
	if m[3] != "" && frac == "" {
		frac = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac + exp, true
}

// cutShort reports whether text looks like the start of a literal or number whose rest is missing.
func cutShort(text string) bool {
	for _, lit := range []string{"true", "false", "null", "True", "False", "None"} {
		if len(text) < len(lit) && strings.HasPrefix(lit, text) {
			return true
		}
	}
	return len(text) < 400 && cutNumber.MatchString(text) && !number.MatchString(text)
}

// word returns the end of a number or literal at i, or i if there is none.
func (r *repairer) word(i int) int {
	j := i
	for j < len(r.s) && j < i+maxKey && (isWord(r.s[j]) || r.s[j] == '.' || r.s[j] == '-' || r.s[j] == '+') {
		j++
	}
	text := r.s[i:j]
	if _, ok := literals[text]; ok {
		return j
	}
	if text == "" || !isDigit(text[0]) && strings.IndexByte("+-.NIni", text[0]) < 0 {
		return i
	}
	if number.MatchString(text) {
		return j
	}
	if _, ok := tidyNumber(text); ok || openNumber.MatchString(text) || zeros.MatchString(text) || noNumber.MatchString(text) {
		return j
	}
	return i
}

// wordEnd returns the end of a number or literal at the cursor if the text behind it cannot belong
// to it: a comment, a semicolon, or the next element after a missing comma.
func (r *repairer) wordEnd() (int, bool) {
	end := r.word(r.i)
	if end == r.i {
		return 0, false
	}
	next := r.skipComments(end)
	blank := next > end
	if strings.TrimSpace(r.s[end:next]) != "" && oddSpace(r.s, end) == 0 {
		return end, true // a comment
	}
	if n := r.comma(next); n > 0 {
		return end, r.top() != '{' || n > 1 || r.nextMember(r.skipBlank(next+n)) || r.brokenMemberAt(r.skipComments(next+n))
	}
	switch c := r.at(next); {
	case c == ';', c == '}', c == ']':
		return end, true
	case r.top() == '{':
		return end, r.quotedKeyAt(next) || blank && (r.bareKeyAt(next) || r.brokenMemberAt(next))
	case r.top() == '[' || r.top() == '(':
		_, quoted := quoteAt(r.s, next)
		return end, blank && (quoted || r.wholeValueAt(next))
	}
	return 0, false
}

// wholeValueAt reports whether a list, an object, or a complete number or literal is at j.
func (r *repairer) wholeValueAt(j int) bool {
	if c := r.at(j); c == '{' || c == '[' {
		return true
	}
	end := r.word(j)
	if end == j {
		return false
	}
	next := r.skipComments(end)
	switch c := r.at(next); c {
	case ',', ';', ']', '}', ')':
		return true
	}
	_, quoted := quoteAt(r.s, next)
	return next > end && (quoted || r.word(next) > next || r.at(next) == '{' || r.at(next) == '[')
}

// marks reports whether text without quotes has neither letters nor digits, and is no path or
// pattern.
func marks(text string) bool {
	switch text {
	case ".", "..", "/", "*", "**", "~":
		return false
	}
	for i := range len(text) {
		if isWord(text[i]) || text[i] >= 0x80 {
			return false
		}
	}
	return true
}
