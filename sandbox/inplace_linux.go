package sandbox

import (
	"os"
	"path"
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
	seen := map[string]bool{}
	add := func(rel string, readOnly bool) {
		p := filepath.Join(ws.dir, filepath.FromSlash(rel))
		fi, err := os.Lstat(p)
		if err == nil && !seen[p] && (fi.IsDir() || fi.Mode().IsRegular()) { // links are never followed
			seen[p] = true
			out = append(out, grant{path: p, readOnly: readOnly, owned: true, pinned: true})
		}
	}
	for _, rel := range protectedIn(ws.dir) {
		if path.Base(rel) == ".git" && slices.Contains(unprotect, ".git") {
			add(rel, false)
			for _, part := range gitParts {
				if !slices.Contains(unprotect, part) {
					add(path.Dir(rel)+"/"+part, true)
				}
			}
			continue
		}
		if !unprotected(unprotect, rel) {
			add(rel, true)
		}
	}
	return out
}
