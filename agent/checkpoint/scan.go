package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A scanner reads the workspace into a manifest.
type scanner struct {
	*Store
	ctx  context.Context
	m    *manifest
	seen map[string]bool // recorded or skipped
	mu   sync.Mutex      // guards m while contents are read

	repository *lender  // the workspace's own, or nil
	stale      []string // files that a restore left that was killed
}

// scan reads the state of the workspace and stores the contents that the store does not have yet.
// The paths in extra are recorded regardless of ignore rules and limits; if they do not exist,
// their absence is recorded.
func (s *Store) scan(ctx context.Context, extra []string) (*manifest, error) {
	sc := &scanner{Store: s, ctx: ctx, m: newManifest(), seen: map[string]bool{}}
	if err := s.viewing(ctx, func() error { return sc.read(extra) }); err != nil {
		return nil, err
	}
	if len(sc.stale) > 0 {
		err := s.changing(ctx, func() error {
			var errs []error
			for _, p := range sc.stale {
				errs = append(errs, s.root.Remove(filepath.FromSlash(p)))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return nil, fmt.Errorf("checkpoint: remove what a killed restore left: %w", err)
		}
	}
	return sc.m, nil
}

// read does the work of scan while the tree may be read.
func (sc *scanner) read(extra []string) error {
	sc.repository = sc.lender()
	sc.m.started = time.Now()
	if err := sc.rules().Walk(sc.visit); err != nil {
		return fmt.Errorf("checkpoint: read workspace: %w", err)
	}
	if sc.repository != nil { // git keeps files even if a rule ignores them
		sc.repository.tracked(func(p string, _ *index.Entry) {
			if !sc.seen[p] {
				sc.add(p, false)
			}
		})
	}
	for _, p := range extra {
		if _, skipped := sc.m.skipped[p]; !sc.seen[p] || skipped {
			delete(sc.m.skipped, p)
			if sc.add(p, true) {
				sc.m.forced[p] = true
			} else {
				sc.m.absent[p] = true
			}
		}
	}
	if err := sc.readAll(); err != nil {
		return err
	}
	sc.m.sort()
	return nil
}

// visit records the file or directory that the walk found.
func (sc *scanner) visit(p string, d fs.DirEntry, err error) error {
	if ctxErr := sc.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	switch {
	case err != nil && p == ".":
		return err
	case errors.Is(err, fs.ErrNotExist): // removed during the walk
		return nil
	case err != nil:
		sc.skip(p, "cannot be read: "+err.Error())
		return nil
	case strings.HasPrefix(d.Name(), tempPrefix): // left by a restore that was killed; we hold the lock
		sc.stale = append(sc.stale, p)
		return nil
	}
	fi, err := d.Info()
	if err != nil || p == "." {
		return nil
	}
	if fi.IsDir() {
		sc.m.dirs[p] = fi.Mode().Perm()
		return nil
	}
	sc.record(p, fi, false)
	return nil
}

func (sc *scanner) skip(p, why string) {
	sc.m.skipped[p] = why
	sc.seen[p] = true
}

func (sc *scanner) record(p string, fi fs.FileInfo, always bool) {
	mode := fi.Mode()
	switch {
	case !mode.IsRegular() && mode&fs.ModeSymlink == 0:
		sc.skip(p, "is no file but a "+kindOf(mode))
	case mode.IsRegular() && sc.opts.MaxFile > 0 && fi.Size() > sc.opts.MaxFile && !always:
		sc.skip(p, fmt.Sprintf("is larger (%d bytes) than the %d that are recorded", fi.Size(), sc.opts.MaxFile))
	default:
		sc.seen[p] = true
		sc.m.files = append(sc.m.files, file{path: p, mode: mode, stat: stampOf(fi)})
	}
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// add records a path outside the walk. It returns false if nothing exists at that path.
func (sc *scanner) add(p string, always bool) bool {
	if !fs.ValidPath(strings.ToValidUTF8(p, "_")) || sc.blocker(p) != "" {
		return false
	}
	fi, err := sc.root.Lstat(filepath.FromSlash(p))
	if err != nil || fi.IsDir() {
		return false
	}
	sc.addDirs(p)
	sc.record(p, fi, always)
	return true
}

// addDirs records the directories above p.
func (sc *scanner) addDirs(p string) {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if _, ok := sc.m.dirs[d]; ok {
			return
		}
		if fi, err := sc.root.Lstat(filepath.FromSlash(d)); err == nil {
			sc.m.dirs[d] = fi.Mode().Perm()
		}
	}
}

// readAll finds the hash of every file: from the cache, from the workspace's repository, or by
// reading it.
func (sc *scanner) readAll() error {
	for i, f := range sc.m.files {
		if c, ok := sc.cache[f.path]; ok && c.stat == f.stat {
			sc.m.files[i].hash = c.hash
		}
	}
	sc.borrow()
	var todo []int
	for i, f := range sc.m.files {
		if f.hash == plumbing.ZeroHash {
			todo = append(todo, i)
		}
	}
	if len(todo) >= sc.packFrom && sc.pack == nil {
		p, err := sc.newPacker()
		if err != nil {
			return err
		}
		sc.pack = p
	}
	work := make(chan int)
	errs := make(chan error, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			for i := range work {
				if err := sc.readOne(&sc.m.files[i]); err != nil {
					errs <- err
					for range work { // drain, so that the sender ends
					}
				}
			}
		})
	}
	for _, i := range todo {
		if sc.ctx.Err() != nil || len(errs) > 0 {
			break
		}
		work <- i
	}
	close(work)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	sc.dropUnread()
	if err := sc.ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: read workspace: %w", err)
	}
	return nil
}

