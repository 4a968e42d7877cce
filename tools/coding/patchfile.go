package coding

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/edit"
)

type patchIn struct {
	Patch string `json:"patch" jsonschema_description:"the patch, from *** Begin Patch to *** End Patch"`
}

func (w *Workspace) patchTool() (agent.Tool, error) {
	call, effects := guarded(w, "apply_patch", changing(w, opened.applyPatch), opened.patchEffects)
	return newTool("apply_patch", call, toolParts[patchIn]{
		any:      agent.Writing("."),
		effects:  effects,
		describe: w.describePatch,
	})
}

// absoluteHeader matches a header line with an absolute path. The patch format does not allow that,
// but models write it.
var absoluteHeader = regexp.MustCompile(`(?m)^(\*\*\* (?:Add File|Update File|Delete File|Move to): )(/.*?)[ \t\r]*$`)

// absoluteDir matches the directory of a cd command before the patch.
var absoluteDir = regexp.MustCompile(`\b((?:cd|pushd)[ \t]+(?:--[ \t]+)?)("/[^"\n]*"|'/[^'\n]*'|/[^\s;&|"']*)`)

// parsePatch parses a patch after making absolute paths inside the workspace relative. It also
// returns the text to apply.
func (w *Workspace) parsePatch(patch string) (string, *edit.Patch, error) {
	command, body := "", patch
	if i := strings.Index(patch, "*** Begin Patch"); i >= 0 {
		command, body = patch[:i], patch[i:]
	}
	if strings.Contains(command, "cd ") || strings.Contains(command, "pushd ") {
		// The paths of the patch begin in that directory, so an absolute path stays, and is
		// refused.
		command = absoluteDir.ReplaceAllStringFunc(command, func(cd string) string {
			m := absoluteDir.FindStringSubmatch(cd)
			quote := m[2][:len(m[2])-len(strings.TrimLeft(m[2], `"'`))]
			rel, err := w.relative(strings.Trim(m[2], `"'`))
			if err != nil {
				return cd
			}
			return m[1] + quote + path.Clean(rel) + quote
		})
	} else {
		body = absoluteHeader.ReplaceAllStringFunc(body, func(line string) string {
			m := absoluteHeader.FindStringSubmatch(line)
			rel, err := w.relative(m[2])
			if err != nil {
				return line
			}
			return m[1] + path.Clean(rel)
		})
	}
	patch = command + body
	parsed, err := edit.ParsePatch(patch)
	return patch, parsed, err
}

func (w opened) patchEffects(in patchIn) agent.Effects {
	patch, p, err := w.parsePatch(in.Patch)
	if err != nil {
		// It will be refused without looking at any file.
		e := agent.ReadOnly()
		e.Reasons = []string{"the patch is malformed and changes nothing"}
		return e
	}
	e := w.writeEffects(p.Writes()...)
	for _, f := range p.Files {
		if f.Op == edit.DeleteFile || f.MoveTo != "" {
			e.Flags |= agent.EffectDelete
			e.Reasons = append(e.Reasons, "it removes "+show.Path(f.Path))
		}
	}
	return w.mark(e, p.Writes(), func() ([]fileChange, error) { return w.patchChanges(patch) })
}

func (w *Workspace) describePatch(in patchIn) agent.CallDescription {
	d := agent.CallDescription{Title: "apply a malformed patch", Detail: clip(in.Patch, previewBytes), Where: w.name}
	if _, p, err := w.parsePatch(in.Patch); err == nil {
		var names []string
		for _, f := range p.Files {
			names = append(names, string(f.Op)+" "+show.Path(f.Path))
		}
		d.Title = "patch: " + clip(strings.Join(names, ", "), 200)
	}
	return d
}

