package compaction

import "github.com/luthier-dev/luthier/internal/digest"

// quiet takes out of an output what a terminal would not show, or shows for a moment only, and
// folds lines that repeat.
func quiet(text string) (clean, folded string) {
	clean = digest.Clean(text)
	return clean, digest.Fold(clean)
}
