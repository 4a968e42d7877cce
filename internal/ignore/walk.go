package ignore

import (
	"errors"
	"io/fs"
)

// Walk calls fn for every file and directory below root that is not ignored, as [Matcher.Walk]
// does.
func Walk(root string, fn fs.WalkDirFunc) error { return New(root).Walk(fn) }

// Walk calls fn for every file and directory of the tree that is not ignored, in lexical order:
// each directory before its contents, and the root first, as ".". It works like [fs.WalkDir] with
// ignored files left out: errors from fn, [fs.SkipDir] and [fs.SkipAll] have the same meaning, and
// symbolic links are reported and never followed. Ignored directories are not read at all.
func (m *Matcher) Walk(fn fs.WalkDirFunc) error {
	info, err := fs.Stat(m.fsys, ".")
	if err != nil {
		err = fn(".", nil, err)
	} else {
		err = m.walk(".", fs.FileInfoToDirEntry(info), m.outer, fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (m *Matcher) walk(rel string, d fs.DirEntry, rules *layer, fn fs.WalkDirFunc) error {
	if err := fn(rel, d, nil); err != nil || !d.IsDir() {
		if err == fs.SkipDir && d.IsDir() {
			return nil
		}
		return err
	}
	entries, err := fs.ReadDir(m.fsys, rel)
	if err != nil {
		if err = fn(rel, d, err); err != nil {
			if err == fs.SkipDir {
				return nil
			}
			return err
		}
	}
	dir := ""
	if rel != "." {
		dir = rel + "/"
	}
	for _, e := range entries {
		if e.Name() == ".gitignore" {
			rules = rules.read(m.fsys, rel, m.prefix+dir)
			break
		}
	}
	for _, e := range entries {
		child := dir + e.Name()
		if rules.ignores(m.prefix+child, e.IsDir()) {
			continue
		}
		if err := m.walk(child, e, rules, fn); err != nil {
			if err == fs.SkipDir {
				return nil // fn returned the request to skip the rest of this directory
			}
			return err
		}
	}
	return nil
}
