package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// protect lists the paths of a workspace in place that are mounted over themselves. A mount cannot
// be renamed or removed, nor can a directory that contains it.
func (ws *workspace) protect(unprotect []string) []grant {
	if !ws.inPlace() || ws.readOnly || ws.dir == "" || slices.Contains(unprotect, "*") {
		return nil
	}
	var out []grant
	add := func(rel string, readOnly bool) {
		p := filepath.Join(ws.dir, filepath.FromSlash(rel))
		fi, err := os.Lstat(p)
		if err == nil && (fi.IsDir() || fi.Mode().IsRegular()) { // links are never followed
			out = append(out, grant{path: p, readOnly: readOnly, owned: true, pinned: true})
		}
	}
	for _, rel := range protectedPaths {
		if !slices.Contains(unprotect, rel) {
			add(rel, true)
			continue
		}
		if rel != ".git" {
			continue
		}
		add(rel, false)
		for _, part := range gitParts {
			if !slices.Contains(unprotect, part) {
				add(part, true)
			}
		}
	}
	return out
}
