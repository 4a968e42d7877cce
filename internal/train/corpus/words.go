package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/train/rename"
)

// ReadWords counts the words in the names of all functions.
func (w *Writer) ReadWords() (*rename.Words, error) {
	dirs := map[string]string{}
	for _, s := range w.Sources {
		dirs[s.Path] = s.Dir
	}
	out, seen := new(rename.Words), map[string]bool{}
	for _, f := range w.Functions {
		path := filepath.Join(dirs[f.Module], filepath.FromSlash(f.File))
		if seen[path] {
			continue
		}
		seen[path] = true
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("corpus: read words: %w", err)
		}
		for _, part := range strings.Split(string(src), "\nfunc ") {
			out.Observe(part)
		}
	}
	out.Seal()
	return out, nil
}
