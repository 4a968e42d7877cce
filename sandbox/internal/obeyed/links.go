package obeyed

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
)

// maxLinks is the most symbolic links followed on one path, as in the kernel.
const maxLinks = 40

// finder collects the places of a workspace.
type finder struct {
	dir  string // the workspace: absolute, without links
	home string
	out  *Places
	read map[string]bool // configurations that were read
}

// inside returns the paths in the workspace by which an absolute path is reached: the links on the
// way, and where it leads. A part that does not exist counts as a directory to come.
func (f *finder) inside(path string) []string {
	var out []string
	add := func(at string) {
		if rel, ok := f.rel(at); ok && rel != "." {
			out = append(out, rel)
		}
	}
	at := filepath.VolumeName(path) + string(filepath.Separator)
	todo := split(strings.TrimPrefix(path, at))
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return out
		}
		add(next)
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = strings.TrimPrefix(target, at)
		}
		todo = append(split(target), todo...)
	}
	add(at)
	return out
}

func split(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

// rel makes an absolute path relative to the workspace.
func (f *finder) rel(path string) (string, bool) {
	rel, err := filepath.Rel(f.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// aliases finds links at the top of the workspace, and in directories of the table, that have a
// name of the table: what they lead to is read under that name.
func (f *finder) aliases() {
	var paths review.Paths
	f.aliasesIn(&paths, ".", 2)
}

// maxNames is the most names of a directory that are looked at.
const maxNames = 10_000

func (f *finder) aliasesIn(paths *review.Paths, dir string, depth int) {
	for _, e := range entries(filepath.Join(f.dir, filepath.FromSlash(dir)), maxNames) {
		rel := e.Name()
		if dir != "." {
			rel = dir + "/" + rel
		}
		isLink := e.Type()&fs.ModeSymlink != 0
		switch {
		case isLink && (paths.Named(rel) || paths.Leads(rel)):
			for _, to := range f.inside(filepath.Join(f.dir, filepath.FromSlash(rel))) {
				if to != rel {
					f.out.links = append(f.out.links, link{to, rel})
				}
			}
		case e.IsDir() && depth > 0 && paths.Leads(rel):
			f.aliasesIn(paths, rel, depth-1)
		}
	}
}

// Entries lists a directory in order; what cannot be read is left out.
func Entries(dir string) []os.DirEntry {
	list := entries(dir, -1)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// entries lists at most a number of names of a directory, without an order.
func entries(dir string, most int) []os.DirEntry {
	d, err := regular.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, _ := d.ReadDir(most)
	return list
}
