package repair

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mark is the sign of a line that shows what the coverage of the tests reveals about it.
type Mark uint8

// The marks of lines.
const (
	NotRun  Mark = iota // not all failing tests ran the line, or nothing is known about it
	Run                 // the failing tests ran the line
	Suspect             // the failing tests ran the line and hardly any passing test did, or the line is on the stack of a failing test's panic
)

// String returns the mark in the form that [Read] shows.
func (m Mark) String() string {
	switch m {
	case Run:
		return "*"
	case Suspect:
		return "!"
	}
	return ""
}

// Limits of a function as shown by [Read], in bytes.
const (
	maxShown     = 2400
	maxShownLine = 300
)

const gap = "...\n"

// FunctionStart is the beginning of every text of a function from [Read]. No other result of a tool
// begins with it.
const FunctionStart = "func "

// Read returns the text in which a model reads a function: number and file, then its lines with
// their numbers and marks and without indentation. marks[i] is the mark of line i+1; missing marks
// count as NotRun. Of a long function, only the most important parts are shown, with "..." in place
// of the rest. Lines that failing tests ran take precedence, and among them lines near suspicious
// ones.
func Read(number int, f Function, marks []Mark) string { return ReadWithin(maxShown, number, f, marks) }

// ReadWithin is like [Read], with a smaller budget in bytes. The first and the last line are always
// shown.
func ReadWithin(budget, number int, f Function, marks []Mark) string {
	return readAbout(budget, number, f, marks, marks)
}

// readAbout is like [ReadWithin], but the marks in the parameter about determine which lines are
// important.
func readAbout(budget, number int, f Function, marks, about []Mark) string {
	budget = min(budget, maxShown)
	lines := strings.Split(f.Text, "\n")
	shown, size := make([]string, len(lines)), 0
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if len(l) > maxShownLine {
			l = strings.ToValidUTF8(l[:maxShownLine], "") + " ..."
		}
		shown[i] = strconv.Itoa(i+1) + markAt(marks, i).String() + "\t" + l + "\n"
		size += len(shown[i])
	}
	var keep []bool
	if size > budget {
		keep = choose(shown, about, budget)
	}
	var b strings.Builder
	b.WriteString(FunctionStart + strconv.Itoa(number) + " " + path.Base(filepath.ToSlash(f.File)) + "\n")
	for i, l := range shown {
		switch {
		case keep == nil || keep[i]:
			b.WriteString(l)
		case i == 0 || keep[i-1]:
			b.WriteString(gap)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// known reports whether anything is known about a function's lines.
func known(marks []Mark) bool {
	return slices.ContainsFunc(marks, func(m Mark) bool { return m != NotRun })
}

func markAt(marks []Mark, i int) Mark {
	if i < len(marks) {
		return marks[i]
	}
	return NotRun
}

// choose picks the lines to show, the most important first, until no more fit.
func choose(shown []string, marks []Mark, budget int) []bool {
	n := len(shown)
	toSuspect, toRun := distances(n, marks, Suspect), distances(n, marks, Run)
	class := func(i int) int {
		switch {
		case i == 0 || i == n-1:
			return 0
		case markAt(marks, i) == NotRun:
			return 2
		}
		return 1
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(toSuspect[a], toSuspect[b]),
			cmp.Compare(toRun[a], toRun[b]), cmp.Compare(a, b))
	})
	keep, size := make([]bool, n), 0
	for _, i := range order {
		// Worst case: the line is not next to a shown line and adds a gap.
		if size+len(shown[i])+len(gap) > budget && class(i) > 0 {
			break
		}
		keep[i] = true
		size += len(shown[i])
		switch before, after := i > 0 && keep[i-1], i < n-1 && keep[i+1]; {
		case before && after:
			size -= len(gap)
		case !before && !after:
			size += len(gap)
		}
	}
	return keep
}

// distances returns the distance of each line to the nearest line with at least the given mark. If
// there is none, all distances are 0.
func distances(n int, marks []Mark, least Mark) []int {
	d := make([]int, n)
	if !slices.ContainsFunc(marks[:min(n, len(marks))], func(m Mark) bool { return m >= least }) {
		return d
	}
	last := -n
	for i := range d {
		if markAt(marks, i) >= least {
			last = i
		}
		d[i] = i - last
	}
	last = 3 * n
	for i := n - 1; i >= 0; i-- {
		if markAt(marks, i) >= least {
			last = i
		}
		d[i] = min(d[i], last-i)
	}
	return d
}
