package edit

import (
	"slices"
	"strings"
)

// shellWord is a word or an operator of a command line.
type shellWord struct {
	text    string
	op      bool
	quoted  bool
	expands bool // it has a variable, a command or a pattern in it
}

// is reports whether the word is one of the given, unquoted.
func (w shellWord) is(texts ...string) bool { return !w.quoted && slices.Contains(texts, w.text) }

// assigns reports whether the word sets a variable that has no bearing on where a patch applies.
func (w shellWord) assigns() bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && !w.op && name != "" && name != "CDPATH" && name != "HOME" && name != "PWD" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

var shellOps = [...]string{"2>&1", "&&", "||", "<<-", "<<", "&>", ">&", "2>", ">", ";", "|", "&", "(", ")", "<", lf}

// shellWords splits a command line into words and operators. If it ends inside a quote, rest is
// that quote and what follows it.
func shellWords(s string) (words []shellWord, rest string, ok bool) {
	for s = trimBlanks(s); s != ""; s = trimBlanks(s) {
		if op := operatorAt(s); op != "" {
			words = append(words, shellWord{text: op, op: true})
			s = s[len(op):]
			continue
		}
		w, n, open := wordAt(s)
		if open {
			if w.text != "" {
				return nil, "", false
			}
			return words, s[n:], true
		}
		words, s = append(words, w), s[n:]
	}
	return words, "", true
}

func trimBlanks(s string) string { return strings.TrimLeft(s, " \t") }

func operatorAt(s string) string {
	for _, op := range shellOps {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// wordAt reads one word. If a quote in it does not end, open is set and n is where the quote
// begins.
func wordAt(s string) (w shellWord, n int, open bool) {
	for n < len(s) {
		switch c := s[n]; {
		case c == ' ' || c == '\t' || n > 0 && operatorAt(s[n:]) != "" && !strings.HasPrefix(s[n:], "2>"):
			return w, n, false
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[n+1:], c)
			if end < 0 {
				return w, n, true
			}
			in := s[n+1 : n+1+end]
			w.text, w.quoted = w.text+in, true
			w.expands = w.expands || c == '"' && strings.ContainsAny(in, "$`\\")
			n += end + 2
		case c == '\\' && n+1 < len(s):
			w.text, w.quoted = w.text+s[n+1:n+2], true
			n += 2
		default:
			w.expands = w.expands || strings.IndexByte("$`*?[{", c) >= 0
			w.text += s[n : n+1]
			n++
		}
	}
	return w, n, false
}
