package edit

import "strings"

// occurrences lists the positions of old in s, including overlapping ones: two overlapping places
// are as ambiguous as two separate ones.
func occurrences(s, old string) []int {
	var out []int
	for from := 0; from <= len(s)-len(old); {
		i := index(s[from:], old)
		if i < 0 {
			break
		}
		out = append(out, from+i)
		from += i + 1
	}
	return out
}

// maxMisses is the number of failed matches around its anchor after which index gives up on the
// anchor.
const maxMisses = 32

// index is strings.Index for a text of several lines. It searches for the longest line first,
// without its indentation: code begins with white space, which is everywhere and makes a plain
// search slow.
func index(s, old string) int {
	at, n := longestLine(old)
	if n < 4 || n == len(old) {
		return strings.Index(s, old)
	}
	anchor := old[at : at+n]
	for from, misses := at, 0; misses < maxMisses; misses++ {
		if from > len(s) {
			return -1
		}
		i := strings.Index(s[from:], anchor)
		if i < 0 {
			return -1
		}
		if start := from + i - at; strings.HasPrefix(s[start:], old) {
			return start
		}
		from += i + 1
	}
	return strings.Index(s, old)
}

// longestLine returns the position and the length of the longest line of s without its indentation.
func longestLine(s string) (at, n int) {
	for start := 0; start < len(s); {
		end := strings.IndexByte(s[start:], '\n')
		if end < 0 {
			end = len(s)
		} else {
			end += start
		}
		if l := trimLeft(s[start:end]); len(l) > n {
			at, n = end-len(l), len(l)
		}
		start = end + 1
	}
	return at, n
}

// apart reduces ascending positions of something of length n to those that do not overlap, from the
// left.
func apart(at []int, n int) []int {
	out := at[:0:0]
	end := 0
	for _, i := range at {
		if i >= end {
			out = append(out, i)
			end = i + n
		}
	}
	return out
}

// offsets translates increasing offsets in toLF(raw) to offsets in raw. An offset before a CRLF
// stays before both bytes.
type offsets struct {
	raw       string
	atRaw, at int // the same place in raw and in toLF(raw)
}

func (o *offsets) of(off int) int {
	for {
		i := strings.Index(o.raw[o.atRaw:], crlf)
		if i < 0 || o.at+i >= off {
			return o.atRaw + off - o.at
		}
		o.atRaw += i + 2
		o.at += i + 1
	}
}

// localEOL changes the line endings of the LF text new to those of s[a:b]. If those are mixed,
// lines that new shares with old keep their own.
func localEOL(s string, a, b int, old, new string) string {
	if !strings.Contains(new, lf) {
		return new
	}
	here := s[a:b]
	crs, lfs := strings.Count(here, crlf), strings.Count(here, lf)
	switch {
	case lfs == 0:
		return withEOL(new, eolAround(s, a, b))
	case crs == lfs:
		return withEOL(new, crlf)
	case crs == 0:
		return new
	}
	return mixedEOL(splitLines(here), strings.Split(old, lf), strings.Split(new, lf))
}

// eolAround returns the ending of the line that contains s[a:b], or of the line before.
func eolAround(s string, a, b int) string {
	i := strings.IndexByte(s[b:], '\n')
	if i >= 0 {
		i += b
	} else if i = strings.LastIndexByte(s[:a], '\n'); i < 0 {
		return lf
	}
	if i > 0 && s[i-1] == '\r' {
		return crlf
	}
	return lf
}

func mixedEOL(here []line, old, new []string) string {
	kept, _ := alignments(old, new)
	eols := make([]string, len(new))
	for _, p := range kept {
		if p.a < len(here) {
			eols[p.b] = here[p.a].eol
		}
	}
	var b strings.Builder
	last := here[0].eol
	for i, t := range new {
		if i > 0 {
			b.WriteString(last)
		}
		b.WriteString(t)
		if eols[i] != "" {
			last = eols[i]
		}
	}
	return b.String()
}
