package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

// CopyStep is the amount of data copied or compared between two checks of the context.
const CopyStep = 16 << 20

// copyContent writes the content of r, up to its size when it was opened, to the new file w. Holes
// are preserved: a file costs what it uses on the disk, not its nominal size.
func copyContent(ctx context.Context, w, r *os.File) error {
	fi, err := r.Stat()
	if err != nil {
		return err
	}
	size := fi.Size()
	for at := int64(0); at < size; {
		from, to := nextData(r, at, size)
		if err := copyRange(ctx, w, r, from, to); err == io.EOF {
			return nil // it became shorter meanwhile
		} else if err != nil {
			return err
		}
		at = to
	}
	return w.Truncate(size) // a hole at the end
}

// copyRange copies the bytes between two offsets. If r ends before that, it fails with io.EOF.
func copyRange(ctx context.Context, w, r *os.File, from, to int64) error {
	if from == to {
		return nil
	}
	for _, f := range []*os.File{w, r} {
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return err
		}
	}
	for left := to - from; left > 0; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := io.CopyN(w, r, min(left, CopyStep))
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// sameFile compares the contents of two regular files.
func sameFile(ctx context.Context, a, b *Entry) (bool, error) {
	if a.Info.Size() != b.Info.Size() {
		return false, nil
	}
	x, err := a.open()
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := b.open()
	if err != nil {
		return false, err
	}
	defer y.Close()
	return sameContent(ctx, x, y, a.Info.Size())
}

// sameContent compares two files of equal size. Where both have a hole, it reads neither.
func sameContent(ctx context.Context, x, y *os.File, size int64) (bool, error) {
	const piece = 64 << 10
	bx, by := make([]byte, min(size, piece)), make([]byte, min(size, piece))
	for at := int64(0); at < size; {
		fromX, toX := nextData(x, at, size)
		fromY, toY := nextData(y, at, size)
		if at = min(fromX, fromY); at == size {
			break
		}
		for end := min(toX, toY); at < end; {
			if err := context.Cause(ctx); err != nil {
				return false, err
			}
			n := min(end-at, piece)
			same, err := sameAt(x, y, bx[:n], by[:n], at)
			if err != nil || !same {
				return false, err
			}
			at += n
		}
	}
	return true, nil
}

func sameAt(x, y *os.File, bx, by []byte, at int64) (bool, error) {
	n, errX := x.ReadAt(bx, at)
	m, errY := y.ReadAt(by, at)
	if errX == io.EOF {
		errX = nil
	}
	if errY == io.EOF {
		errY = nil
	}
	return bytes.Equal(bx[:n], by[:m]), errors.Join(errX, errY)
}
