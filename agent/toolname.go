package agent

import "strings"

// none reports whether no tool is offered.
func (t *toolset) none() bool { return len(t.specs) == 0 }

// canonical returns the offered tool that a name means. Models and servers mangle names: they add a
// namespace (functions.read), tokens of a template (read<|channel|>commentary), a number (read:0)
// or another case. A name means a tool only if exactly one fits.
func (t *toolset) canonical(name string) (string, bool) {
	if _, ok := t.byName[name]; ok {
		return name, true
	}
	if len(name) == 0 || len(name) > 256 || len(t.specs) == 0 {
		return "", false
	}
	name = withoutTokens(name)
	if tool, n := t.fitting(nameKey(name)); n > 0 {
		return tool, n == 1
	}
	last := lastSegment(name)
	if tool, n := t.fitting(nameKey(last)); n > 0 {
		return tool, n == 1
	}
	if tool, n := t.fitting(nameKey(withoutNamespace(last))); n > 0 {
		return tool, n == 1
	}
	if once := undoubled(nameKey(last)); once != "" {
		tool, n := t.fitting(once)
		return tool, n == 1
	}
	return "", false
}

// fitting returns a tool whose name has the key, and how many there are.
func (t *toolset) fitting(key string) (name string, n int) {
	if key == "" {
		return "", 0
	}
	for i := range t.specs {
		if nameKey(t.specs[i].Name) == key {
			name = t.specs[i].Name
			n++
		}
	}
	return name, n
}

// nameKey returns a name in lower case without what joins its words.
func nameKey(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + ('a' - 'A')
		case c == '_', c == '-', c == ' ':
			return -1
		}
		return c
	}, name)
}

// withoutTokens returns the part of a name that is not a template's token or what follows it, and
// nothing after an opening bracket or the begin of arguments.
func withoutTokens(name string) string {
	for {
		open := strings.IndexAny(name, "<[({｜|")
		if open < 0 {
			return strings.Trim(name, " \t\r\n\"'`*")
		}
		if head := strings.Trim(name[:open], " \t\r\n\"'`*"); head != "" && head != "assistant" && !strings.HasSuffix(head, "to=") {
			return head
		}
		end := strings.IndexAny(name[open+1:], ">])}") // the name may come after the token
		if end < 0 {
			return ""
		}
		name = name[open+1+end+1:]
	}
}

// lastSegment returns the last part of a name with a namespace; a number at the end is no part.
func lastSegment(name string) string {
	fields := strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(".:/\\= \t\r\n", c) })
	for i := len(fields) - 1; i >= 0; i-- {
		if strings.Trim(fields[i], "0123456789") != "" {
			return fields[i]
		}
	}
	return ""
}

// withoutNamespace returns name without the namespaces that models put in front with an underscore
// or a dash.
func withoutNamespace(name string) string {
	lower := strings.ToLower(name)
	for _, space := range []string{"functions", "function", "default_api", "tools", "tool"} {
		if rest, ok := strings.CutPrefix(lower, space); ok && rest != "" && (rest[0] == '_' || rest[0] == '-') {
			return strings.TrimLeft(rest, "_-")
		}
	}
	return ""
}

// undoubled returns the text that name repeats, or "" if it repeats none: servers that send the
// name with every delta have it joined by others.
func undoubled(name string) string {
	for n := 2; n <= 8 && n <= len(name); n++ {
		if part := name[:len(name)/n]; len(name)%n == 0 && len(part) > 2 && strings.Repeat(part, n) == name {
			return part
		}
	}
	return ""
}
