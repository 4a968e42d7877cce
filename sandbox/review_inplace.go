package sandbox

import (
	"context"
	"errors"
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
	top, err := after.top()
	if err != nil {
		return nil, err
	}
	if err := c.touched(ctx, top, l.ws.opened.Add(-clockSlack)); err != nil {
		return nil, err
	}
	r := c.review(l.ws.dir)
	r.Changes = nil
	return r, nil
}

// touched collects what changed at or after a time.
func (c *comparison) touched(ctx context.Context, dir *entry, since time.Time) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	names, err := dir.names()
	if err != nil {
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
			c.pairs = append(c.pairs, differing{now: e})
		}
		if e.isDir() {
			if err := c.touched(ctx, e, since); err != nil {
				return err
			}
		}
	}
	return nil
}
