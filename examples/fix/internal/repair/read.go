package repair

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mark says what is known of a line from the coverage of tests.
type Mark uint8

// The marks of lines.
const (
	NotRun  Mark = iota // not all failing tests ran it, or nothing is known
	Run                 // the failing tests ran it
	Suspect             // the failing tests ran it and hardly any passing one, or it is on the stack of a failing test's panic
)

// String returns the mark as [Read] shows it.
func (m Mark) String() string {
	switch m {
	case Run:
		return "*"
	case Suspect:
		return "!"
	}
	return ""
}

// Limits of a function as [Read] shows it, in bytes.
const (
	maxShown     = 2400
	maxShownLine = 300
)

const gap = "...\n"

// FunctionStart is how the text of a function begins that [Read] returns, and no other result of a
// tool.
const FunctionStart = "func "

// Read returns the text in which a model reads a function: number and file, then its lines with
// their numbers and marks and without indentation. Marks[i] is that of line i+1; missing ones are
// NotRun. Of a long function only the parts that matter most are shown, with "..." in place of the
// rest: lines that failing tests ran before others, and of these the ones near suspicious lines
// first.
func Read(number int, f Function, marks []Mark) string { return ReadWithin(maxShown, number, f, marks) }

// ReadWithin is [Read] for a prompt that has room for fewer bytes. The first and the last line are
// shown in any case.
func ReadWithin(budget, number int, f Function, marks []Mark) string {
	return readAbout(budget, number, f, marks, marks)
}

// readAbout is [ReadWithin] where other marks than those that are shown say which lines matter.
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

// known reports whether anything is known of a function's lines.
func known(marks []Mark) bool {
	return slices.ContainsFunc(marks, func(m Mark) bool { return m != NotRun })
}

func markAt(marks []Mark, i int) Mark {
	if i < len(marks) {
		return marks[i]
	}
	return NotRun
}

// choose picks the lines to show, the most telling first, until no more fit.
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
		// The worst case: the line stands alone and adds a gap.
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

// distances returns for each line how far it is from the nearest one with at least the given mark,
// 0 throughout if there is none.
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
