package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// scratchLock is the file in a scratch directory that its owner keeps locked. The
// kernel lets go of it with the owner's last breath, whatever killed it.
const scratchLock = "lock"

// lockless is how old a scratch directory without a lock must be to count as
// left behind: between the making of the two lie microseconds.
const lockless = 10 * time.Minute

// sweep removes the scratch directories in dir whose owners are dead and returns
// how many there were. Those of other users are left alone, and so is whatever
// cannot be looked at.
func sweep(dir string, now time.Time) (int, error) {
	paths, err := filepath.Glob(filepath.Join(globQuote(dir), scratchPrefix+"*"))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range paths {
		fi, statErr := os.Lstat(p)
		if statErr != nil || !fi.IsDir() || !ownedByUs(fi) {
			continue
		}
		lock, lockErr := takeScratch(p)
		switch {
		case errors.Is(lockErr, fs.ErrNotExist) && now.Sub(fi.ModTime()) > lockless:
		case lockErr != nil:
			continue // in use, or too young to tell
		}
		n++
		err = errors.Join(err, (&workspace{scratch: p, lock: lock}).remove())
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
