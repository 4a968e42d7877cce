package digest

import "strings"

// numbered handles the entries of a numbered list of failures; a title may take several lines.
func (p *parser) numbered(l line) bool {
	t := l.text
	if n, rest, ok := entry(t); ok && (p.list > 0 && n == p.list || n == 1 && selfEvident(rest)) {
		p.finishTitle()
		p.list = n + 1
		p.section = sectionNone
		p.title, p.titleAt = []string{rest}, l.n
		if strings.HasSuffix(rest, ":") && rest != "Failure:" && rest != "Error:" || strings.Contains(rest, "::") || selfEvident(rest) && strings.HasSuffix(rest, ")") {
			p.finishTitle()
		}
		return true
	}
	if len(p.title) == 0 {
		return false
	}
	if t == "Message:" { // jasmine
		p.finishTitle()
		p.next = true
		return true
	}
	last := p.title[len(p.title)-1]
	if last == "Failure:" || last == "Error:" { // minitest: the name is on the next line
		p.title = []string{strings.TrimSuffix(t, ":")}
		if i := strings.Index(t, " ["); i > 0 {
			p.title[0] = t[:i]
		}
		p.finishTitle()
		if at, ok := findPlace(t); ok {
			p.open.frame(note{t[at.from:at.to], l.n})
		}
		return true
	}
	if len(p.title) > 8 || strings.HasPrefix(t, "Failure/Error") || errorClass(t) > 0 || strings.HasPrefix(t, "at ") {
		p.finishTitle()
		return false
	}
	p.title = append(p.title, t)
	if strings.HasSuffix(t, ":") {
		p.finishTitle()
	}
	return true
}

// finishTitle opens the finding whose title is complete.
func (p *parser) finishTitle() {
	if len(p.title) > 0 {
		name := strings.Join(p.title, " ")
		p.title = nil
		p.fail(name, p.titleAt)
	}
}

// selfEvident reports whether an entry reveals that a list of failures begins even if there is no
// heading.
func selfEvident(s string) bool {
	return s == "Failure:" || s == "Error:" || strings.HasPrefix(s, "test ") && strings.HasSuffix(s, ")")
}

// entry parses "12) text".
func entry(t string) (n int, rest string, ok bool) {
	i := 0
	for i < len(t) && i < 5 && digit(t[i]) {
		n = n*10 + int(t[i]-'0')
		i++
	}
	if i == 0 || i+2 >= len(t) || t[i] != ')' || t[i+1] != ' ' {
		return 0, "", false
	}
	return n, strings.TrimSpace(t[i+2:]), true
}

// results handles a line of Maven's list of failed tests: Class.method:40->helper:20 » Message.
func (p *parser) results(l line) bool {
	t := l.text
	switch {
	case strings.HasPrefix(t, "Failed tests:"), strings.HasPrefix(t, "Tests in error:"), (t == "Failures:" || t == "Errors:") && l.level == levelError:
		p.close()
		p.section = sectionResults
		if _, rest, _ := strings.Cut(t, ":"); strings.TrimSpace(rest) != "" {
			p.result(strings.TrimSpace(rest), l.n)
		}
		return true
	case p.section != sectionResults:
		return false
	case strings.HasPrefix(t, "Tests run:"), l.indent < 2 && !strings.ContainsAny(t, ".(:"), strings.HasPrefix(t, "["):
		p.section = sectionNone
		return false
	}
	return p.result(t, l.n)
}

func (p *parser) result(t string, n int) bool {
	for _, lead := range []string{"Run ", "PASS"} {
		if strings.HasPrefix(t, lead) {
			return true
		}
	}
	name, message := t, ""
	if i := strings.IndexAny(t, " "); i > 0 {
		name, message = t[:i], strings.TrimLeft(t[i:], " »Â\u00bb")
	}
	if i := strings.IndexAny(name, ":"); i > 0 {
		name = name[:i]
	}
	if i := strings.Index(name, "->"); i > 0 {
		name = name[:i]
	}
	if !strings.ContainsAny(name, ".(") || strings.HasPrefix(name, "(") {
		return false
	}
	f := p.fail(strings.TrimSuffix(name, ":"), n)
	p.open = nil
	if message != "" && len(f.traces) == 0 {
		f.suggest(note{message, n})
	}
	return true
}
