package edit

import "strings"

// spaceUnit returns the step by which the model indents with spaces: the common divisor of all
// differences, if it is a usual step.
func spaceUnit(texts ...[]string) int {
	lo, g := -1, 0
	for _, t := range texts {
		for _, l := range t {
			if in := indentOf(l); !blank(l) && strings.Trim(in, " ") == "" && (lo < 0 || len(in) < lo) {
				lo = len(in)
			}
		}
	}
	for _, t := range texts {
		for _, l := range t {
			if in := indentOf(l); !blank(l) && strings.Trim(in, " ") == "" && len(in)-lo > 1 {
				g = gcd(g, len(in)-lo)
			}
		}
	}
	if g >= 2 && g <= 4 {
		return g
	}
	return 0
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fileUnit describes how a file is indented: with which character (0 if unknown) and, for spaces,
// how many per step.
type fileUnit struct {
	char  byte
	width int
	mixed bool // some lines are indented with the other character
}

// unitOf returns how the lines of a file are indented.
func unitOf(file []line) fileUnit {
	u := fileUnit{char: indentChar(file, false)}
	var steps [maxUnit + 1]int
	prev, total := 0, 0
	for _, l := range file {
		in := indentOf(l.text)
		if len(in) == len(l.text) {
			continue
		}
		if strings.IndexByte(in, '\t') >= 0 {
			u.mixed = u.mixed || u.char == ' '
			continue
		}
		if d := len(in) - prev; d > 1 && d <= maxUnit {
			steps[d]++
			total++
		}
		prev = len(in)
	}
	for w := 2; w <= maxUnit; w++ {
		if steps[w]*10 > total*6 {
			u.width = w
		}
	}
	return u
}

// indentChar returns the character that indents lines: every line if all is set, otherwise nine in
// ten.
func indentChar(ls []line, all bool) byte {
	tabs, spaces := 0, 0
	for _, l := range ls {
		switch in := indentOf(l.text); {
		case in == "" || in == " " || len(in) == len(l.text):
		case in[0] == '\t':
			tabs++
		default:
			spaces++
		}
	}
	switch need := 9; {
	case tabs+spaces == 0:
		return 0
	case spaces == 0, !all && tabs >= need*spaces:
		return '\t'
	case tabs == 0, !all && spaces >= need*tabs:
		return ' '
	}
	return 0
}
