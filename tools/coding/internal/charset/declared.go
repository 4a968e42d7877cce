package charset

import (
	"regexp"
	"strings"
)

// mention matches the name of an encoding in a text that may declare it.
var mention = regexp.MustCompile(`(?i)(?:coding|encoding|charset|fenc)["']?[ \t]*[:= ][ \t]*["']?([a-z0-9][a-z0-9_.:-]*)`)

// declarations match what programs obey: the coding cookie of Python, Ruby and Emacs, a modeline of
// Vim, the attributes of XML and HTML, a rule of CSS, a header of gettext.
var declarations = []*regexp.Regexp{
	regexp.MustCompile(`^(?:[^\n]*\n)?[ \t]*(?:#|//|--|;|/\*|%|<!--|"|\.\\")[^\n]*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`),
	regexp.MustCompile(`(?i)^\s*<\?xml[^>]*encoding=["']([-_.a-z0-9]+)`),
	regexp.MustCompile(`(?i)<meta[^>]*charset=["']?([-_.a-z0-9]+)`),
	regexp.MustCompile(`(?i)^@charset "([-_.a-z0-9]+)"`),
	regexp.MustCompile(`(?i)vim?:[^\n]*\b(?:fileencoding|fenc)=([-_.a-z0-9]+)`),
	regexp.MustCompile(`(?i)content-type:[^\n]*charset=([-_.a-z0-9]+)`),
}

// declared returns the candidate that the beginning or the end of a file names, or nil. firm
// reports that it is a declaration, and not only a name somewhere in the text.
func declared(data []byte) (named *codec, firm bool) {
	head, tail := data[:min(len(data), 2048)], data[max(0, len(data)-512):]
	for _, part := range [][]byte{head, tail} {
		for _, d := range declarations {
			if m := d.FindSubmatch(part); m != nil {
				if c := byLabel(string(m[1])); c != nil {
					return c, true
				}
			}
		}
	}
	for _, part := range [][]byte{head, tail} {
		for _, m := range mention.FindAllSubmatch(part, 8) {
			if c := byLabel(string(m[1])); c != nil {
				return c, false
			}
		}
	}
	return nil, false
}

// byLabel returns the candidate with a name, written in any of the usual ways.
func byLabel(label string) *codec {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ":", "", ".", "").Replace(strings.ToLower(s))
	}
	label = plain(label)
	for _, suffix := range []string{"unix", "dos", "mac"} {
		label = strings.TrimSuffix(label, suffix)
	}
	for _, c := range candidates {
		if label == plain(c.name) {
			return c
		}
		for _, also := range c.also {
			if label == also {
				return c
			}
		}
	}
	return nil
}
