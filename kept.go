package luthier

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/internal/filelock"
	"github.com/luthier-dev/luthier/sandbox"
)

// A workspace that is not in place ends with its sandbox, but its checkpoints stay on the host, so
// that a session can go on in a new workspace of the same origin.

// recordLabel is the label under which the log of a session says where the session works.
const recordLabel = "luthier.workspace"

// record says where a session works.
type record struct {
	Kept   string `json:"kept,omitempty"` // the folder with the checkpoints
	Kind   string `json:"kind"`
	Dir    string `json:"dir,omitempty"`
	Commit string `json:"commit,omitempty"`
	Tree   string `json:"tree"`             // ID of the tree; that of a fork names its ancestors
	Server string `json:"server,omitempty"` // how a workspace on another machine is reached
	Box    string `json:"box,omitempty"`    // the toolbox there, which keeps the checkpoints
}

// recordOf reads the record in a session's labels. Sessions of a directory in place have none.
func recordOf(meta agent.SessionMeta) (*record, error) {
	text := meta.Labels[recordLabel]
	if text == "" {
		return nil, nil
	}
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("session %s: label %q: %w", meta.ID, recordLabel, err)
	}
	if r.Box == "" && (r.Kept == "" || r.Kept != filepath.Base(r.Kept) || r.Tree == "") {
		return nil, fmt.Errorf("session %s: label %q names no workspace: %q", meta.ID, recordLabel, text)
	}
	return &r, nil
}

// SourceOf returns what the workspace of a session was made of, as the session's log says, so that
// [Open] can make it again. [Coder.Resume] then brings it to where the session left it. The
// workspace of a fork is made of what its origin was made of.
func SourceOf(meta agent.SessionMeta) (Source, error) {
	r, err := recordOf(meta)
	switch {
	case err != nil:
		return Source{}, fmt.Errorf("luthier: find workspace: %w", err)
	case r == nil && meta.Dir != "":
		return InPlace(meta.Dir), nil
	case r != nil && r.Box != "":
		return Source{}, fmt.Errorf("luthier: find workspace: session %s worked %s, and ends with it", meta.ID, r.there())
	case r != nil && r.Kind == ofCommit:
		return Commit(r.Dir, r.Commit), nil
	case r != nil && r.Kind == ofDirectory:
		return Snapshot(r.Dir), nil
	}
	return Source{}, fmt.Errorf("luthier: find workspace: session %s worked in a sandbox that the host opened; open one like it, and use Box", meta.ID)
}

// there says where a session on another machine worked.
func (r *record) there() string {
	if r.Server == "" {
		return "in a sandbox on another machine that the host opened"
	}
	return "on another machine, at " + r.Server
}

// kept is the folder on the host that keeps the checkpoints of one workspace.
type kept struct {
	name string // the folder's
	dir  string
	lock *os.File // held while a process uses the folder
}

// keepFor is the time after which the folder of a workspace is removed if nobody used it.
const keepFor = 30 * 24 * time.Hour

func keptDir(state, name string) string { return filepath.Join(state, "workspaces", name) }

// newKept makes a folder, and removes those that were not used for long.
func newKept(state string) (*kept, error) {
	if entries, err := os.ReadDir(keptDir(state, "")); err == nil {
		for _, e := range entries {
			if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > keepFor {
				if k, err := openKept(state, e.Name()); err == nil {
					_ = errors.Join(k.remove(), k.lock.Close())
				}
			}
		}
	}
	name := strings.ToLower(rand.Text())
	if err := os.MkdirAll(keptDir(state, name), 0o700); err != nil {
		return nil, err
	}
	return openKept(state, name)
}

