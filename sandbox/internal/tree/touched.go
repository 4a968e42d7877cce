package tree

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// Touched returns what changed in a directory at or after a time, as a comparison with nothing.
func Touched(ctx context.Context, dir string, since time.Time) (*Comparison, error) {
	after, err := OpenView([]Dir{{dir, true}})
	if err != nil {
		return nil, err
	}
	c := &Comparison{before: &View{}, After: after}
	if err := c.touched(ctx, after.Top(), since); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// touched adds what changed below dir at or after a time.
func (c *Comparison) touched(ctx context.Context, dir *Entry, since time.Time) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	names, err := c.After.Names(dir)
	if err != nil {
		return err
	}
	held := costOf + costOfNames(names)
	defer c.After.room.give(held)
	if err := c.After.room.take(held); err != nil {
		return err
	}
	for _, name := range names {
		e, err := c.After.Child(dir, name)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if !latest(e.Info).Before(since) {
			if err := c.keep(Pair{Now: e}); err != nil {
				return err
			}
		}
		if !e.IsDir() {
			continue
		}
		if err := c.touched(ctx, e, since); errors.Is(err, fs.ErrPermission) {
			c.Unreadable = append(c.Unreadable, e.Rel)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// coarse is the largest step of the times of a file system that does not keep nanoseconds (FAT).
const coarse = 2 * time.Second

// latest returns the latest time at which a file can have changed, judging by the time that is
// kept.
func latest(fi fs.FileInfo) time.Time {
	t := ChangedAt(fi)
	if t.Nanosecond() == 0 {
		return t.Add(coarse)
	}
	return t
}