// dropUnread removes files that did not exist or were unreadable when they were about to be read.
func (sc *scanner) dropUnread() {
	kept := sc.m.files[:0]
	for _, f := range sc.m.files {
		if f.hash != plumbing.ZeroHash {
			kept = append(kept, f)
		}
	}
	sc.m.files = kept
}

// readOne stores a file's content. A file that changes while it is read is read again. Only a
// failure of the store is an error.
func (sc *scanner) readOne(f *file) error {
	for try := 0; ; try++ {
		content, fi, stable, err := sc.content(f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			sc.mu.Lock()
			sc.m.skipped[f.path] = "cannot be read: " + err.Error()
			sc.mu.Unlock()
			return nil
		case !stable && try < 3:
			continue
		}
		h, err := sc.put(plumbing.BlobObject, content)
		if err != nil {
			return err
		}
		f.hash, f.mode, f.stat = h, fi.Mode(), stampOf(fi)
		if !stable {
			f.stat = stamp{}
		}
		return nil
	}
}

// content reads a file, or a link's target, and reports whether it stayed unchanged during the
// read.
func (sc *scanner) content(f *file) (data []byte, fi fs.FileInfo, stable bool, err error) {
	name := filepath.FromSlash(f.path)
	before, err := sc.root.Lstat(name)
	if err != nil {
		return nil, nil, false, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		target, err := sc.root.Readlink(name)
		return []byte(target), before, err == nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, false, errors.New("it is no longer a file")
	}
	r, err := regular.OpenIn(sc.root, name, os.O_RDONLY)
	if err != nil {
		return nil, nil, false, err
	}
	defer r.Close()
	opened, err := r.Stat()
	if err != nil || !os.SameFile(before, opened) {
		return nil, nil, false, errors.Join(err, errors.New("it was replaced while it was read"))
	}
	if data, err = io.ReadAll(io.LimitReader(r, opened.Size()+1)); err != nil { // one more byte shows that it grew
		return nil, nil, false, err
	}
	after, err := r.Stat()
	if err != nil {
		return nil, nil, false, err
	}
	return data, after, stampOf(opened) == stampOf(after) && int64(len(data)) == after.Size(), nil
}

// remember replaces the cache with the stamps of m, except for files so new that a later write
// might not change the stamp.
func (s *Store) remember(m *manifest) {
	next := make(statCache, len(m.files))
	changed := len(m.files) != len(s.cache)
	for _, f := range m.files {
		if f.stat == (stamp{}) || !f.stat.settled(m.started) {
			changed = true
			continue
		}
		e := cached{f.stat, f.hash}
		next[f.path] = e
		changed = changed || s.cache[f.path] != e
	}
	s.cache = next
	if changed {
		_ = s.replace("stat-cache", next.encode()) // errors are ignored: the cache only saves time
	}
}
