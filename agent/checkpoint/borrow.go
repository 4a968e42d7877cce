package checkpoint

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// A lender is the workspace's own repository, which has the content of most files already. The
// first checkpoint takes their hashes from its index instead of reading them, and keeps its packs
// by hard links, so that they stay even if the repository is removed.
type lender struct {
	lends   bool   // if false, only the names of tracked files are taken
	work    string // the workspace
	repo    ignore.Repository
	prefix  string // of the workspace in the work tree, "" or "dir/"
	entries []*index.Entry
	written time.Time // when the index was
}

// lender reads the index of the workspace's repository. It returns nil if there is none, or none
// that go-git can read. Only the repository of a directory lends: that of another tree may be
// written by commands that run there, and could say anything.
func (s *Store) lender() *lender {
	d, ok := s.tree.(*directory)
	if !ok {
		f, err := regular.OpenIn(s.root, filepath.Join(".git", "index"), os.O_RDONLY)
		return lenderOf(f, err)
	}
	repo, ok := ignore.Locate(d.path)
	if !ok {
		return nil
	}
	prefix, err := filepath.Rel(repo.Top, d.path)
	if err != nil {
		return nil
	}
	l := lenderOf(regular.Open(filepath.Join(repo.Git, "index")))
	if l == nil {
		return nil
	}
	l.repo, l.lends, l.work = repo, true, d.path
	if prefix = filepath.ToSlash(prefix); prefix != "." {
		l.prefix = prefix + "/"
	}
	return l
}

// lenderOf reads an index, and closes its file.
func lenderOf(f *os.File, err error) *lender {
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil
	}
	var idx index.Index
	if index.NewDecoder(bufio.NewReaderSize(f, 1<<16)).Decode(&idx) != nil {
		return nil // an index of an unknown version
	}
	return &lender{entries: idx.Entries, written: fi.ModTime()}
}

// tracked calls f for every entry in the workspace, with its path there.
func (l *lender) tracked(f func(name string, e *index.Entry)) {
	for _, e := range l.entries {
		if p, ok := strings.CutPrefix(e.Name, l.prefix); ok {
			f(p, e)
		}
	}
}

// unchanged reports whether a file is as it was when git recorded it: its metadata is what the
// index says, and a later write would have changed that. It does not say that git stores the bytes
// of the file; see [conversions].
func (l *lender) unchanged(f *file, e *index.Entry) bool {
	exec := f.mode&0o100 != 0
	return f.mode.IsRegular() && e.Stage == 0 && // go-git's index.Merged is 1
		!e.IntentToAdd && !e.SkipWorktree &&
		(e.Mode == filemode.Regular && !exec || e.Mode == filemode.Executable && exec) &&
		f.stat.size <= maxBorrowed && f.stat.size == int64(e.Size) &&
		f.stat.modified == e.ModifiedAt.UnixNano() && f.stat.changed == e.CreatedAt.UnixNano() && uint32(f.stat.inode) == e.Inode &&
		max(f.stat.modified, f.stat.changed) < l.written.UnixNano()
}

// maxBorrowed is the largest file that is not read: the index records sizes modulo 4 GiB.
const maxBorrowed = 1 << 30

// borrow fills in the hashes of files whose content the repository has, and makes that content the
// store's. Whatever does not fit is left to be read.
func (sc *scanner) borrow() {
	l := sc.repository
	if l == nil || !l.lends {
		return
	}
	at := map[string]*file{}
	for i := range sc.m.files {
		if f := &sc.m.files[i]; f.hash == plumbing.ZeroHash {
			at[f.path] = f
		}
	}
	if len(at) < sc.packFrom { // the few are read faster
		return
	}
	var attributes []string
	for _, f := range sc.m.files {
		if path.Base(f.path) == ".gitattributes" {
			attributes = append(attributes, filepath.Join(l.work, filepath.FromSlash(f.path)))
		}
	}
	rules := readConversions(l.repo, l.entries, attributes)
	if rules.all {
		return
	}
	type loan struct {
		f *file
		h plumbing.Hash
	}
	var loans []loan
	l.tracked(func(p string, e *index.Entry) {
		if f := at[p]; f != nil && l.unchanged(f, e) && !rules.converts(e.Name) {
			loans = append(loans, loan{f, e.Hash})
		}
	})
	if len(loans) < sc.packFrom {
		return
	}
	objects := filepath.Join(l.repo.Common, "objects")
	packs, err := sc.adopt(objects)
	if err != nil {
		return
	}
	defer packs.Close()
	for _, n := range loans {
		if sc.ctx.Err() != nil {
			return
		}
		size, ok := packs.size(n.h)
		if !ok {
			size, ok = sc.adoptLoose(objects, n.h)
		}
		if ok && size == n.f.stat.size { // not with other line endings, whatever the attributes were
			n.f.hash = n.h
		}
	}
}

// maxIndexes limits the size of the pack indexes that a store takes over, since go-git keeps them
// in memory.
const maxIndexes = 192 << 20

// adopt makes the packs of a repository packs of the store, by hard links.
func (s *Store) adopt(objects string) (*packSet, error) {
	names, err := filepath.Glob(filepath.Join(objects, "pack", "pack-*.idx"))
	if err != nil {
		return nil, err
	}
	var size int64
	for _, name := range names {
		fi, err := os.Lstat(name)
		if err != nil || !fi.Mode().IsRegular() {
			return nil, errors.Join(err, fs.ErrInvalid)
		}
		size += fi.Size()
	}
	if size > maxIndexes {
		return nil, fs.ErrInvalid
	}
	dir := filepath.Join(s.dir, "objects", "pack")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	set := &packSet{}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".idx")
		// The index first: go-git looks for packs, and would fail at one without its index.
		for _, end := range []string{".idx", ".pack"} {
			err := os.Link(strings.TrimSuffix(name, ".idx")+end, filepath.Join(dir, base+end))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				set.Close()
				return nil, err // such as another file system
			}
		}
		if err := set.open(filepath.Join(dir, base)); err != nil {
			set.Close()
			return nil, err
		}
	}
	if len(names) > 0 {
		s.repo.Reindex()
		s.packed = true
	}
	return set, nil
}

// adoptLoose makes an object of a repository that is in no pack an object of the store, and returns
// the size of its content.
func (s *Store) adoptLoose(objects string, h plumbing.Hash) (int64, bool) {
	hex := h.String()
	from, dir := filepath.Join(objects, hex[:2], hex[2:]), filepath.Join(s.dir, "objects", hex[:2])
	size, ok := looseSize(from)
	if !ok {
		return 0, false
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, false
	}
	if err := os.Link(from, filepath.Join(dir, hex[2:])); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, false
	}
	return size, true
}
