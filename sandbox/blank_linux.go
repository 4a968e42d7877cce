package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// blank is a complete sandbox without a workspace. A lease attaches one by a single request to the
// broker; afterwards the sandbox can be made blank again.
type blank struct {
	cfg  *Config // normalized, without Dir and Snapshot
	id   identity
	plan *plan
	iso  Isolation
	run  *guestSpawner
	ws   *workspace // of the next or current lease
	uses int

	scratch string            // the directory that the plan was made for
	key     string            // decides whether the next lease can reuse the overlay of the last
	clean   map[string]string // fingerprints of the places of ws, by directory
}

// errAttach means that a blank sandbox cannot take this workspace, although a new sandbox over it
// may be possible.
var errAttach = errors.New("workspace cannot be attached")

// makeBlank starts a blank sandbox. It fails if sandboxes of the highest tier are not available or
// not wanted.
func makeBlank(ctx context.Context, cfg *Config) (*blank, error) {
	if !hooked.Load() {
		return nil, ErrInit
	}
	if cfg.Ceiling < TierNamespaces {
		return nil, fmt.Errorf("sandboxes are not kept ready below %v", TierNamespaces)
	}
	if len(cfg.Net) > 0 {
		return nil, errors.New("a sandbox with a way to the network serves one lease only")
	}
	b := &blank{cfg: cfg, id: hostIdentity()}
	var err error
	if b.ws, err = openWorkspace(ctx, cfg); err != nil {
		return nil, err
	}
	r, err := raise(ctx, cfg, b.ws, b.id, b.id.owner(), true)
	if err != nil {
		return nil, errors.Join(err, b.ws.remove())
	}
	b.plan, b.iso, b.run = r.plan, r.iso, r.run
	b.scratch = b.ws.disk.keyed(b.ws.scratch)
	// The state found now must be restored before the sandbox may be reused.
	if err := b.order(ctx, &mountOrder{Verify: true}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.press()
	return b, nil
}

// press takes the fingerprints of the places of ws before anybody has used them.
func (b *blank) press() {
	b.clean = map[string]string{}
	dirs := []string{b.ws.sub(scratchTmp), b.ws.sub(scratchHome)}
	caches, _ := filepath.Glob(b.ws.sub(scratchCache) + "/*/upper")
	for _, dir := range append(dirs, caches...) {
		b.clean[dir] = fingerprintOf(dir)
	}
}

// unused reports whether the lease left nothing in the places of ws, and resets their timestamps so
// that these do not reveal the lease either.
func (b *blank) unused() bool {
	now := time.Now()
	for dir, print := range b.clean {
		if print == "" || fingerprintOf(dir) != print || os.Chtimes(dir, now, now) != nil {
			return false
		}
	}
	return true
}

// owner returns the user who must own the guest's private files, or nil if that is us.
func (id identity) owner() *tree.Owner {
	if !id.dropped {
		return nil
	}
	return &tree.Owner{UID: id.outUID, GID: id.outGID}
}

// order has the broker change the sandbox's mounts.
func (b *blank) order(ctx context.Context, o *mountOrder) error {
	sup, ok := b.run.sup.(*brokered)
	if !ok {
		return errors.New("the sandbox was not made by a broker")
	}
	o.Key, o.User = sup.key, b.id.wire()
	_, files, err := sup.b.ask(ctx, brokerRequest{Op: opMount, Mount: o})
	closeFiles(files)
	return err
}

// attach attaches a workspace over snap to the sandbox.
func (b *blank) attach(ctx context.Context, snap Snapshot) (*local, error) {
	cfg := *b.cfg
	cfg.Snapshot = snap
	if err := b.ws.openSnapshot(ctx, &cfg); err != nil {
		return nil, err
	}
	b.ws.overlay = true
	// A workspace would hide the grants inside it, and it must not be mounted over something of the
	// sandbox itself.
	for _, m := range b.plan.mounts {
		if within(m.Target, b.ws.dir) {
			return nil, fmt.Errorf("%w: %s lies in it", errAttach, m.Target)
		}
	}
	if at := b.plan.barrier(b.ws.dir); at != "" {
		return nil, fmt.Errorf("%w: commands cannot pass %s", errAttach, at)
	}
	p := newPlan(b.ws, b.id.inUID)
	if err := p.grants(&cfg, b.ws, nil); err != nil {
		return nil, err
	}
	p.keyed(b.ws.disk)
	b.key = b.ws.key()
	for i := range p.mounts {
		p.mounts[i].Key = b.key
	}
	if err := b.order(ctx, &mountOrder{Add: p.mounts, Owned: p.ownedList()}); err != nil {
		return nil, fmt.Errorf("%w: %w", errAttach, err)
	}
	b.ws.layer = fingerprintOf(b.ws.upper()) // its state once it is mounted
	b.uses++
	l := newLocal(b.ws, b.plan.env, b.iso, b.run)
	l.cfg = cfg
	if err := l.withNet(&cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", errAttach, err)
	}
	return l, nil
}

// renewed lists the places that hold a lease's files.
var renewed = []string{"/tmp", insideHome, "/dev/shm"}

// recycle makes the sandbox blank again: it kills all processes, drops all that was written, and
// has the broker verify that nothing is left. Places that the lease did not use are kept. After an
// error the sandbox must be closed.
func (b *blank) recycle(ctx context.Context) error {
	own := *b.ws // the closed lease may still be asked for its directory
	b.ws = &own
	if err := b.run.reset(); err != nil {
		return fmt.Errorf("kill what is left: %w", err)
	}
	// Drop the workspace first: the directories that it is mounted on may be in one of the places.
	off := &mountOrder{Empty: []string{"/dev/shm"}, Drop: []string{b.ws.dir}, Forget: []string{b.ws.dir}, Verify: true}
	asNew := b.ws.asNew()
	if b.key != "" && asNew {
		off.Retain, off.As = b.ws.dir, b.key
	}
	switch err := b.order(ctx, off); {
	case err == nil && b.unused():
		return b.ws.rewind(asNew)
	case err == nil:
		off = &mountOrder{}
	case !errors.Is(err, os.ErrExist):
		return err
	}
	used := b.ws
	fresh, err := openWorkspace(ctx, b.cfg)
	if err != nil {
		return err
	}
	if err := fresh.limit(ctx, b.cfg); err != nil {
		return errors.Join(err, fresh.remove())
	}
	if fresh.disk == nil && used.disk != nil { // the report still names it
		return errors.Join(fresh.diskLess, fresh.remove())
	}
	o, err := b.renewal(off, fresh)
	if err == nil {
		err = fresh.own(b.id.owner())
	}
	if err == nil {
		err = b.order(ctx, o)
	}
	if err != nil {
		return errors.Join(err, fresh.remove())
	}
	b.ws = fresh
	b.press()
	return used.remove()
}

// renewal returns the order that does what is left of off and then replaces the places by new ones
// over fresh.
func (b *blank) renewal(off *mountOrder, fresh *workspace) (*mountOrder, error) {
	o := &mountOrder{Drop: append(off.Drop, renewed...), Forget: off.Forget, Verify: true}
	for i, m := range b.plan.mounts {
		if !slices.ContainsFunc(renewed, func(dir string) bool { return within(m.Target, dir) }) {
			continue
		}
		if m.Kind == mountSymlink || m.Kind == mountDevpts {
			return nil, fmt.Errorf("a %s at %s cannot be made anew", m.Kind, m.Target)
		}
		var err error
		if m.Source, err = b.moved(m.Source, fresh); err == nil {
			m.Upper, err = b.moved(m.Upper, fresh)
		}
		if err != nil {
			return nil, err
		}
		if b.plan.owned[i] {
			o.Owned = append(o.Owned, len(o.Add))
		}
		o.Add = append(o.Add, m)
	}
	return o, nil
}

// moved translates a path in the scratch directory that the plan was made for into the path in
// fresh, and makes the directories of an overlay there.
func (b *blank) moved(path string, fresh *workspace) (string, error) {
	rel, ok := strings.CutPrefix(path, b.scratch+string(filepath.Separator))
	if !ok {
		return path, nil
	}
	path = fresh.sub(rel)
	if within(rel, scratchCache) {
		for _, d := range []string{"upper", "work"} {
			if err := os.MkdirAll(filepath.Join(path, d), 0o700); err != nil {
				return "", err
			}
		}
	}
	return fresh.disk.keyed(path), nil
}

func (b *blank) alive() bool { return b.run.alive() }

// holds reports whether l still runs in b; a fork may have moved it elsewhere.
func (b *blank) holds(l *local) bool {
	return withoutNet(l.spawner()) == spawner(b.run) && l.ws == b.ws
}

// close ends the sandbox and removes its files from the host.
func (b *blank) close() error { return errors.Join(b.run.Close(), b.ws.remove()) }