// openKept takes a folder into use. It fails if it does not exist or if another process uses it.
func openKept(state, name string) (*kept, error) {
	k := &kept{name: name, dir: keptDir(state, name)}
	if _, err := os.Stat(k.dir); err != nil {
		return nil, err
	}
	var err error
	if k.lock, err = os.OpenFile(filepath.Join(k.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	ok, err := filelock.Try(k.lock)
	if errors.Is(err, errors.ErrUnsupported) {
		ok, err = true, nil
	}
	if err == nil && !ok {
		err = errors.New("another process works in it; end that one first")
	}
	now := time.Now()
	if err == nil {
		err = os.Chtimes(k.dir, now, now)
	}
	if err != nil {
		return nil, errors.Join(err, k.lock.Close())
	}
	return k, nil
}

func (k *kept) remove() error { return os.RemoveAll(k.dir) }

// checkpoints opens the store of the folder over a tree. The store belongs to the folder, not to
// the tree: a new tree of the same origin goes on with it.
func (k *kept) checkpoints(tree *sandbox.Tree) (*checkpoint.Store, error) {
	return checkpoint.OpenTree(keptTree{tree, k.name}, filepath.Join(k.dir, "checkpoints"), checkpoint.Options{})
}

// keptTree is a tree under the ID of the folder that keeps its checkpoints.
type keptTree struct {
	*sandbox.Tree
	id string
}

func (t keptTree) ID() string { return t.id }

// openCheckpoints opens the store that Undo needs.
func (c *Coder) openCheckpoints() (err error) {
	switch {
	case c.on.far != nil:
		if c.on.far.can.Checkpoints {
			c.undo = c.on.far
		}
		return nil
	case c.on.tree == nil:
		c.Store, err = c.on.checkpoints(c.state)
		c.undo = switching{c}
		return err
	}
	if c.kept, err = newKept(c.state); err == nil {
		c.Store, err = c.kept.checkpoints(c.on.tree)
	}
	c.undo = switching{c}
	return err
}

// switching is the store that the Coder has at the moment. It tells the index what it restores,
// which may see that only later.
type switching struct{ c *Coder }

// Snapshot implements agent.Checkpointer.
func (s switching) Snapshot(ctx context.Context, label string) (string, error) {
	return s.c.Store.Snapshot(ctx, label)
}

// Restore implements agent.Checkpointer.
func (s switching) Restore(ctx context.Context, id string) (string, error) {
	return restore(ctx, s.c.Store, id, s.c.tell)
}

// restore restores a checkpoint, and tells the index what that changed.
func restore(ctx context.Context, store *checkpoint.Store, id string, tell func(paths []string)) (undo string, err error) {
	if undo, err = store.Restore(ctx, id); err == nil {
		paths, _ := store.Changes(ctx, undo, id) // if they are not known, the index looks later
		tell(paths)
	}
	return undo, err
}

// label records in a session's options where the session works.
func (c *Coder) label(opts *agent.SessionOptions) error {
	if c.kept == nil && c.on.far == nil {
		return nil
	}
	at := c.on.workspace.place()
	r := record{Kind: at.kind, Dir: at.Dir, Commit: at.Commit, Tree: c.on.workspace.ID(), Server: at.Server}
	if c.kept != nil {
		r.Kept = c.kept.name
	} else {
		r.Box = c.on.far.specs.Box
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	labels := map[string]string{recordLabel: string(text)}
	for k, v := range opts.Labels {
		labels[k] = v
	}
	opts.Labels, c.used = labels, true
	return nil
}

// goBack brings the workspace to where the session of the log left it.
func (c *Coder) goBack(ctx context.Context, meta agent.SessionMeta) error {
	r, err := recordOf(meta)
	if err != nil || r == nil && c.on.inPlace() {
		return err
	}
	if r != nil && r.Box != "" {
		if c.on.far == nil || c.on.far.specs.Box != r.Box {
			return fmt.Errorf("the session worked %s, in a sandbox that is not this one; it can only go on while that is open. Begin a new session", r.there())
		}
		return nil
	}
	if r == nil || c.on.tree == nil {
		from, _ := SourceOf(meta)
		return fmt.Errorf("the session worked in another place: %s; open that with luthier.SourceOf and luthier.Open, and set Options.Workspace", from)
	}
	if c.kept == nil {
		return errors.New("the session's state is in its checkpoints; leave Options.NoCheckpoints out")
	}
	if r.Kept == c.kept.name {
		return nil
	}
	if mine, its := firstPart(c.on.tree.ID()), firstPart(r.Tree); mine != its {
		from, _ := SourceOf(meta)
		return fmt.Errorf("the session worked in another workspace: %s; open that with luthier.SourceOf and luthier.Open", from)
	}
	k, err := openKept(c.state, r.Kept)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the checkpoints of the session's workspace are gone, and with them what it changed: %w", err)
	}
	if err != nil {
		return fmt.Errorf("open the checkpoints of the session's workspace: %w", err)
	}
	return c.takeOver(ctx, k)
}

// firstPart returns the ID of a tree's origin, which is that of a fork up to the first dot.
func firstPart(id string) string {
	first, _, _ := strings.Cut(id, ".")
	return first
}

// takeOver restores the last state that a folder keeps, and goes on with its checkpoints.
func (c *Coder) takeOver(ctx context.Context, k *kept) error {
	store, err := k.checkpoints(c.on.tree)
	if err != nil {
		return errors.Join(err, k.lock.Close())
	}
	points, err := store.List(ctx)
	if n := len(points); err == nil && n > 0 {
		last := points[n-1]
		for _, p := range points {
			if p.Current {
				last = p
			}
		}
		_, err = store.Restore(ctx, last.ID)
	}
	if err != nil {
		return errors.Join(err, store.Close(), k.lock.Close())
	}
	err = errors.Join(c.Store.Close(), c.kept.remove(), c.kept.lock.Close())
	c.Store, c.kept, c.used = store, k, true
	return err
}

// closeKept records the last state for a later Resume, or removes the folder if no session used it.
func (c *Coder) closeKept() error {
	if c.kept == nil {
		return nil
	}
	var err error
	if c.used && c.Store != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		points, listing := c.Store.List(ctx)
		if err = listing; err == nil && len(points) > 0 { // otherwise nothing was changed
			_, err = c.Store.Snapshot(ctx, "the workspace was closed")
		}
	} else {
		err = c.kept.remove()
	}
	return errors.Join(err, c.kept.lock.Close())
}
