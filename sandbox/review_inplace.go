package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// clockSlack is how far a file system's times may lie behind the clock: the kernel
// takes them from its last tick.
const clockSlack = 100 * time.Millisecond

// errElsewhere means that the workspace's path is not one of this host.
var errElsewhere = errors.New("the workspace is not on this host")

// reviewInPlace looks at what was touched since the sandbox was opened.
func (l *local) reviewInPlace(ctx context.Context) (*Review, error) {
	if l.once.closed() {
		return nil, ErrClosed
	}
	if l.ws.source == "" {
		return nil, errElsewhere
	}
	dirs := []layerDir{{l.ws.dir, true}}
	after, err := openView(dirs)
	if err != nil {
		return nil, err
	}
	c := &comparison{before: &view{}, after: after}
	defer c.close()
	if err := c.touched(ctx, after.top(), l.ws.opened.Add(-clockSlack)); err != nil {
		return nil, err
	}
	r, err := c.review(ctx, l.ws.dir)
	if err != nil {
		return nil, err
	}
	r.Changes = nil
	return r, nil
}

// touched collects what changed at or after a time.
func (c *comparison) touched(ctx context.Context, dir *entry, since time.Time) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	names, err := c.after.names(dir)
	if err != nil {
		return err
	}
	held := costOf + costOfNames(names)
	defer c.after.room.give(held)
	if err := c.after.room.take(held); err != nil {
		return err
	}
	for _, name := range names {
		e, err := c.after.child(dir, name)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if !changedAt(e.info).Before(since) {
			if err := c.keep(differing{now: e}); err != nil {
				return err
			}
		}
		if !e.isDir() {
			continue
		}
		if err := c.touched(ctx, e, since); errors.Is(err, fs.ErrPermission) {
			c.unreadable = append(c.unreadable, e.rel)
		} else if err != nil {
			return err
		}
	}
	return nil
}
