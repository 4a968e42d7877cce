package digest

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// Clean returns an output as a person would see it on the screen at the end: without escape
// sequences, with only the last state of each line that a progress bar overwrote, without the marks
// that CI services put around sections and the times that GitHub puts before lines, and with at
// most two consecutive blank lines. Text that needs no cleaning is returned unchanged.
func Clean(text string) string {
	i := firstNoise(text)
	if i == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:i])
	blank := i - len(strings.TrimRight(text[:i], "\n")) - 1 // blank lines already written
	for rest := text[i:]; rest != ""; {
		line, after, ended := strings.Cut(rest, "\n")
		rest = after
		line, keep := cleanLine(line)
		if !keep {
			continue
		}
		if line == "" {
			if blank++; blank > 2 {
				continue
			}
		} else {
			blank = 0
		}
		b.WriteString(line)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// firstNoise returns the start of the first line that Clean may change, or the length of text.
func firstNoise(text string) int {
	start, newlines := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\n' {
			if newlines++; newlines > 2 {
				return start
			}
			start = i + 1
			continue
		}
		newlines = 0
		if ansi.Control(c) || i == start && (c == '2' && githubTime(text[i:]) > 0 || c == 't' && strings.HasPrefix(text[i:], "travis_")) {
			return start
		}
	}
	return len(text)
}

// cleanLine cleans one line. It reports false if the line must be dropped.
func cleanLine(line string) (string, bool) {
	line = strings.TrimSuffix(line, "\r")
	was := line
	line = line[githubTime(line):]
	if strings.IndexByte(line, '\r') >= 0 {
		line = overwritten(line)
	} else if line = ansi.Line(line); strings.HasPrefix(line, "travis_fold:") || strings.HasPrefix(line, "travis_time:") {
		return "", false
	}
	return line, line != "" || was == "" // a line that contained only colours is dropped
}

// overwritten returns the part of a repeatedly overwritten line that is kept. A state that has
// little in common with the next one was not progress but a separate line, and is kept.
func overwritten(line string) string {
	var kept []string
	for part := range strings.SplitSeq(line, "\r") {
		p := ansi.Line(part)
		if strings.TrimSpace(p) == "" || strings.HasPrefix(p, "travis_fold:") || strings.HasPrefix(p, "travis_time:") {
			continue
		}
		if n := len(kept); n > 0 && alike(kept[n-1], p) {
			kept[n-1] = p
			continue
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, "\n")
}

// alike reports whether two states look like the same progress line: their first words are the
// same, or one of them has hardly any text.
func alike(a, b string) bool {
	if strings.HasPrefix(b, a) {
		return true
	}
	x, y := words3(a), words3(b)
	return x == y
}

// words3 returns the beginning of s as letters only, up to the third word or up to the characters
// of a progress bar or a count.
func words3(s string) string {
	var b [24]byte
	n, words := 0, 0
	for i := 0; i < len(s) && n < len(b); i++ {
		c := s[i]
		switch {
		case letter(c):
			b[n] = c
			n++
		case n > 0 && letter(b[n-1]):
			if words++; words == 3 {
				return string(b[:n])
			}
			b[n] = ' '
			n++
		}
	}
	return string(b[:n])
}

// githubTime returns the length of the time that GitHub's runners write before each line:
// 2024-01-31T12:30:59.1234567Z.
func githubTime(s string) int {
	if len(s) >= 28 && s[4] == '-' && s[10] == 'T' && s[19] == '.' && s[27] == 'Z' {
		return isoTime(s)
	}
	return 0
}
