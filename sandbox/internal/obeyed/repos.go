package obeyed

import (
	"io/fs"
	"path/filepath"
)

// maxWalked is the most names that Repositories looks at.
const maxWalked = 400_000

// A Repository is a git directory below a workspace.
type Repository struct {
	Path string // of the work tree or the bare repository, relative to the workspace
	Bare bool
	Git  fs.FileMode // type of its .git; 0 if it is a file
}

// Repositories finds the repositories below dir, the shallow ones first. complete is false if there
// are too many names to look at them all.
func Repositories(dir string) (found []Repository, complete bool) {
	budget := maxWalked
	queue := []string{"."}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if budget <= 0 {
			return found, false
		}
		list := entries(filepath.Join(dir, filepath.FromSlash(at)), budget)
		budget -= len(list) + 1
		has := map[string]bool{}
		for _, e := range list {
			name := e.Name()
			if name == ".git" {
				if at != "." {
					found = append(found, Repository{Path: at, Git: e.Type()})
				}
				continue
			}
			switch name {
			case "HEAD", "objects", "refs":
				has[name] = true
			}
			if !e.IsDir() {
				continue
			}
			if at == "." {
				queue = append(queue, name)
			} else {
				queue = append(queue, at+"/"+name)
			}
		}
		if len(has) == 3 && at != "." {
			found = append(found, Repository{Path: at, Bare: true})
		}
	}
	return found, true
}
