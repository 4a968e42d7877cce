package verify

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mapper rewrites a binary's output for a variant as if the variant were in its original file.
type mapper struct {
	byVariant map[int]span
	spans     map[string][]span // by file, sorted by line
	sites     map[string][]site
}

func newMapper(spans map[int]span, sites map[string][]site) *mapper {
	m := &mapper{byVariant: spans, spans: map[string][]span{}, sites: sites}
	for _, s := range spans {
		m.spans[s.file] = append(m.spans[s.file], s)
	}
	for _, list := range m.spans {
		slices.SortFunc(list, func(a, b span) int { return a.start - b.start })
	}
	return m
}

// spanAt returns the copy at a line, and whether there is one. Copies are always below the file's
// original text.
func (m *mapper) spanAt(file string, line int) (span, bool) {
	list := m.spans[file]
	i, exact := slices.BinarySearchFunc(list, line, func(s span, line int) int { return s.start - line })
	if !exact {
		i--
	}
	if i < 0 || line > list[i].end {
		return span{}, false
	}
	return list[i], true
}

var (
	copied   = regexp.MustCompile(`\b` + prefix + `\d+_`)
	position = regexp.MustCompile(`([\w.-]+\.go):(\d+)`)
)

// text maps names and positions in a binary's output, and removes the frames of forwarding
// functions from stacks.
func (m *mapper) text(out string) string {
	if !strings.Contains(out, prefix) && !strings.Contains(out, ".go:") {
		return out
	}
	lines := strings.Split(out, "\n")
	kept := lines[:0]
	forwarded := "" // the function after which a forwarding frame may follow
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		isFrame := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") && position.MatchString(lines[i+1])
		name, _, _ := cutLast(line, "(")
		if isFrame && forwarded != "" && name == forwarded && m.isSite(lines[i+1]) {
			i++
			forwarded = ""
			continue
		}
		if isFrame {
			forwarded = ""
			if copied.MatchString(name) {
				forwarded = copied.ReplaceAllString(name, "")
			}
		}
		kept = append(kept, m.line(line))
	}
	return strings.Join(kept, "\n")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// isSite reports whether the position in a line of a stack trace is that of a function forwarding
// to a copy.
func (m *mapper) isSite(line string) bool {
	p := position.FindStringSubmatch(line)
	n, _ := strconv.Atoi(p[2])
	for _, s := range m.sites[p[1]] {
		if s.line == n {
			return true
		}
	}
	return false
}

// line maps the names and positions of one line.
func (m *mapper) line(line string) string {
	line = copied.ReplaceAllString(line, "")
	return position.ReplaceAllStringFunc(line, func(at string) string {
		p := position.FindStringSubmatch(at)
		n, _ := strconv.Atoi(p[2])
		if s, ok := m.spanAt(p[1], n); ok {
			return p[1] + ":" + strconv.Itoa(n-s.start+s.orig)
		}
		return at
	})
}

// profile maps the coverage profile of a run with a variant: the blocks of the copy replace those
// of the function.
func (m *mapper) profile(data []byte, variant int) []byte {
	self := m.byVariant[variant]
	out := make([]byte, 0, len(data))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b, ok := parseBlock(line)
		if !ok {
			if len(line) > 0 {
				out = append(append(out, line...), '\n')
			}
			continue
		}
		s, isCopy := m.spanAt(b.file, b.start)
		switch {
		case b.file == selectorFile, isCopy && s.variant != variant:
			continue
		case isCopy:
			b.start, b.end = b.start-s.start+s.orig, b.end-s.start+s.orig
			out = b.append(out)
			continue
		case variant > 0 && b.file == self.file && self.orig <= b.start && b.start < self.orig+self.length():
			continue
		case m.inSite(b.file, b.start, b.column):
			continue
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// inSite reports whether a block begins in inserted text, which contains the calls of other
// variants.
func (m *mapper) inSite(file string, line, column int) bool {
	for _, s := range m.sites[file] {
		if s.line == line && s.from <= column && column < s.to {
			return true
		}
	}
	return false
}
