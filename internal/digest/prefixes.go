package digest

import "strings"

// prefixes finds which of many prefixes a text has, comparing only those with the same first byte.
type prefixes struct {
	list []string
	by   [256][]int
}

func newPrefixes(list ...string) *prefixes {
	p := &prefixes{list: list}
	for i, s := range list {
		p.by[s[0]] = append(p.by[s[0]], i)
	}
	return p
}

// of returns the index of the first prefix in the list that t has, or -1.
func (p *prefixes) of(t string) int {
	if t == "" {
		return -1
	}
	for _, i := range p.by[t[0]] {
		if strings.HasPrefix(t, p.list[i]) {
			return i
		}
	}
	return -1
}

// has reports whether t has one of the prefixes.
func (p *prefixes) has(t string) bool { return p.of(t) >= 0 }
