package charset

import (
	"regexp"
	"strings"
)

// declaration matches what files write about their own encoding: a coding cookie of Python, Ruby or
// Emacs, a modeline of Vim, the attributes of XML and HTML, a rule of CSS, a header of gettext.
var declaration = regexp.MustCompile(`(?i)(?:coding|encoding|charset|fenc)["']?[ \t]*[:= ][ \t]*["']?([a-z0-9][a-z0-9_.:-]*)`)

// declared returns the candidate that the beginning or the end of a file names, or nil.
func declared(data []byte) *codec {
	head, tail := data[:min(len(data), 2048)], data[max(0, len(data)-512):]
	for _, part := range [][]byte{head, tail} {
		for _, m := range declaration.FindAllSubmatch(part, 8) {
			if c := byLabel(string(m[1])); c != nil {
				return c
			}
		}
	}
	return nil
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
