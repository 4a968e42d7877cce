package tree

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Comparison is a workspace and the state it came from.
type Comparison struct {
	before, After *View
	Pairs         []Pair   // the differences, in lexical order
	Unreadable    []string // paths that the host may not read; they count as different
}

// Pair is one path that differs; a side is nil if the path does not exist there.
type Pair struct{ Was, Now *Entry }

// Path returns the path from the top.
func (p Pair) Path() string {
	if p.Now != nil {
		return p.Now.Rel
	}
	return p.Was.Rel
}

// Close closes both sides.
func (c *Comparison) Close() {
	c.before.Close()
	c.After.Close()
}

// Compare finds the differences between two trees of layers, newest first; the second tree has
// newer layers that the first does not have. If it is a copy, what Copy leaves out does not count
// as missing.
func Compare(ctx context.Context, was, now []Dir, newer int, copied bool) (*Comparison, error) {
	before, err := OpenView(was)
	if err != nil {
		return nil, err
	}
	after, err := OpenView(now)
	if err != nil {
		before.Close()
		return nil, err
	}
	c := &Comparison{before: before, After: after}
	d := differ{ctx: ctx, c: c, changed: map[*viewLayer]bool{}, copied: copied}
	for _, layer := range after.layers[:newer] {
		d.changed[layer] = true
	}
	if err := d.dir(before.Top(), after.Top()); err != nil {
		c.Close()
		return nil, err
	}
	slices.SortFunc(c.Pairs, func(a, b Pair) int { return strings.Compare(a.Path(), b.Path()) })
	return c, nil
}

// differ walks the newer layers and compares them with the state below them: its cost depends on
// the size of the change, not of the workspace.
type differ struct {
	ctx     context.Context
	c       *Comparison
	changed map[*viewLayer]bool // the newer layers
	copied  bool                // the newer layer is a copy, which leaves out special files
}

// dir compares two directories; either may be missing or something else.
func (d *differ) dir(was, now *Entry) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	names, err := d.names(was, now)
	if err != nil {
		return err
	}
	held := costOf + costOfNames(names)
	defer d.c.After.room.give(held)
	if err := d.c.After.room.take(held); err != nil {
		return err
	}
	for _, name := range names {
		var a, b *Entry
		if was.IsDir() {
			if a, err = d.c.before.Child(was, name); err != nil {
				return err
			}
		}
		if now.IsDir() {
			if b, err = d.c.After.Child(now, name); err != nil {
				return err
			}
		}
		if err := d.entry(a, b); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names in a directory that a newer layer affects.
func (d *differ) names(was, now *Entry) ([]string, error) {
	if !now.IsDir() {
		return d.c.before.Names(was)
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
	hides = !hides // the last part is a newer one, so older ones do not show through
	names, err := d.c.After.Names(&newer)
	if err != nil || !hides || !was.IsDir() {
		return names, err
	}
	old, err := d.c.before.Names(was)
	names = append(names, old...)
	slices.Sort(names)
	return slices.Compact(names), err
}

func (d *differ) entry(was, now *Entry) error {
	if was == nil && now == nil || now == nil && d.copied && !Copied(was.Info) {
		return nil
	}
	p := Pair{was, now}
	same, err := d.same(was, now)
	if errors.Is(err, fs.ErrPermission) {
		d.c.Unreadable = append(d.c.Unreadable, p.Path())
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
	if !was.IsDir() && !now.IsDir() {
		return nil
	}
	err = d.dir(was, now)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// What may be inside counts as different.
	d.c.Unreadable = append(d.c.Unreadable, p.Path())
	if same {
		return d.c.keep(p)
	}
	return nil
}

// keep adds a difference, while there is room.
func (c *Comparison) keep(p Pair) error {
	c.Pairs = append(c.Pairs, p)
	return c.After.room.take(costOf + len(p.Path()))
}

func (d *differ) same(was, now *Entry) (bool, error) {
	if was == nil || now == nil {
		return false, nil
	}
	a, b := was.Info.Mode(), now.Info.Mode()
	switch {
	case a.Type() != b.Type() || a.Perm() != b.Perm() || a&special != b&special && !d.copied:
		return false, nil
	case a&fs.ModeSymlink != 0:
		x, errX := was.Link()
		y, errY := now.Link()
		return x == y, errors.Join(errX, errY)
	case a.IsRegular():
		return sameFile(d.ctx, was, now)
	}
	return true, nil
}

// special lists the mode bits that a copy does not keep.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Copied reports whether Copy copies a file.
func Copied(fi fs.FileInfo) bool {
	return fi.IsDir() || fi.Mode().IsRegular() || fi.Mode()&fs.ModeSymlink != 0
}
