package layers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// treeSum identifies the content of a directory.
type treeSum struct {
	id    string // SHA-256 over names, modes and contents, in hexadecimal
	bytes int64
}

// hashTree hashes a directory that nobody writes to. Times and owners do not count.
func hashTree(ctx context.Context, dir string) (treeSum, error) {
	var s treeSum
	sum, err := s.dir(ctx, dir)
	s.id = hex.EncodeToString(sum)
	return s, err
}

// dir hashes one directory: each entry is a line with its mode, the hash of its content and its
// quoted name, in the order of ReadDir.
func (s *treeSum) dir(ctx context.Context, dir string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, e.Name())
		var sum []byte
		switch {
		case fi.IsDir():
			sum, err = s.dir(ctx, path)
		case fi.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			b := sha256.Sum256([]byte(target))
			sum = b[:]
		case fi.Mode().IsRegular():
			sum, err = s.file(ctx, path)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%o %x %s\n", uint32(fi.Mode()), sum, strconv.Quote(e.Name()))
	}
	return h.Sum(nil), nil
}

func (s *treeSum) file(ctx context.Context, path string) ([]byte, error) {
	f, err := regular.OpenFile(path, os.O_RDONLY|tree.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		n, err := io.CopyN(h, f, tree.CopyStep)
		s.bytes += n
		if err == io.EOF {
			return h.Sum(nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
