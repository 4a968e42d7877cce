package ignore

import "strings"

// A rule is one line of an ignore file.
type rule struct {
	negate   bool
	dirOnly  bool
	baseOnly bool   // the pattern has no slash, so it is compared with the last path element
	prefix   string // leading bytes without wildcards; the whole pattern if glob is nil
	suffix   string // the text of a pattern "*text"; in that case glob is nil
	isSuffix bool
	glob     glob
}

const wildcards = `*?[\`

// parseRules reads the text of an ignore file. Lines that cannot match any path are dropped.
func parseRules(text string) []rule {
	text = strings.TrimPrefix(text, "\ufeff")
	var rules []rule
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if i := strings.IndexByte(line, 0); i >= 0 {
			line = line[:i]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if r, ok := parseRule(trimBlanks(line)); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimBlanks drops trailing spaces unless they are escaped with a backslash.
func trimBlanks(s string) string {
	cut := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if cut < 0 {
				cut = i
			}
		case '\\':
			if i++; i == len(s) {
				return s
			}
			cut = -1
		default:
			cut = -1
		}
	}
	if cut >= 0 {
		return s[:cut]
	}
	return s
}

func parseRule(p string) (r rule, ok bool) {
	p, r.negate = strings.CutPrefix(p, "!")
	p, r.dirOnly = strings.CutSuffix(p, "/")
	r.baseOnly = !strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return r, false
	}
	i := strings.IndexAny(p, wildcards)
	switch {
	case i < 0:
		r.prefix = p
		return r, true
	case r.baseOnly && p[0] == '*' && !strings.ContainsAny(p[1:], wildcards):
		r.suffix, r.isSuffix = p[1:], true
		return r, true
	}
	// Like git, remove the literal prefix before interpreting the stars, so that the ** of "a/b**"
	// counts as being at the start of a pattern.
	if r.baseOnly {
		i = 0
	}
	r.prefix = p[:i]
	r.glob, ok = compileGlob(p[i:])
	return r, ok
}

// matches compares the rule with a path relative to the directory of the rule's file, and with the
// last element of that path.
func (r *rule) matches(path, base string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.baseOnly {
		path = base
	}
	if r.isSuffix {
		return strings.HasSuffix(path, r.suffix)
	}
	if r.glob == nil {
		return path == r.prefix
	}
	return strings.HasPrefix(path, r.prefix) && r.glob.match(path[len(r.prefix):])
}
