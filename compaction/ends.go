package compaction

import (
	"fmt"
	"strings"
)

// ends returns the first and the last lines of a text, about tokens together, and says between them
// which lines it left out.
func (c *Compactor) ends(text string, tokens int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return c.fit(tokens, func(room int) string {
		head, tail, used := 0, len(lines), 0
		for head < tail && used+len(lines[head]) <= room*2/3 {
			used += len(lines[head])
			head++
		}
		for used = 0; tail > head && used+len(lines[tail-1]) <= room/3; tail-- {
			used += len(lines[tail-1])
		}
		if tail-head <= 0 {
			return text
		}
		if head == 0 || tail == len(lines) { // lines that are too long to keep or drop
			return cutLines(text, room)
		}
		return fmt.Sprintf("%s[… lines %d to %d left out …]\n%s", strings.Join(lines[:head], ""), head+1, tail, strings.Join(lines[tail:], ""))
	})
}
