package coding

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// errChanging means that somebody kept writing the file while it was read.
var errChanging = errors.New("the file keeps changing while it is read; try again later")

// openFile opens a regular file, and does not wait if a FIFO was put in its place.
func (w opened) openFile(t target) (*os.File, fs.FileInfo, error) {
	if err := w.checkRegular(t); err != nil {
		return nil, nil, err
	}
	f, info, err := regular.OpenInfoIn(w.root, t.rel, os.O_RDONLY)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show.Path(t.rel), show.Cause(err))
	}
	return f, info, nil
}

// checkRegular returns an error in words if t cannot be opened as a regular file.
func (w opened) checkRegular(t target) error {
	switch {
	case t.info == nil:
		return w.missing(t.rel)
	case t.info.IsDir():
		return fmt.Errorf("%s is a directory; use list to see what it holds", show.Path(t.rel))
	case !t.info.Mode().IsRegular():
		return fmt.Errorf("%s is a %s, not a regular file; it cannot be read or written", show.Path(t.rel), kindName(t.info.Mode()))
	}
	return nil
}

func kindName(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}

// readAll returns the complete content of a regular file of at most max bytes, as it was at one
// moment.
func (w opened) readAll(t target, max int) ([]byte, fs.FileInfo, error) {
	for range 3 {
		data, info, err := w.readOnce(t, max)
		if !errors.Is(err, errChanging) {
			return data, info, err
		}
		if t, err = w.resolve(t.rel); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%s: %w", show.Path(t.rel), errChanging)
}

func (w opened) readOnce(t target, max int) ([]byte, fs.FileInfo, error) {
	f, before, err := w.openFile(t)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if before.Size() > int64(max) {
		return nil, nil, tooLarge(t.rel, before.Size(), max)
	}
	data := make([]byte, 0, before.Size()+1)
	data, err = appendAll(data, io.LimitReader(f, int64(max)+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show.Path(t.rel), show.Cause(err))
	}
	if len(data) > max {
		return nil, nil, tooLarge(t.rel, int64(len(data)), max)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", show.Path(t.rel), show.Cause(err))
	}
	if !sameState(before, after) {
		return nil, nil, errChanging
	}
	return data, after, nil
}

// appendAll is io.ReadAll into a buffer of the right size.
func appendAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

func tooLarge(rel string, size int64, max int) error {
	return fmt.Errorf("%s has %s, more than the %s this tool takes; use read with offset and limit, or grep", show.Path(rel), show.Size(size), show.Size(int64(max)))
}

// sameState reports whether nothing suggests that a file was written between two checks.
func sameState(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// readDir lists a directory through the root, sorted by name, without temporary files.
func (w opened) readDir(rel string) ([]fs.DirEntry, error) {
	entries, err := regular.ReadDirIn(w.root, rel)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return isTempName(e.Name()) })
	if err != nil {
		return entries, show.Cause(err)
	}
	return entries, nil
}

// missing returns the error for a path where nothing exists, with the nearest names that do.
func (w opened) missing(rel string) error {
	dir, name := w.firstMissing(rel)
	if other, onlyCase, ok := w.lookalike(dir, name); ok && !onlyCase {
		same := path.Join(dir, other)
		return fmt.Errorf("%s does not exist; did you mean %s, which looks the same? Its path in JSON is %s", show.Path(rel), show.Path(same), escaped(same))
	}
	if near := w.nearest(rel); len(near) > 0 {
		return fmt.Errorf("%s does not exist; did you mean %s?", show.Path(rel), strings.Join(near, " or "))
	}
	return fmt.Errorf("%s does not exist; use glob or list to find the file", show.Path(rel))
}

// nearest returns at most three similar names in the deepest existing directory of rel.
func (w opened) nearest(rel string) []string {
	dir, name := path.Dir(rel), path.Base(rel)
	entries, err := w.readDir(dir)
	for err != nil && dir != "." {
		dir, name = path.Dir(dir), path.Base(dir)
		entries, err = w.readDir(dir)
	}
	type candidate struct {
		name string
		cost int
	}
	var found []candidate
	limit := max(2, len(name)/3)
	for _, e := range entries[:min(len(entries), 5000)] {
		if d := distance(strings.ToLower(name), strings.ToLower(e.Name()), limit); d <= limit {
			p := path.Join(dir, e.Name())
			if e.IsDir() {
				p += "/"
			}
			found = append(found, candidate{show.Path(p), d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.cost - b.cost })
	var names []string
	for _, c := range found[:min(len(found), 3)] {
		names = append(names, c.name)
	}
	return names
}

// distance returns the number of one-byte edits between a and b, or limit+1 if there are more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit+1)
}
