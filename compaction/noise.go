package compaction

import "github.com/luthier-dev/luthier/internal/digest"

// quiet removes what a terminal would not show, or would show only for a moment, and folds repeated
// lines.
func quiet(text string) (clean, folded string) {
	clean = digest.Clean(text)
	return clean, digest.Fold(clean)
}
