package codestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// OpenOver opens the store in dir, for a copy of the tree whose index is base. An existing
// store is opened unchanged. A new one begins with base's segments, as hard links if the file
// system allows and as copies otherwise, so that the next Sync reads all files and builds only
// those with a different content. With Options.SharesFiles, files that look the same as when base
// was built are not read. A base that cannot be used is not an error; the next report has
// the reason.
func OpenOver(ctx context.Context, dir, base string, f Format, opts Options) (*Store, error) {
	s, err := Open(dir, f, opts)
	if err != nil {
		return nil, err
	}
	if err := s.takeOver(ctx, base); err != nil {
		return nil, errors.Join(fmt.Errorf("codestore: open over %s: %w", base, err), s.Close())
	}
	return s, nil
}

// Exists reports whether a directory has an index, which may be unusable.
func Exists(dir string) bool {
	_, err := os.Stat((&disk{dir: dir}).at(manifestName))
	return err == nil
}

func (s *Store) takeOver(ctx context.Context, base string) error {
	_, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.generation > 0 || s.rebuilt != "" {
		return nil
	}
	from := disk{dir: base, opts: s.opts}
	var reason error
	for range rereads {
		m, _, err := from.readManifest(s.format)
		if err != nil || m == nil {
			s.rebuilt = fmt.Sprintf("the index %s cannot be taken over: %v", base, errors.Join(err, notThere(m)))
			return nil
		}
		if reason = s.takeSegments(ctx, from, m); reason == nil || !errors.Is(reason, fs.ErrNotExist) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if reason != nil {
		s.rebuilt = fmt.Sprintf("the index %s cannot be taken over: %v", base, reason)
	}
	return nil
}

func notThere(m *manifest) error {
	if m == nil {
		return errors.New("there is none")
	}
	return nil
}

// takeSegments adds to this store the segments that m names in another directory. s.mu is held.
func (s *Store) takeSegments(ctx context.Context, from disk, m *manifest) error {
	where := from
	if s.memory == "" {
		where = s.disk
		for i := range m.Segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.takeStates(from, &m.Segments[i]); err != nil {
				return err
			}
			if err := s.disk.take(from.at(m.Segments[i].Name), m.Segments[i].Name); err != nil {
				return err
			}
		}
	}
	m.Generation = 1
	st, lost := where.loadState(m, s.format, nil)
	if len(lost) > 0 {
		dropUnused(st, nil)
		return fmt.Errorf("%s", lost[0])
	}
	at := s.stamp
	if s.memory == "" {
		var err error
		if at, err = s.disk.writeManifest(m, s.stamp, true); err != nil {
			dropUnused(st, nil)
			return err
		}
	}
	s.diverged = s.memory != ""
	s.install(st, at)
	return nil
}

// takeStates takes over the states of a segment that are newer than those in it, unless they
// describe times and inodes of other files.
func (s *Store) takeStates(from disk, seg *manifestSegment) error {
	if !s.opts.SharesFiles {
		seg.Stat = ""
	}
	if seg.Stat == "" {
		return nil
	}
	return s.disk.take(from.at(seg.Stat), seg.Stat)
}

// take links or copies a segment into the directory.
func (d *disk) take(path, name string) error {
	d.opts.step("link " + name)
	err := os.Link(path, d.at(name))
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	src, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	data, err := io.ReadAll(src)
	if err != nil {
		return err
	}
	return d.write(name, true, time.Time{}, data)
}
