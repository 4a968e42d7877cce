package jsonrepair

import (
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// member is a quoted key with its colon, anywhere in a text.
var member = regexp.MustCompile(`"[^"\n]{1,128}"\s*:`)

// entity is an HTML entity of a character that HTML needs.
var entity = regexp.MustCompile(`&(amp|lt|gt|apos|#39|#x27);`)

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// oddSpace returns the length of a space at i that JSON does not allow, such as a no-break space,
// or 0.
func oddSpace(s string, i int) int {
	if i >= len(s) || s[i] == '\v' || s[i] == '\f' {
		if i < len(s) {
			return 1
		}
		return 0
	}
	if s[i] < utf8.RuneSelf {
		return 0
	}
	switch c, n := utf8.DecodeRuneInString(s[i:]); {
	case c == 0xa0, c == 0x85, c == 0x1680, c == 0x180e, c >= 0x2000 && c <= 0x200d, c == 0x2028, c == 0x2029,
		c == 0x202f, c == 0x205f, c == 0x2060, c == 0x3000, c == 0xfeff:
		return n
	}
	return 0
}

// space moves past blanks and comments.
func (r *repairer) space() {
	for r.i < len(r.s) {
		if isSpace(r.s[r.i]) {
			r.i++
		} else if n := oddSpace(r.s, r.i); n > 0 {
			r.note(fixSpace)
			r.i += n
		} else if n := r.comment(r.i, len(r.s)); n > 0 {
			r.note(fixComment)
			r.i += n
		} else {
			return
		}
	}
}

// aheadComment limits the length of a comment that look-ahead skips. Without a limit, each of many
// unclosed comments would be searched to the end of the text.
const aheadComment = 256

// comment returns the length of a comment at i, or 0. A comment that is longer than limit does not
// count as a comment.
func (r *repairer) comment(i, limit int) int {
	rest := r.s[i:]
	if len(rest) > limit {
		rest = rest[:limit]
	}
	switch {
	case strings.HasPrefix(rest, "/*"):
		if i >= r.noComment {
			return 0
		}
		if end := strings.Index(rest[2:], "*/"); end >= 0 {
			return end + 4
		}
		if i+len(rest) == len(r.s) {
			r.noComment = min(r.noComment, i)
		}
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "# "), strings.HasPrefix(rest, "#\n"):
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			return end
		}
		if i+len(rest) == len(r.s) {
			return len(rest)
		}
	}
	return 0
}

// skipBlank returns the position after blanks and closed comments at i, without recording them as
// repairs. It does not skip a line comment that extends to the end of the input, because that may
// turn out not to be a comment.
func (r *repairer) skipBlank(i int) int {
	for i < len(r.s) {
		if isSpace(r.s[i]) {
			i++
		} else if n := oddSpace(r.s, i); n > 0 {
			i += n
		} else if n := r.comment(i, aheadComment); n > 0 && (r.s[i+1] == '*' || i+n < len(r.s)) {
			i += n
		} else {
			break
		}
	}
	return i
}

// skipComments returns the position after blanks and closed comments of any length at i. A comment
// may begin with # and no blank: the cursor is not where a value can start.
func (r *repairer) skipComments(i int) int {
	for i < len(r.s) {
		j := r.skipBlank(i)
		if n := r.comment(j, len(r.s)); n > 0 {
			j += n
		} else if n := r.hashComment(j); n > 0 {
			j += n
		}
		if j == i {
			break
		}
		i = j
	}
	return i
}

// hashComment returns the length of a comment at i that begins with # and a line, or 0.
func (r *repairer) hashComment(i int) int {
	if r.at(i) != '#' {
		return 0
	}
	return max(0, strings.IndexByte(r.s[i:], '\n'))
}

// ellipsisAt returns the length of an ellipsis at i, or 0.
func ellipsisAt(s string, i int) int {
	for _, e := range []string{"...", "…"} {
		if i < len(s) && strings.HasPrefix(s[i:], e) {
			return len(e)
		}
	}
	return 0
}

// unescapeOnce removes one level of JSON string escapes.
func unescapeOnce(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case '"', '\\', '/':
			b.WriteByte(s[i])
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// withoutEntities returns s with its HTML entities replaced, or "" if its quotes are not written as
// entities, or if some of its characters are and others are not.
func withoutEntities(s string) string {
	if !strings.Contains(s, "&quot;") || strings.Contains(s, `"`) {
		return ""
	}
	rest := strings.ReplaceAll(s, "&quot;", "")
	others := entity.MatchString(rest)
	if others && strings.ContainsAny(entity.ReplaceAllString(rest, ""), "&<>") {
		return ""
	}
	if !others {
		return strings.ReplaceAll(s, "&quot;", `"`)
	}
	return html.UnescapeString(s)
}
