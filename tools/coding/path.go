package coding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// A target is a path given by a model in its one canonical form: relative to the root, with
// slashes, without symbolic links. Two spellings of one file have the same rel, which locks, views
// and effects use as the key.
type target struct {
	rel  string      // "." means the root
	info fs.FileInfo // nil if nothing exists there yet; never a symbolic link
}

const (
	maxPath  = 4096
	maxLinks = 40 // as on Linux
)

var (
	errOutside = errors.New("it is outside the workspace")
	errLoop    = errors.New("symbolic links form a loop")
)

// resolve walks p from the root and follows links itself: [os.Root] would follow them too, but
// would not report where they lead. The result of resolve is still opened through os.Root, so that
// a link put in place meanwhile cannot lead out of the root.
func (w opened) resolve(p string) (target, error) {
	rest, err := w.relative(p)
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", show.Path(p), err)
	}
	t, err := w.follow(rest)
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", show.Path(p), err)
	}
	return t, nil
}

// relative checks the spelling of p and makes it relative to the root, without looking at the file
// system.
func (w *Workspace) relative(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("the path is empty; name a file relative to the workspace, or \".\" for all of it")
	case strings.IndexByte(p, 0) >= 0:
		return "", errors.New("the path has a NUL byte")
	case len(p) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	}
	if !filepath.IsAbs(p) {
		return filepath.ToSlash(p), nil
	}
	for _, base := range []string{w.dir, w.name} {
		// Compare as text: cleaning p would drop a link together with the ".." after it.
		if rest, ok := strings.CutPrefix(p, base); ok && (rest == "" || os.IsPathSeparator(rest[0]) || strings.HasSuffix(base, "/")) {
			return "./" + filepath.ToSlash(rest), nil
		}
	}
	return "", fmt.Errorf("%w %s; use a path relative to it", errOutside, w.dir)
}

// follow resolves rest element by element. at is always canonical, so that ".." can drop its last
// element.
func (w opened) follow(rest string) (target, error) {
	todo := strings.Split(rest, "/")
	at := target{rel: "."}
	var err error
	if at.info, err = w.root.Lstat("."); err != nil {
		return target{}, show.Cause(err)
	}
	for links := 0; len(todo) > 0; {
		elem := todo[0]
		todo = todo[1:]
		switch {
		case elem == "" || elem == ".":
			continue
		case elem == "..":
			if at.rel == "." {
				return target{}, fmt.Errorf("%w; use a path relative to it, without ..", errOutside)
			}
			if at, err = w.parent(at); err != nil {
				return target{}, err
			}
			continue
		case at.info == nil:
			at.rel = path.Join(at.rel, elem)
			continue
		case !at.info.IsDir():
			return target{}, fmt.Errorf("%s is not a directory", show.Path(at.rel))
		}
		next := target{rel: w.realName(at.rel, elem)}
		next.info, err = w.root.Lstat(next.rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			next.info = nil
		case err != nil:
			return target{}, show.Cause(err)
		case next.info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return target{}, errLoop
			}
			dest, back, err := w.readLink(next.rel)
			if err != nil {
				return target{}, err
			}
			todo = append(strings.Split(dest, "/"), todo...)
			if back {
				if at, err = w.follow("."); err != nil {
					return target{}, err
				}
			}
			continue
		}
		at = next
	}
	return at, nil
}

func (w opened) parent(t target) (target, error) {
	up := target{rel: path.Dir(t.rel)}
	info, err := w.root.Lstat(up.rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return target{}, show.Cause(err)
	}
	if err == nil {
		up.info = info
	}
	return up, nil
}

// readLink returns the destination of a link. fromRoot reports whether dest starts at the root
// instead of the link's directory.
func (w opened) readLink(rel string) (dest string, fromRoot bool, err error) {
	dest, err = w.root.Readlink(rel)
	if err != nil {
		return "", false, show.Cause(err)
	}
	if !filepath.IsAbs(dest) {
		return filepath.ToSlash(dest), false, nil
	}
	in, err := w.relative(dest)
	if err != nil {
		return "", false, fmt.Errorf("the symbolic link %s leads out of the workspace, to %s", show.Path(rel), show.Path(dest))
	}
	return in, true, nil
}

// realName joins dir and elem. If the file system accepts other spellings of a name for the same
// file, it returns the spelling in the directory.
func (w opened) realName(dir, elem string) string {
	joined := path.Join(dir, elem)
	if !w.folds {
		return joined
	}
	want, err := w.root.Lstat(joined)
	if err != nil {
		return joined
	}
	entries, err := w.readDir(dir)
	if err != nil {
		return joined
	}
	for _, e := range entries {
		if e.Name() == elem {
			return joined
		}
	}
	for _, e := range entries {
		if have, err := w.root.Lstat(path.Join(dir, e.Name())); err == nil && strings.EqualFold(e.Name(), elem) && os.SameFile(want, have) {
			return path.Join(dir, e.Name())
		}
	}
	return joined
}

// foldsCase reports whether the file system finds an entry of the root under a name with the other
// case.
func foldsCase(root *os.Root) bool {
	d, err := root.Open(".")
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(64)
	for _, n := range names {
		other := strings.ToUpper(n)
		if other == n {
			other = strings.ToLower(n)
		}
		if other == n {
			continue
		}
		a, errA := root.Lstat(n)
		b, errB := root.Lstat(other)
		if errA == nil {
			return errB == nil && os.SameFile(a, b)
		}
	}
	return false
}

// checkWritable returns an error for paths that no tool may write: inside .git, and new names that
// nobody could have intended.
func checkWritable(t target) error {
	if t.rel == "." {
		return errors.New("it is the workspace itself, not a file")
	}
	for elem := range strings.SplitSeq(t.rel, "/") {
		// The other spellings lead to .git on file systems that fold case, drop trailing dots or
		// create short names.
		if sandbox.InGit(elem) {
			return fmt.Errorf("%s: files inside .git are git's own and are not written by file tools; use git commands instead", show.Path(t.rel))
		}
		if isTempName(elem) {
			return fmt.Errorf("%s: names of this form are kept for temporary files; choose another name", show.Path(t.rel))
		}
	}
	if t.info != nil {
		return nil
	}
	for elem := range strings.SplitSeq(t.rel, "/") {
		if strings.TrimSpace(elem) != elem || strings.ContainsFunc(elem, unicode.IsControl) {
			return fmt.Errorf("%s: the new name begins or ends with a blank, or has a control character; give the path without it", show.Path(t.rel))
		}
	}
	return nil
}
