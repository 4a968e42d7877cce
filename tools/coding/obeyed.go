package coding

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/edit"
)

// fileChange is a change that a call would make. path is as the model wrote it.
type fileChange struct {
	path          string
	before, after []byte
	unknown       bool // the contents are not known
}

// maxReasons is the most reasons that a question lists.
const maxReasons = 20

// obeyed lists why changes are of files that something on the host later obeys or executes.
func (w opened) obeyed(changes ...fileChange) []string {
	if w.cfg.Reviewed {
		return nil
	}
	var writes []sandbox.FileWrite
	add := func(c fileChange, p string) {
		if rel, err := w.relative(p); err == nil {
			writes = append(writes, sandbox.FileWrite{Path: cleanRel(rel), Before: c.before, After: c.after, Unknown: c.unknown})
		}
	}
	for _, c := range changes {
		add(c, c.path)
		if t, err := w.resolve(c.path); err == nil && t.rel != c.path {
			add(c, t.rel)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	var why []string
	dir := w.name
	if !w.onHost {
		dir = "" // there, that path may be of another directory
	}
	for _, f := range sandbox.ReviewWrite(dir, writes...) {
		text := show.Path(f.Path) + ": " + show.Line(f.Why, 200)
		if !slices.Contains(why, text) && len(why) < maxReasons {
			why = append(why, text)
		}
	}
	return why
}

// mark adds to the effects of a call that its changes are of files which something later obeys or
// executes. changes, which returns the changes with their contents, is asked only if the contents
// may matter; if it fails, the call will fail too.
func (w opened) mark(e agent.Effects, paths []string, changes func() ([]fileChange, error)) agent.Effects {
	var named, unknown []fileChange
	for _, p := range paths {
		named = append(named, fileChange{path: p})
		unknown = append(unknown, fileChange{path: p, unknown: true})
	}
	if len(w.obeyed(unknown...)) == 0 {
		return e
	}
	list, err := changes()
	if err != nil {
		list = named
	}
	return becauseObeyed(e, w.obeyed(list...))
}

// becauseObeyed adds to effects why they include a write of what is obeyed; without a reason they
// do not.
func becauseObeyed(e agent.Effects, why []string) agent.Effects {
	if len(why) > 0 {
		e.Flags |= agent.EffectObeyed
		e.Reasons = append(e.Reasons, why...)
	}
	return e
}

// decisions remembers of recent calls what their effects said. Between that and the call a file or
// link may have changed.
type decisions struct {
	mu    sync.Mutex
	said  map[string]decided
	order []string
}

// decided holds what the effects of a call said.
type decided struct {
	obeyed bool     // it writes what is obeyed
	writes []string // the resources that it writes
}

// maxDecisions is the most calls that are remembered.
const maxDecisions = 1024

func (d *decisions) set(key string, said decided) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.said == nil {
		d.said = map[string]decided{}
	}
	if _, ok := d.said[key]; !ok {
		if len(d.order) == maxDecisions {
			delete(d.said, d.order[0])
			d.order = d.order[1:]
		}
		d.order = append(d.order, key)
	}
	d.said[key] = said
}

func (d *decisions) get(key string) (said decided, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	said, known = d.said[key]
	return said, known
}

// decidedKey is the key in the context of a call of what its effects said.
type decidedKey struct{}

// guarded connects the effects and the function of a tool that writes files: a call must not write
// a file that its effects did not name, nor an obeyed one if they named none.
func guarded[In, Out any](w *Workspace, name string, fn func(context.Context, In) (Out, error), effects func(opened, In) agent.Effects) (func(context.Context, In) (Out, error), func(In) agent.Effects) {
	call := func(ctx context.Context, in In) (Out, error) {
		if said, known := w.decided.get(callKey(name, in)); known {
			ctx = context.WithValue(ctx, decidedKey{}, said)
		}
		return fn(ctx, in)
	}
	return call, func(in In) agent.Effects {
		e := effectsIn(w, in, effects)
		w.decided.set(callKey(name, in), decided{e.Flags&agent.EffectObeyed != 0, e.Writes})
		return e
	}
}

func callKey(name string, in any) string {
	b, err := json.Marshal(in)
	if err != nil {
		b = fmt.Appendf(nil, "%+v", in)
	}
	sum := sha256.Sum256(b)
	return name + string(sum[:])
}

// checkDecided refuses changes that a call was not let through for: of another file, to which a
// link leads now, and of an obeyed file if the call had none.
func (w opened) checkDecided(ctx context.Context, changes []change) error {
	said, known := ctx.Value(decidedKey{}).(decided)
	if !known {
		return nil
	}
	for _, c := range changes {
		if !slices.Contains(said.writes, resource(c.at.rel)) {
			return fmt.Errorf("%s: a link that leads there changed after this call was checked. Make the call again, so that it can be approved", show.Path(c.at.rel))
		}
		if said.obeyed {
			continue
		}
		if why := w.obeyed(fileChange{path: c.at.rel, before: textOf(c.was), after: textOf(c.data)}); len(why) > 0 {
			return fmt.Errorf("%s; it changed after this call was checked. Make the call again, so that it can be approved", strings.Join(why, "; "))
		}
	}
	return nil
}

// textOf returns the text of a file's content in UTF-8.
func textOf(data []byte) []byte {
	if data == nil {
		return nil
	}
	if f, kind := decode(data); kind == "" {
		return []byte(f.text)
	}
	return data
}

// textAt returns the current text of a file, or nil if there is none.
func (w opened) textAt(p string) []byte {
	cur, err := w.current(p)
	if err != nil {
		return nil
	}
	return []byte(cur.text)
}

func (w opened) writeChanges(in writeIn) ([]fileChange, error) {
	return []fileChange{{path: in.Path, before: w.textAt(in.Path), after: []byte(in.Content)}}, nil
}

func (w opened) editChanges(in editIn) ([]fileChange, error) {
	cur, err := w.current(in.Path)
	if err != nil {
		return nil, err
	}
	next, err := replaceAll(cur.text, "", in.list())
	if err != nil {
		return nil, err
	}
	return []fileChange{{path: in.Path, before: []byte(cur.text), after: []byte(next.text)}}, nil
}

func (w opened) patchChanges(patch string) ([]fileChange, error) {
	p := patchRun{w: w, files: map[string]*currentFile{}}
	made, err := edit.ApplyPatch(p.read, patch)
	if err != nil {
		return nil, err
	}
	var out []fileChange
	for _, m := range made {
		c := fileChange{path: m.Path, before: w.textAt(m.Path)}
		if m.MovedFrom != "" {
			out = append(out, fileChange{path: m.MovedFrom, before: w.textAt(m.MovedFrom)})
		}
		if !m.Delete {
			c.after = m.Content
		}
		out = append(out, c)
	}
	return out, nil
}
