package digest

import (
	"fmt"
	"strings"
)

// Fold writes repeated parts of an output only once: a line that occurs several times in a row,
// consecutive lines that differ only in numbers, a block of lines that occurred before, and a long
// line that occurred before. A note in square brackets with the count replaces what was left out.
// Lines that report errors are left out only if they are identical.
func Fold(text string) string {
	if len(text) > 1<<30 {
		return text
	}
	f := folder{text: text}
	f.rows()
	if len(f.row) == 0 {
		return text
	}
	return f.write()
}

// row is a line that occurs count times in a row.
type row struct{ from, to, count int32 }

type folder struct {
	text string
	row  []row
	out  strings.Builder
}

// rows cuts the text into lines and joins identical consecutive lines.
func (f *folder) rows() {
	for at := 0; at < len(f.text); {
		end := strings.IndexByte(f.text[at:], '\n')
		if end < 0 {
			end = len(f.text)
		} else {
			end += at
		}
		if n := len(f.row); n > 0 && f.line(n-1) == f.text[at:end] {
			f.row[n-1].count++
		} else {
			f.row = append(f.row, row{int32(at), int32(end), 1})
		}
		at = end + 1
	}
}

func (f *folder) line(i int) string { return f.text[f.row[i].from:f.row[i].to] }

// Minimum sizes of parts that are folded.
const (
	leastBlock  = 4   // lines
	leastBytes  = 120 // of a block
	longLine    = 120 // bytes
	leastSeries = 5   // lines that differ only in numbers
)

func (f *folder) write() string {
	last := make(map[string]int) // last occurrence of each line
	for i := 0; i < len(f.row); {
		line := f.line(i)
		j, seen := last[line]
		if seen {
			if n := f.again(i, j); n > 0 {
				times := 1
				for i-j == n*times && f.again(i+n, i) == n { // the block is repeated again
					i, times = i+n, times+1
				}
				f.block(i, n, times)
				for k := i; k < i+n; k++ {
					last[f.line(k)] = k
				}
				i += n
				continue
			}
		}
		last[line] = i
		if seen && len(line) >= longLine && f.row[i].count == 1 {
			fmt.Fprintf(&f.out, "%s… [the same line again]\n", shorten(line, 40))
			i++
			continue
		}
		n := f.series(i)
		f.one(i)
		if n >= leastSeries {
			if n > 2 {
				fmt.Fprintf(&f.out, "[%d more lines like this]\n", n-2)
			}
			i += n - 1
			f.one(i)
		}
		i++
	}
	out := f.out.String()
	if !strings.HasSuffix(f.text, "\n") {
		out = strings.TrimSuffix(out, "\n")
	}
	if len(out) > len(f.text) {
		return f.text
	}
	return out
}

// one writes a row: its line, and its number of repetitions.
func (f *folder) one(i int) {
	r := f.row[i]
	line := f.line(i)
	f.out.WriteString(line)
	f.out.WriteByte('\n')
	switch {
	case r.count == 1:
	case int(r.count)*len(line) < 40 && r.count < 20:
		for range r.count - 1 {
			f.out.WriteString(line)
			f.out.WriteByte('\n')
		}
	default:
		fmt.Fprintf(&f.out, "[the same line %d times more]\n", r.count-1)
	}
}

// again returns the number of rows, starting at i, that repeat the rows starting at j. It returns 0
// if they are too few to fold. The two ranges do not overlap.
func (f *folder) again(i, j int) int {
	n, size := 0, 0
	for i+n < len(f.row) && j+n < i && f.row[i+n].count == f.row[j+n].count && f.line(i+n) == f.line(j+n) {
		size += len(f.line(i + n))
		n++
	}
	if n < leastBlock && n < i-j || size < leastBytes || n < 2 {
		return 0
	}
	return n
}

func (f *folder) block(i, n, times int) {
	if times > 1 {
		fmt.Fprintf(&f.out, "[%d lines again %d times, from: %s]\n", n, times, shorten(f.line(i), 60))
		return
	}
	fmt.Fprintf(&f.out, "[%d lines again, from: %s]\n", n, shorten(f.line(i), 60))
}

// series returns the number of consecutive rows, starting at i, that differ from one another only
// in numbers.
func (f *folder) series(i int) int {
	first := f.line(i)
	if !wordy(first) {
		return 1
	}
	form := shape(first)
	n := 1
	for i+n < len(f.row) {
		l := f.line(i + n)
		if len(l) > 4*len(first)+40 || !wordy(l) || shape(l) != form {
			break
		}
		n++
	}
	return n
}

// wordy reports whether a line may be part of a series: it has words, and no sign of an error.
func wordy(l string) bool {
	if len(l) > 160 {
		return false
	}
	letters := 0
	for i := range len(l) {
		if letter(l[i]) {
			letters++
		}
	}
	if letters < 8 || letters < len(l)/4 {
		return false
	}
	c, _ := cues.scan(l)
	return c&(cueError|cueFail|cueFrame) == 0
}
