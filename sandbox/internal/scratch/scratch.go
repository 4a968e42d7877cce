// Package scratch makes the directories that sandboxes keep on the host, and removes those whose
// owners are dead: each has a lock that its owner holds.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Prefix begins the name of every directory that sandboxes keep on the host.
const Prefix = "luthier-sandbox-"

// New makes a directory of ours below dir, in use until the lock is closed. On systems where
// nobody sweeps the lock is nil.
func New(dir, kind string) (path string, lock *os.File, err error) {
	if path, err = os.MkdirTemp(dir, Prefix+kind+"*"); err != nil {
		return "", nil, err
	}
	if lock, err = lockDir(path); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(path))
	}
	return path, lock, nil
}

// Lock is the file in a scratch directory that its owner keeps locked. The
// kernel lets go of it with the owner's last breath, whatever killed it.
const Lock = "lock"

// lockless is how old a scratch directory without a lock must be to count as
// left behind: between the making of the two lie microseconds.
const lockless = 10 * time.Minute

// Sweep removes the scratch directories in dir whose owners are dead and returns
// how many there were. Those of other users are left alone, and so is whatever
// cannot be looked at.
func Sweep(dir string, now time.Time) (int, error) {
	paths, err := filepath.Glob(filepath.Join(globQuote(dir), Prefix+"*"))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range paths {
		fi, statErr := os.Lstat(p)
		if statErr != nil || !fi.IsDir() || !ownedByUs(fi) {
			continue
		}
		lock, lockErr := takeOver(p)
		switch {
		case errors.Is(lockErr, fs.ErrNotExist) && now.Sub(fi.ModTime()) > lockless:
		case lockErr != nil:
			continue // in use, or too young to tell
		}
		n++
		err = errors.Join(err, tree.Remove(p))
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
	}
	return n, err
}

// globQuote takes the meaning from characters that filepath.Match has plans for.
func globQuote(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[', '\\':
			if filepath.Separator == '/' {
				out = append(out, '\\')
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
