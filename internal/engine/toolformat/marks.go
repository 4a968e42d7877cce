package toolformat

import (
	"strings"
	"unicode/utf8"
)

// action is the operation that a marker triggers in the parser.
type action uint8

const (
	actThink     action = iota // reasoning begins
	actUnthink                 // reasoning ends
	actPeek                    // reasoning ends before the marker, which is read again as content
	actDrop                    // the marker is dropped from the text
	actSection                 // a section of calls begins
	actUnsection               // a section of calls ends
	actCall                    // a call begins
	actUncall                  // a call ends
	actParam                   // an argument begins
	actBare                    // a call without markers may begin
	actHeader                  // the header of a channel begins
	actFence                   // a Markdown fence around the answer begins
)

// mark is a marker: its text and its action.
type mark struct {
	text string
	act  action
	wrap int // index into the format's Sections or Calls
}

// marks finds the first of some markers in a text that arrives in pieces.
type marks struct {
	list  []mark
	first [256]bool // bytes that a marker can begin with
	bytes string    // the same bytes, for strings.IndexByte if they are few
}

// add adds a marker. Of several markers with the same text, the first is kept.
func (m *marks) add(text string, act action, wrap int) {
	if text == "" {
		return
	}
	for _, k := range m.list {
		if k.text == text {
			return
		}
	}
	m.list = append(m.list, mark{text, act, wrap})
	if !m.first[text[0]] {
		m.first[text[0]] = true
		m.bytes += text[:1]
	}
}

func (m *marks) addAll(texts []string, act action) {
	for _, t := range texts {
		m.add(t, act, 0)
	}
}

// at returns the longest marker that s begins with. If more is true, more text may follow, and the
// result wait reports whether a longer marker is still possible.
func (m *marks) at(s string, more bool) (found *mark, wait bool) {
	if s == "" {
		return nil, more && len(m.list) > 0
	}
	if !m.first[s[0]] {
		return nil, false
	}
	for i := range m.list {
		k := &m.list[i]
		switch {
		case strings.HasPrefix(s, k.text):
			if found == nil || len(k.text) > len(found.text) {
				found = k
			}
		case more && strings.HasPrefix(k.text, s):
			wait = true
		}
	}
	return found, wait
}

// find returns the first marker in s and its position. If none has been found yet, pos is the
// number of bytes of s that cannot be part of a marker.
func (m *marks) find(s string, more bool) (pos int, found *mark) {
	for i := m.next(s, 0); i < len(s); i = m.next(s, i+1) {
		k, wait := m.at(s[i:], more)
		if wait {
			return i, nil
		}
		if k != nil {
			return i, k
		}
	}
	return len(s), nil
}

// next returns the first index from i on at which a marker may begin.
func (m *marks) next(s string, i int) int {
	if len(m.bytes) == 1 {
		if j := strings.IndexByte(s[i:], m.bytes[0]); j >= 0 {
			return i + j
		}
		return len(s)
	}
	for i < len(s) && !m.first[s[i]] {
		i++
	}
	return i
}

// whole returns the length of s without an incomplete last character.
func whole(s string) int {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if utf8.FullRuneInString(s[i:]) {
				return len(s)
			}
			return i
		}
	}
	return len(s)
}

// spaces returns the number of white space bytes at the front of s.
func spaces(s string) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}
