package ignore

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A Repository holds the locations of the parts of a git repository.
type Repository struct {
	Top    string // the top directory of the work tree
	Git    string // the parts that belong to this work tree: HEAD, index
	Common string // the parts shared by all work trees: objects, config, info/exclude
}

// Locate finds the repository whose work tree contains the absolute path dir.
func Locate(dir string) (Repository, bool) {
	for {
		git := filepath.Join(dir, ".git")
		if st, err := os.Stat(git); err == nil {
			r := Repository{Top: dir, Git: git, Common: git}
			if !st.IsDir() {
				r.follow(git)
			}
			return r, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Repository{}, false
		}
		dir = parent
	}
}

// maxLink limits the size of a file that names a directory.
const maxLink = 64 << 10

// follow reads the .git file of a linked work tree or submodule.
func (r *Repository) follow(file string) {
	text, err := regular.Read(file, maxLink)
	if err != nil {
		return
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	r.Git, r.Common = dir, dir
	if text, err := regular.Read(filepath.Join(dir, "commondir"), maxLink); err == nil {
		c := strings.TrimSpace(string(text))
		if !filepath.IsAbs(c) {
			c = filepath.Join(dir, c)
		}
		r.Common = c
	}
}
