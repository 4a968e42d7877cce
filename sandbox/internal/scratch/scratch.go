// Package scratch makes the directories that sandboxes keep on the host, and removes those whose
// owners are dead: each contains a lock that its owner holds.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Prefix is the prefix of the name of every directory that sandboxes keep on the host.
const Prefix = "luthier-sandbox-"

// New makes a directory owned by this process below dir, in use until the lock is closed. On
// systems that never sweep the lock is nil.
func New(dir, kind string) (path string, lock *os.File, err error) {
	if path, err = os.MkdirTemp(dir, Prefix+kind+"*"); err != nil {
		return "", nil, err
	}
	if lock, err = lockDir(path); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(path))
	}
	return path, lock, nil
}

// Lock is the name of the file in a scratch directory that its owner keeps locked. The kernel
// releases the lock when the owner ends, however it ends.
const Lock = "lock"

// lockless is the age from which a scratch directory without a lock counts as abandoned: making the
// directory and making the lock are only microseconds apart.
const lockless = 10 * time.Minute

// Sweep removes the scratch directories in dir whose owners are dead and returns their number.
// Those of other users are left alone, and so is whatever cannot be examined.
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
			continue // in use, or too young to decide
		}
		n++
		err = errors.Join(err, tree.Remove(p))
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
	}
	return n, err
}

// globQuote quotes the characters that are special to filepath.Match.
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
