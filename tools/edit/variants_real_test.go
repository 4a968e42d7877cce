package edit

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// realEdit is one hunk of a commit: the file before it, the line (from 0) at which the hunk begins,
// and its lines with their markers.
type realEdit struct {
	Path    string
	Content string
	Start   int
	Hunk    []string
}

// loadEdits reads recorded hunks, one JSON object a line.
func loadEdits(t testing.TB, name string) []realEdit {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []realEdit
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e realEdit
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// withContext returns the edit with at most n lines of context at either end.
func (e realEdit) withContext(n int) realEdit {
	lead, tail := 0, 0
	for lead < len(e.Hunk) && e.Hunk[lead][0] == ' ' {
		lead++
	}
	for tail < len(e.Hunk)-lead && e.Hunk[len(e.Hunk)-1-tail][0] == ' ' {
		tail++
	}
	cut := max(0, lead-n)
	e.Start += cut
	e.Hunk = e.Hunk[cut : len(e.Hunk)-max(0, tail-n)]
	return e
}

// side returns the lines of the hunk with one of the markers in ops.
func (e realEdit) side(ops string) []string {
	out := []string{}
	for _, l := range e.Hunk {
		if strings.IndexByte(ops, l[0]) >= 0 {
			out = append(out, l[1:])
		}
	}
	return out
}

func (e realEdit) old() []string { return e.side(" -") }
func (e realEdit) new() []string { return e.side(" +") }

// truth returns the file after the commit, with this hunk only.
func (e realEdit) truth() string {
	lines := strings.Split(e.Content, "\n")
	out := append(append(append([]string{}, lines[:e.Start]...), e.new()...), lines[e.Start+len(e.old()):]...)
	return strings.Join(out, "\n")
}

// distinct reports whether the old lines occur once in the file if indentation is ignored, so that
// nothing but the slip stands between the edit and its place.
func (e realEdit) distinct() bool {
	old := e.old()
	return len(old) > 0 && !allBlank(old) && len(windows(levelTrimPunct, splitLines(e.Content), old)) == 1
}
