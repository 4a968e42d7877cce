package coding

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/edit"
)

type patchIn struct {
	Patch string `json:"patch" jsonschema_description:"the patch, from *** Begin Patch to *** End Patch"`
}

func (w *Workspace) patchTool() (agent.Tool, error) {
	return newTool("apply_patch", w.applyPatch, toolParts[patchIn]{
		any:      agent.Writing("."),
		effects:  w.patchEffects,
		describe: w.describePatch,
	})
}

// patchHeader finds every line that might name a file. It may find more than the patch's grammar does, which only makes
// a call lock and declare more than it needs.
var patchHeader = regexp.MustCompile(`(?m)^[ \t]*\*\*\* *(Add File|Update File|Delete File|Move to): *(.+?)[ \t\r]*$`)

func patchPaths(patch string) (paths []string, deletes bool) {
	for _, m := range patchHeader.FindAllStringSubmatch(patch, -1) {
		paths = append(paths, m[2])
		deletes = deletes || m[1] == "Delete File" || m[1] == "Move to"
	}
	return paths, deletes
}

func (w *Workspace) patchEffects(in patchIn) agent.Effects {
	paths, deletes := patchPaths(in.Patch)
	e := w.writeEffects(paths...)
	if deletes {
		e.Flags |= agent.EffectDelete
		e.Reasons = append(e.Reasons, "the patch deletes or moves files")
	}
	return e
}

func (w *Workspace) describePatch(in patchIn) agent.CallDescription {
	paths, _ := patchPaths(in.Patch)
	var names []string
	for _, p := range paths {
		names = append(names, quotePath(p))
	}
	return agent.CallDescription{
		Title: "apply patch to " + clip(strings.Join(names, ", "), 200), Detail: clip(in.Patch, previewBytes), Where: w.real,
	}
}

func (w *Workspace) applyPatch(ctx context.Context, in patchIn) (string, error) {
	unlock, err := w.lockPatch(ctx, in.Patch)
	if err != nil {
		return "", err
	}
	defer unlock()
	p := patchRun{w: w, files: map[string]*currentFile{}}
	made, err := edit.ApplyPatch(p.read, in.Patch)
	if err != nil {
		return "", fmt.Errorf("%w\nNothing was changed", err)
	}
	changes, err := p.changes(made)
	if err == nil {
		err = w.commit(ctx, changes)
	}
	if err != nil {
		return "", fmt.Errorf("%w\nNothing was changed: every file is as it was before the patch", err)
	}
	p.remember(ctx, made)
	return p.report(made), nil
}

// lockPatch takes the locks of all files a patch names.
func (w *Workspace) lockPatch(ctx context.Context, patch string) (func(), error) {
	paths, _ := patchPaths(patch)
	var rels []string
	for _, p := range paths {
		t, err := w.resolve(p)
		if err != nil {
			return nil, err
		}
		rels = append(rels, t.rel)
	}
	return w.locks.lock(ctx, rels...)
}

// patchRun is one patch being worked out. files holds what was read, by canonical path.
type patchRun struct {
	w     *Workspace
	files map[string]*currentFile
}

func (p *patchRun) read(name string) ([]byte, error) {
	cur, err := p.w.current(name)
	if err != nil {
		return nil, err
	}
	if !cur.lossless(cur.data) {
		return nil, fmt.Errorf("it is broken %v and cannot be written back unharmed", cur.enc)
	}
	p.files[cur.at.rel] = cur
	return []byte(cur.text), nil
}

// changes turns what the patch does into changes of files, in the encodings they have.
func (p *patchRun) changes(made []edit.FileChange) ([]change, error) {
	var out []change
	used := map[string]bool{}
	add := func(c change) error {
		if used[c.at.rel] {
			return fmt.Errorf("the patch names %s twice, perhaps by different spellings; put all its hunks into one section", quotePath(c.at.rel))
		}
		used[c.at.rel] = true
		out = append(out, c)
		return nil
	}
	for _, m := range made {
		t, err := p.w.resolve(m.Path)
		if err != nil {
			return nil, err
		}
		cur := p.files[t.rel]
		if cur != nil {
			t = cur.at // the state the hunks were found in, not the one of this moment
		}
		c := change{at: t, remove: m.Delete}
		if m.MovedFrom != "" {
			from, err := p.w.resolve(m.MovedFrom)
			if err != nil {
				return nil, err
			}
			if cur = p.files[from.rel]; cur == nil {
				return nil, fmt.Errorf("%s was moved without being read", quotePath(from.rel))
			}
			c.mode = cur.at.info.Mode()
			if err := add(change{at: cur.at, remove: true}); err != nil {
				return nil, err
			}
		}
		if !m.Delete {
			f := textFile{}
			if cur != nil {
				f = cur.textFile
			}
			f.text = string(m.Content)
			c.data = f.encode()
			if len(c.data) > p.w.cfg.Limits.FileBytes {
				return nil, fmt.Errorf("%s would have %s, more than the %s that can be written", quotePath(t.rel), sizeName(int64(len(c.data))), sizeName(int64(p.w.cfg.Limits.FileBytes)))
			}
		}
		if err := add(c); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the patch changes nothing")
	}
	return out, nil
}

// remember updates what the model believes the files to hold.
func (p *patchRun) remember(ctx context.Context, made []edit.FileChange) {
	for _, m := range made {
		rel, old := p.names(m)
		var v view
		if old != "" {
			v, _ = p.w.views.get(ctx, old)
		}
		if old != "" && old != rel || m.Delete {
			p.w.views.forget(ctx, old)
		}
		switch {
		case m.Delete:
		case old == "":
			p.w.views.set(ctx, rel, view{text: string(m.Content), known: true, whole: true})
		default:
			p.w.rememberEdit(ctx, rel, v, string(m.Content))
		}
	}
}

// names returns the canonical path a change leads to, and the one it came from, "" for a new file.
func (p *patchRun) names(m edit.FileChange) (rel, old string) {
	if t, err := p.w.resolve(m.Path); err == nil {
		rel = t.rel
	}
	if m.MovedFrom != "" {
		if t, err := p.w.resolve(m.MovedFrom); err == nil {
			old = t.rel
		}
		return rel, old
	}
	if p.files[rel] != nil {
		old = rel
	}
	return rel, old
}

func (p *patchRun) report(made []edit.FileChange) string {
	var parts []string
	for _, m := range made {
		rel, old := p.names(m)
		name := quotePath(rel)
		before := ""
		if cur := p.files[old]; cur != nil {
			before = cur.text
		}
		after := string(m.Content)
		switch {
		case m.Delete:
			parts = append(parts, "Deleted "+name+".")
			continue
		case old == "":
			parts = append(parts, fmt.Sprintf("Created %s with %d lines.", name, countLines(after)))
		case m.MovedFrom != "":
			parts = append(parts, "Moved "+quotePath(old)+" to "+name+".", changedLines(before, after, p.w.cfg.Limits.LineBytes))
		default:
			parts = append(parts, "Edited "+name+".", changedLines(before, after, p.w.cfg.Limits.LineBytes))
		}
		parts = append(parts, notes(append(m.Notes, edit.CheckSyntax(rel, before, after))...))
	}
	return clip(joinLines(parts...), p.w.cfg.Limits.ReadBytes)
}
