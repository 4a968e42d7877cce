package edit

import (
	"math"
	"strings"
)

// shape describes how two lines that follow one another are indented: the end of the first, the
// beginning of the second, and the steps by which the second is deeper.
type shape struct {
	end, begin byte
	steps      int8
}

// shapes counts the shapes of a file, to tell which of two ways to indent new lines is usual there.
type shapes struct {
	unit  int // columns of a step
	count map[shape]float64
	total map[[2]byte]float64
}

const (
	maxSteps = 4
	oddStep  = maxSteps + 1 // not a whole number of steps
)

// learnShapes counts the shapes of a file. Before it has seen anything, it expects what most
// languages have in common: deeper after an opening bracket or a colon, back at a closing bracket,
// else the same.
func learnShapes(file []line, unit fileUnit) *shapes {
	s := &shapes{unit: max(unit.width, 1), count: map[shape]float64{}, total: map[[2]byte]float64{}}
	if unit.char == ' ' && unit.width == 0 {
		s.unit = 4
	}
	s.follow(file, func(sh shape) {
		s.count[sh]++
		s.total[[2]byte{sh.end, sh.begin}]++
	})
	return s
}

// follow calls f for each pair of lines, leaving out blank ones.
func (s *shapes) follow(ls []line, f func(shape)) {
	var last string
	for _, l := range ls {
		text := trimRight(l.text)
		if text == "" {
			continue
		}
		if last != "" {
			f(s.shapeOf(last, text))
		}
		last = text
	}
}

func (s *shapes) shapeOf(a, b string) shape {
	d := columns(indentOf(b), s.unit) - columns(indentOf(a), s.unit)
	if strings.HasPrefix(a[len(indentOf(a)):], "- ") && d > 0 {
		d = max(0, d-len("- ")) // the rest of an item of a list is as deep as its text
	}
	sh := shape{end: endClass(a[len(a)-1]), begin: beginClass(b[len(indentOf(b))])}
	switch {
	case d%s.unit != 0:
		sh.steps = oddStep
	default:
		sh.steps = int8(max(-maxSteps, min(maxSteps, d/s.unit)))
	}
	return sh
}

func endClass(c byte) byte {
	switch c {
	case '{', '(', '[', ':', ',', ';', '}', ')':
		return c
	}
	return 'x'
}

func beginClass(c byte) byte {
	switch c {
	case '}', ')', ']':
		return '}'
	}
	return 'x'
}

// expected returns what is expected of a shape before anything is seen.
func expected(sh shape) float64 {
	opened, closing := sh.end == '{' || sh.end == '(' || sh.end == '[' || sh.end == ':', sh.begin == '}'
	usual := int8(0)
	switch {
	case opened && !closing:
		usual = 1
	case closing && !opened:
		usual = -1
	}
	switch {
	case sh.steps == usual:
		return 0.7
	case sh.steps == oddStep:
		return 0.01
	case sh.steps > usual && !opened:
		return 0.01
	case sh.steps > 1:
		return 0.005
	}
	return 0.05
}

// likelihood returns the logarithm of how usual the indentation of lines is in the file.
func (s *shapes) likelihood(ls []line) float64 {
	const weight = 4 // of the expectation, in pairs of lines
	sum := 0.0
	s.follow(ls, func(sh shape) {
		sum += math.Log((s.count[sh] + weight*expected(sh)) / (s.total[[2]byte{sh.end, sh.begin}] + weight))
	})
	return sum
}
