package sandbox

import (
	"os"
	"path"
	"path/filepath"
	"slices"
)

// walled returns what the grants keep read-only.
func (ws *workspace) walled(grants []grant) *wall {
	w := &wall{dir: ws.dir}
	if ws.inPlace() && ws.readOnly {
		w.paths = []string{"."}
	}
	for _, g := range grants {
		if rel, err := filepath.Rel(ws.dir, g.path); err == nil && g.readOnly {
			w.paths = append(w.paths, filepath.ToSlash(rel))
		}
	}
	if len(w.paths) == 0 {
		return nil
	}
	return w
}

// protect lists the paths of a workspace in place that are mounted over themselves. A mount cannot
// be renamed or removed. A directory that contains one can be renamed, and another could take its
// place with other contents, so the directories above are mounted over themselves too, writable.
func (ws *workspace) protect(unprotect []string) []grant {
	if !ws.inPlace() || ws.readOnly || ws.dir == "" || slices.Contains(unprotect, "*") {
		return nil
	}
	var out []grant
	seen := map[string]bool{}
	put := func(rel string, g grant) {
		g.path = filepath.Join(ws.dir, filepath.FromSlash(rel))
		fi, err := os.Lstat(g.path)
		if err == nil && !seen[g.path] && (fi.IsDir() || fi.Mode().IsRegular()) { // links are never followed
			seen[g.path] = true
			g.owned, g.pinned = true, true
			out = append(out, g)
		}
	}
	var around []string
	add := func(rel string, readOnly bool) {
		put(rel, grant{readOnly: readOnly})
		for above := path.Dir(rel); above != "."; above = path.Dir(above) {
			around = append(around, above)
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
	for _, rel := range around {
		put(rel, grant{ownerOf: ws.dir}) // unless it is protected itself
	}
	return out
}
