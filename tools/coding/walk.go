package coding

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// walk calls fn for every file and directory below from, in lexical order, directories before their
// contents. Ignored files are skipped, unless from itself is ignored or all is set; .git and
// temporary files are always skipped. Symbolic links are reported but not followed. fn may return
// [fs.SkipDir] and [fs.SkipAll]. Files that cannot be read are counted; they are not an error.
func (w opened) walk(ctx context.Context, from target, all bool, fn func(rel string, d fs.DirEntry) error) (unreadable int, err error) {
	visit := func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			unreadable++
			return nil
		case rel != "." && (d.Name() == ".git" || isTempName(d.Name())):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case rel == from.rel && d.IsDir():
			return nil
		case from.rel != "." && !strings.HasPrefix(rel, from.rel+"/") && rel != from.rel:
			if d.IsDir() && !strings.HasPrefix(from.rel, rel+"/") && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		return fn(rel, d)
	}
	m := w.ignored()
	if all || m.Match(from.rel, from.info.IsDir()) {
		return unreadable, w.walkAll(from.rel, fs.FileInfoToDirEntry(from.info), visit)
	}
	err = m.Walk(visit)
	return unreadable, err
}

// walkAll is walk without ignore rules.
func (w opened) walkAll(rel string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	err := w.walkDir(rel, d, visit)
	if err == fs.SkipAll || err == fs.SkipDir {
		return nil
	}
	return err
}

func (w opened) walkDir(rel string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	if err := visit(rel, d, nil); err != nil || !d.IsDir() {
		if err == fs.SkipDir && d.IsDir() {
			return nil
		}
		return err
	}
	entries, err := w.readDir(rel)
	if err != nil {
		if err := visit(rel, d, err); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := w.walkDir(path.Join(rel, e.Name()), e, visit); err != nil {
			return err
		}
	}
	return nil
}

// A nameFilter selects files by path. The zero value selects all.
type nameFilter struct {
	patterns []string // doublestar patterns of the path below base
	base     string
}

// newNameFilter parses a glob in the forms that models write: one without a slash matches in every
// directory, and a leading slash or "./" stands for base.
func newNameFilter(base, glob string) (nameFilter, error) {
	if glob == "" {
		return nameFilter{}, nil
	}
	p := strings.TrimPrefix(glob, "./")
	switch {
	case strings.HasPrefix(p, "/"):
		p = p[1:]
	case !strings.Contains(p, "/"):
		p = "**/" + p
	}
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	if !doublestar.ValidatePattern(p) {
		return nameFilter{}, fmt.Errorf("the pattern %q is malformed: check its brackets and braces, and put \\ before a character that is meant literally", glob)
	}
	return nameFilter{[]string{p}, base}, nil
}

func (f nameFilter) match(rel string) bool {
	if f.patterns == nil {
		return true
	}
	if f.base != "." {
		rel = strings.TrimPrefix(rel, f.base+"/")
	}
	for _, p := range f.patterns {
		if doublestar.MatchUnvalidated(p, rel) {
			return true
		}
	}
	return false
}
