package digest

import "strings"

// rare returns the last lines of an unknown kind of output, and the lines whose form is rare in it.
// Numbers are not part of a form.
func rare(text string) (tail, seldom []note) {
	const lastLines, most = 12, 160
	seen := map[uint64]int{}
	eachLine(text, func(n int, line string) {
		if len(seen) < 1<<17 {
			seen[form(line)]++
		}
	})
	eachLine(text, func(n int, line string) {
		if c := seen[form(line)]; c == 1 {
			if seldom = append(seldom, note{line, n}); len(seldom) == 2*most { // drop the middle: keep the first half and the most recent lines
				seldom = append(seldom[:most/2], seldom[most+most/2:]...)
			}
		}
		if tail = append(tail, note{line, n}); len(tail) > 2*lastLines {
			tail = append(tail[:0], tail[lastLines:]...)
		}
	})
	return tail[max(0, len(tail)-lastLines):], seldom
}

// eachLine calls f for every line with a letter near its beginning.
func eachLine(text string, f func(n int, line string)) {
	for n := 1; text != ""; n++ {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 {
			line = line[i+1:]
		}
		if len(line) > 0 && lettered(line[:min(len(line), 400)]) {
			f(n, line)
		}
	}
}

func lettered(s string) bool {
	n := 0
	for i := range len(s) {
		if letter(s[i]) || s[i] >= 0x80 {
			if n++; n == 3 {
				return true
			}
		}
	}
	return false
}

// form returns a hash (FNV-1a) of the beginning of a line, with every run of digits counted as one
// character.
func form(s string) uint64 {
	h := uint64(14695981039346656037)
	was := false
	for i := range min(len(s), 120) {
		c := s[i]
		if digit(c) {
			if was {
				continue
			}
			c, was = '0', true
		} else {
			was = false
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
