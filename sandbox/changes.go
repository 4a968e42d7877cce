package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ChangeKind says what happened to a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is one path that differs from the snapshot.
type Change struct {
	// Path is relative to the workspace, with forward slashes.
	Path string
	Kind ChangeKind
	// Mode is the file's type and permissions now, or, when deleted, before.
	Mode fs.FileMode
}

// Point is a state of a workspace to compare with or to go back to.
type Point int

// The points.
const (
	// AtSnapshot is the state of Config.Snapshot.
	AtSnapshot Point = iota
	// AtFork is the state at the last Fork of which this sandbox was a part, or
	// AtSnapshot if there was none.
	AtFork
)

func (l *local) Changes(ctx context.Context) ([]Change, error) {
	return l.ChangesSince(ctx, AtSnapshot)
}

func (l *local) ChangesSince(ctx context.Context, since Point) ([]Change, error) {
	d, err := l.compare(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("sandbox: list changes: %w", err)
	}
	defer d.close()
	return d.list(), nil
}

// ErrTooLarge means that a change is larger than what a host should have to hold
// in memory. The way out is to let commands remove what they made, or Restore.
var ErrTooLarge = errors.New("the change is too large")

// comparison is a workspace beside the state it came from.
type comparison struct {
	before, after *view
	pairs         []differing // what differs, in lexical order
	unreadable    []string    // what the host may not read, and counts as different
}

// differing is one path that differs; a side is nil where the path is not there.
type differing struct{ was, now *entry }

func (p differing) path() string {
	if p.now != nil {
		return p.now.rel
	}
	return p.was.rel
}

func (p differing) change() Change {
	switch {
	case p.now == nil:
		return Change{Path: p.was.rel, Kind: Deleted, Mode: p.was.info.Mode()}
	case p.was == nil:
		return Change{Path: p.now.rel, Kind: Added, Mode: p.now.info.Mode()}
	}
	return Change{Path: p.now.rel, Kind: Modified, Mode: p.now.info.Mode()}
}

func (c *comparison) list() []Change {
	out := make([]Change, len(c.pairs))
	for i, p := range c.pairs {
		out[i] = p.change()
	}
	return out
}

func (c *comparison) close() {
	c.before.close()
	c.after.close()
}

// compare finds what differs. The sandbox is not forked meanwhile.
func (l *local) compare(ctx context.Context, since Point) (*comparison, error) {
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.once.closed() {
		return nil, ErrClosed
	}
	return l.ws.compare(ctx, since)
}

func (ws *workspace) compare(ctx context.Context, since Point) (*comparison, error) {
	if ws.inPlace() {
		return nil, &fs.PathError{Op: "compare", Path: ws.dir, Err: ErrInPlace}
	}
	was, now := ws.state(since), ws.now()
	before, err := openView(was)
	if err != nil {
		return nil, err
	}
	after, err := openView(now)
	if err != nil {
		before.close()
		return nil, err
	}
	c := &comparison{before: before, after: after}
	d := differ{ctx: ctx, c: c, changed: map[*viewLayer]bool{}, copied: !ws.overlay}
	for _, layer := range after.layers[:max(1, len(now)-len(was))] {
		d.changed[layer] = true
	}
	if err := d.dir(before.top(), after.top()); err != nil {
		c.close()
		return nil, err
	}
	slices.SortFunc(c.pairs, func(a, b differing) int { return strings.Compare(a.path(), b.path()) })
	return c, nil
}

// differ walks what newer layers hold and compares it with the state below them:
// its cost is that of the change, not of the workspace.
type differ struct {
	ctx     context.Context
	c       *comparison
	changed map[*viewLayer]bool // the newer layers
	copied  bool                // the newer layer is a copy, which leaves out special files
}

// dir compares two directories; either may be missing or something else.
func (d *differ) dir(was, now *entry) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	names, err := d.names(was, now)
	if err != nil {
		return err
	}
	held := costOf + costOfNames(names)
	defer d.c.after.room.give(held)
	if err := d.c.after.room.take(held); err != nil {
		return err
	}
	for _, name := range names {
		var a, b *entry
		if was.isDir() {
			if a, err = d.c.before.child(was, name); err != nil {
				return err
			}
		}
		if now.isDir() {
			if b, err = d.c.after.child(now, name); err != nil {
				return err
			}
		}
		if err := d.entry(a, b); err != nil {
			return err
		}
	}
	return nil
}

// names are those in a directory about which a newer layer says something.
func (d *differ) names(was, now *entry) ([]string, error) {
	if !now.isDir() {
		return d.c.before.names(was)
	}
	newer := *now
	newer.parts = nil
	hides := false
	for _, p := range now.parts {
		hides = !d.changed[p.layer]
		if !hides {
			newer.parts = append(newer.parts, p)
		}
	}
	hides = !hides // the last part is a newer one: older ones do not show through
	names, err := d.c.after.names(&newer)
	if err != nil || !hides || !was.isDir() {
		return names, err
	}
	old, err := d.c.before.names(was)
	names = append(names, old...)
	slices.Sort(names)
	return slices.Compact(names), err
}

func (d *differ) entry(was, now *entry) error {
	if was == nil && now == nil || now == nil && d.copied && !copied(was.info) {
		return nil
	}
	p := differing{was, now}
	same, err := d.same(was, now)
	if errors.Is(err, fs.ErrPermission) {
		d.c.unreadable = append(d.c.unreadable, p.path())
		same, err = false, nil
	}
	if err != nil {
		return err
	}
	if !same {
		if err := d.c.keep(p); err != nil {
			return err
		}
	}
	if !was.isDir() && !now.isDir() {
		return nil
	}
	err = d.dir(was, now)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// What may be in there counts as different.
	d.c.unreadable = append(d.c.unreadable, p.path())
	if same {
		return d.c.keep(p)
	}
	return nil
}

// keep adds what differs, as long as there is room.
func (c *comparison) keep(p differing) error {
	c.pairs = append(c.pairs, p)
	return c.after.room.take(costOf + len(p.path()))
}

func (d *differ) same(was, now *entry) (bool, error) {
	if was == nil || now == nil {
		return false, nil
	}
	a, b := was.info.Mode(), now.info.Mode()
	switch {
	case a.Type() != b.Type() || a.Perm() != b.Perm() || a&special != b&special && !d.copied:
		return false, nil
	case a&fs.ModeSymlink != 0:
		x, errX := was.link()
		y, errY := now.link()
		return x == y, errors.Join(errX, errY)
	case a.IsRegular():
		return sameFile(d.ctx, was, now)
	}
	return true, nil
}

// special are mode bits that a copy does not keep.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// copied reports whether copyTree takes a file along.
func copied(fi fs.FileInfo) bool {
	return fi.IsDir() || fi.Mode().IsRegular() || fi.Mode()&fs.ModeSymlink != 0
}
