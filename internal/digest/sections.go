package digest

import "strings"

// rule handles a ruled line: ===== FAILURES =====, _____ test_name _____, ---- name stdout ----.
func (p *parser) rule(l line) bool {
	t := l.text
	c := t[0]
	if p.section == sectionPytest && c == '_' && strings.HasSuffix(t, " _") && !strings.HasPrefix(t, "_ _") { // a long name
		p.muted = false
		p.fail(strings.Trim(t, "_ "), l.n)
		return true
	}
	if len(t) < 4 || strings.IndexByte("=_-*#", c) < 0 || t[1] != c || t[2] != c || t[3] != c {
		return false
	}
	heading := strings.Trim(t, "=_-*# ")
	if c == '-' && strings.HasSuffix(heading, "stdout") && strings.HasSuffix(t, "----") && p.section != sectionPytest { // Rust
		p.fail(strings.TrimSpace(strings.TrimSuffix(heading, "stdout")), l.n)
		return true
	}
	switch {
	case heading == "":
		p.ruled = c
		if c == '-' && p.section == sectionUnittest && p.open == nil {
			p.section = sectionNone
		}
	case c == '=':
		p.equalsRule(l, heading)
	case c == '_' && p.section == sectionPytest:
		p.muted = false
		for _, lead := range []string{"ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of ", "[doctest] "} {
			heading = strings.TrimPrefix(heading, lead)
		}
		p.fail(heading, l.n)
	case c == '-' && strings.HasPrefix(heading, "Captured "):
		p.muted = true
	case c == '-' && strings.HasPrefix(heading, ">> "): // nose
		p.muted = strings.HasPrefix(heading, ">> begin")
	case c == '-' && p.section == sectionPytest && strings.HasPrefix(heading, "coverage"):
		p.close()
		p.section = sectionMuted
	default:
		return false
	}
	return true
}

// equalsRule handles pytest's headings.
func (p *parser) equalsRule(l line, heading string) {
	p.close()
	switch {
	case heading == "FAILURES" || heading == "ERRORS":
		p.section = sectionPytest
	case strings.HasPrefix(heading, "short test summary"):
		p.section = sectionShort
	case strings.HasPrefix(heading, "warnings summary") || strings.HasPrefix(heading, "slowest"):
		p.section = sectionMuted
	case counted(heading):
		p.section = sectionNone
		p.summarise(heading, l.n)
	default:
		p.section = sectionNone
	}
}