func (w opened) applyPatch(ctx context.Context, in patchIn) (string, error) {
	patch, parsed, err := w.parsePatch(in.Patch)
	if err != nil {
		return "", fmt.Errorf("%w\nNothing was changed", err)
	}
	unlock, err := w.lockAll(ctx, parsed.Writes())
	if err != nil {
		return "", err
	}
	defer unlock()
	p := patchRun{w: w, files: map[string]*currentFile{}}
	made, err := edit.ApplyPatch(p.read, patch)
	if err != nil {
		return "", fmt.Errorf("%w\nNothing was changed", err)
	}
	changes, err := p.changes(made)
	if err == nil {
		p.note, err = w.commit(ctx, changes)
	}
	if err != nil {
		return "", fmt.Errorf("%w\nNothing was changed: every file is as it was before the patch", err)
	}
	p.remember(ctx, made)
	return p.report(made), nil
}

// lockAll locks all files that a patch names.
func (w opened) lockAll(ctx context.Context, paths []string) (func(), error) {
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

// patchRun is one patch being applied. files holds the files that were read, by canonical path.
type patchRun struct {
	w     opened
	files map[string]*currentFile
	note  string // what commit has to say
}

func (p *patchRun) read(name string) ([]byte, error) {
	cur, err := p.w.current(name)
	if err != nil {
		return nil, err
	}
	if !cur.lossless() {
		return nil, fmt.Errorf("it is broken %s and cannot be written back unharmed", cur.src.Name())
	}
	p.files[cur.at.rel] = cur
	return []byte(cur.text), nil
}

// changes converts the patch's results to changes of files, in their own encodings.
func (p *patchRun) changes(made []edit.FileChange) ([]change, error) {
	var out []change
	used := map[string]bool{}
	add := func(c change) error {
		if used[c.at.rel] {
			return fmt.Errorf("the patch names %s twice, perhaps by different spellings; put all its hunks into one section", show.Path(c.at.rel))
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
		if err := p.w.checkLooks(t, m.MovedFrom != ""); err != nil {
			return nil, err
		}
		cur := p.files[t.rel]
		if cur != nil {
			t = cur.at // the state in which the hunks were found, not the current one
		}
		c := change{at: t, remove: m.Delete}
		if cur != nil {
			c.was = cur.data
		}
		if m.MovedFrom != "" {
			from, err := p.w.resolve(m.MovedFrom)
			if err != nil {
				return nil, err
			}
			if cur = p.files[from.rel]; cur == nil {
				return nil, fmt.Errorf("%s was moved without being read", show.Path(from.rel))
			}
			c.mode = cur.at.info.Mode()
			if err := add(change{at: cur.at, was: cur.data, remove: true}); err != nil {
				return nil, err
			}
		}
		if !m.Delete {
			f := textFile{}
			if cur != nil {
				f = cur.textFile
			}
			f.text = string(m.Content)
			if c.data, err = f.encode(); err != nil {
				return nil, fmt.Errorf("%s: %w", show.Path(t.rel), err)
			}
			if len(c.data) > p.w.cfg.Limits.FileBytes {
				return nil, fmt.Errorf("%s would have %s, more than the %s that can be written", show.Path(t.rel), show.Size(int64(len(c.data))), show.Size(int64(p.w.cfg.Limits.FileBytes)))
			}
		}
		if err := add(c); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the patch changes nothing")
	}
	// If a crash occurs in between, a moved file must still be in at least one place.
	slices.SortStableFunc(out, func(a, b change) int {
		switch {
		case a.remove == b.remove:
			return 0
		case a.remove:
			return 1
		}
		return -1
	})
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

// names returns the canonical path of a change's result, and the path it came from, or "" for a new
// file.
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
		name := show.Path(rel)
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
			parts = append(parts, "Moved "+show.Path(old)+" to "+name+".", changedLines(before, after, p.w.cfg.Limits.LineBytes))
		default:
			parts = append(parts, "Edited "+name+".", changedLines(before, after, p.w.cfg.Limits.LineBytes))
		}
		parts = append(parts, notes(append(m.Notes, edit.CheckSyntax(rel, before, after))...))
	}
	parts = append(parts, notes(p.note))
	return clip(joinLines(parts...), p.w.cfg.Limits.ReadBytes)
}
