package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// store keeps the contents of a tenant's files, named by their hashes.
type store struct {
	dir string
	acc *account
}

// openStore counts the existing contents against the quota.
func openStore(dir string, acc *account) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !validHash(e.Name()) { // an incomplete write
			_ = os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		if fi, err := e.Info(); err == nil {
			acc.bytes += fi.Size()
		}
	}
	return &store{dir, acc}, nil
}

func (s *store) path(hash string) string { return filepath.Join(s.dir, hash) }

// has reports whether a content is stored, and protects it from collection for a while.
func (s *store) has(hash string) bool {
	now := time.Now()
	return os.Chtimes(s.path(hash), now, now) == nil
}

// open opens a content.
func (s *store) open(hash string) (*os.File, error) { return regular.Open(s.path(hash)) }

// put stores a content. A content that does not match its hash is not stored.
func (s *store) put(name string, r io.Reader, size int64) error {
	if s.has(name) {
		return nil
	}
	if size < 0 || size > maxBlob {
		return fmt.Errorf("content of %d bytes", size)
	}
	if err := s.acc.keep(size); err != nil {
		return err
	}
	err := s.write(name, r, size)
	if err != nil {
		_ = s.acc.keep(-size)
	}
	return err
}

func (s *store) write(name string, r io.Reader, size int64) error {
	return atomicfile.Write(s.path(name), atomicfile.Options{Temp: "new-*"}, func(w io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, size+1))
		if err == nil && (n != size || sum(h) != name) {
			err = errors.New("content does not have the hash it is named by")
		}
		return err
	})
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// collect removes contents that were last requested before a time.
func (s *store) collect(before time.Time) {
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil && fi.ModTime().Before(before) && os.Remove(s.path(e.Name())) == nil && validHash(e.Name()) {
			_ = s.acc.keep(-fi.Size())
		}
	}
}

// build writes a tree below the empty directory dir. The manifest was checked before; os.Root
// additionally keeps all writes below dir, and links come last.
func (s *store) build(list []entry, dir string) error {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var dirs, links []entry
	for _, e := range list {
		switch e.Kind {
		case 'd':
			dirs = append(dirs, e)
			err = root.Mkdir(e.Path, 0o700)
		case 'f':
			err = s.copyTo(root, e)
		case 'l':
			links = append(links, e)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range links {
		if err := root.Symlink(e.Link, e.Path); err != nil {
			return err
		}
	}
	// From the inside out: a read-only directory is complete by then.
	for _, e := range slices.Backward(dirs) {
		if err := e.stamp(root); err != nil {
			return err
		}
	}
	return nil
}

// stamp sets the permissions and time of the original.
func (e entry) stamp(root *os.Root) error {
	t := time.Unix(0, e.Time)
	return errors.Join(root.Chtimes(e.Path, t, t), root.Chmod(e.Path, fs.FileMode(e.Perm)))
}

func (s *store) copyTo(root *os.Root, e entry) error {
	src, err := regular.Open(s.path(e.Hash))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("content of %q is not here; send it first", e.Path)
	}
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close(), e.stamp(root))
}

// scan lists a directory as a manifest. It leaves out everything except files, directories and
// links.
func scan(dir string) ([]entry, error) {
	var list []entry
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		e := entry{Path: filepath.ToSlash(rel)}
		switch {
		case d.IsDir():
			e.Kind = 'd'
			fi, err := d.Info()
			if err != nil {
				return err
			}
			e.describe(fi)
		case d.Type() == fs.ModeSymlink:
			e.Kind = 'l'
			if e.Link, err = os.Readlink(p); err != nil {
				return err
			}
		case d.Type().IsRegular():
			e.Kind = 'f'
			if err := e.hash(p); err != nil {
				return err
			}
		default:
			return nil
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

func (e *entry) hash(p string) error {
	f, err := regular.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	h := sha256.New()
	if e.Size, err = io.Copy(h, f); err != nil {
		return err
	}
	e.Hash = sum(h)
	e.describe(fi)
	return nil
}

func hashOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return sum(h), err
}

func (e *entry) describe(fi fs.FileInfo) {
	e.Perm, e.Time = uint32(permOf(fi)), fi.ModTime().UnixNano()
}

// permOf returns a file's permissions as on a Unix system.
func permOf(fi fs.FileInfo) fs.FileMode {
	if runtime.GOOS != "windows" {
		return fi.Mode().Perm()
	}
	if fi.IsDir() {
		return 0o755
	}
	return 0o644
}
