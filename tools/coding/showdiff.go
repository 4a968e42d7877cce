package coding

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

const (
	previewFile   = 1 << 20  // larger files have no preview
	previewBytes  = 12 << 10 // maximum size of a preview
	changedMax    = 120      // maximum lines of a changed region
	changedAround = 2        // unchanged lines around it
)

// preview returns the unified diff that a call would make, for a person, or "" if it is empty or
// too costly.
func preview(name, before, after string) string {
	if len(before) > previewFile || len(after) > previewFile {
		return ""
	}
	return clip(udiff.Unified("a/"+name, "b/"+name, before, after), previewBytes)
}

// changedLines shows the lines of after that differ from before, numbered, with a few lines of
// context.
func changedLines(before, after string, lineBytes int) string {
	if len(before) > 8*previewFile || len(after) > 8*previewFile {
		return ""
	}
	d, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), changedAround)
	if err != nil {
		return ""
	}
	var b strings.Builder
	shown := 0
	for _, h := range d.Hunks {
		if b.Len() > 0 {
			b.WriteString("...\n")
		}
		n := h.ToLine
		for _, l := range h.Lines {
			if l.Kind == udiff.Delete {
				continue
			}
			if shown == changedMax {
				b.WriteString("... (more changed lines are not shown)\n")
				return b.String()
			}
			fmt.Fprintf(&b, "%d\t%s\n", n, show.Line(strings.TrimRight(l.Content, "\r\n"), lineBytes))
			n++
			shown++
		}
	}
	return b.String()
}
