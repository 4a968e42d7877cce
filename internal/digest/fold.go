package digest

import (
	"fmt"
	"strings"
)

// Fold says what repeats in an output only once: a line that comes several times in a row, lines in
// a row that differ in numbers alone, a block of lines that was there before, and a long line that
// was there before. What was left out stands in square brackets in its place, with its count. Lines
// that tell of errors are left out only if they are the same to the byte.
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

// row is a line that comes count times in a row.
type row struct{ from, to, count int32 }

type folder struct {
	text string
	row  []row
	out  strings.Builder
}

// rows cuts the text into lines, the same one in a row only once.
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

// What is worth folding.
const (
	leastBlock  = 4   // lines
	leastBytes  = 120 // of a block
	longLine    = 120 // bytes
	leastSeries = 5   // lines that differ in numbers alone
)

func (f *folder) write() string {
	last := make(map[string]int) // where a line was last
	for i := 0; i < len(f.row); {
		line := f.line(i)
		j, seen := last[line]
		if seen {
			if n := f.again(i, j); n > 0 {
				times := 1
				for i-j == n*times && f.again(i+n, i) == n { // and again
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

// one writes a row: its line, and how often it comes.
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

// again returns how many rows from i on are those from j on, if they are enough to fold; the two do
// not overlap.
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

// series returns how many rows from i on differ from one another in numbers alone.
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

// wordy tells a line that may be one of a series: it has words, and nothing of an error.
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
