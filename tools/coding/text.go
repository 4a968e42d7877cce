package coding

import "strings"

// countLines counts the lines of a text; the last one may lack its newline.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
