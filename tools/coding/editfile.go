package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/edit"
)

type editIn struct {
	Path  string        `json:"path" jsonschema_description:"file, relative to the workspace"`
	Old   string        `json:"old,omitempty" jsonschema_description:"text to replace, exactly as in the file"`
	New   string        `json:"new,omitempty" jsonschema_description:"text to put there"`
	All   bool          `json:"all,omitempty" jsonschema_description:"replace every occurrence"`
	Edits []replacement `json:"edits,omitempty" jsonschema_description:"several replacements in this file, in order, in place of old and new"`
}

type replacement struct {
	Old string `json:"old" jsonschema_description:"text to replace, exactly as in the file after the edits before"`
	New string `json:"new" jsonschema_description:"text to put there"`
	All bool   `json:"all,omitempty" jsonschema_description:"replace every occurrence"`
}

func (in editIn) list() []replacement {
	if len(in.Edits) > 0 {
		return in.Edits
	}
	return []replacement{{in.Old, in.New, in.All}}
}

func (w *Workspace) editTool() (agent.Tool, error) {
	call, effects := guarded(w, "edit", changing(w, opened.edit), func(w opened, in editIn) agent.Effects {
		return w.mark(w.writeEffects(in.Path), []string{in.Path}, func() ([]fileChange, error) { return w.editChanges(in) })
	})
	return newTool("edit", call, toolParts[editIn]{
		any:      agent.Writing("."),
		effects:  effects,
		describe: w.describeEdit,
	})
}

func (w *Workspace) describeEdit(in editIn) agent.CallDescription {
	d := agent.CallDescription{Title: "edit " + show.Path(in.Path), Where: w.name}
	if n := len(in.list()); n > 1 {
		d.Title += fmt.Sprintf(" (%d replacements)", n)
	}
	cur, err := w.now(in.Path)
	if err != nil {
		return d
	}
	if next, err := replaceAll(cur.text, "", in.list()); err == nil {
		d.Detail = preview(cur.at.rel, cur.text, next.text)
	}
	return d
}

func (w opened) edit(ctx context.Context, in editIn) (string, error) {
	if len(in.Edits) > 0 && (in.Old != "" || in.New != "") {
		return "", errors.New("give either old and new, or edits, not both")
	}
	t, unlock, err := w.lockFile(ctx, in.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	cur, err := w.currentAt(t)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; to create a file use write", err)
	}
	if err != nil {
		return "", err
	}
	if !cur.lossless() {
		return "", fmt.Errorf("%s is broken %s and cannot be written back unharmed; repair it with a program such as iconv", show.Path(t.rel), cur.src.Name())
	}
	v, seen := w.views.get(ctx, t.rel)
	base := ""
	if seen && v.known {
		base = v.text
	}
	next, err := replaceAll(cur.text, base, in.list())
	if err != nil {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), err)
	}
	if len(next.text) > w.cfg.Limits.FileBytes {
		return "", fmt.Errorf("%s would grow to %s, more than the %s that can be written", show.Path(t.rel), show.Size(int64(len(next.text))), show.Size(int64(w.cfg.Limits.FileBytes)))
	}
	after := cur.textFile
	after.text = next.text
	data, err := after.encode()
	if err != nil {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), err)
	}
	note, err := w.commit(ctx, []change{{at: cur.at, was: cur.data, data: data}})
	if err != nil {
		return "", err
	}
	w.rememberEdit(ctx, t.rel, v, next.base)
	head := fmt.Sprintf("Edited %s: %s.", show.Path(t.rel), plural(next.count, "replacement"))
	return joinLines(head, changedLines(cur.text, next.text, w.cfg.Limits.LineBytes),
		notes(append(next.notes, note, encodingKept(after), edit.CheckSyntax(t.rel, cur.text, next.text))...)), nil
}

// replaced is the outcome of several replacements in one text.
type replaced struct {
	text  string
	base  string // what the model believes the text to be afterwards
	count int
	notes []string
}

// replaceAll makes the replacements in order, all or none. base is the text that the model was
// shown, or "" if unknown.
func replaceAll(text, base string, list []replacement) (replaced, error) {
	out := replaced{text: text, base: base}
	for i, r := range list {
		res, err := edit.Replace(out.text, edit.Replacement{Old: r.Old, New: r.New, All: r.All, Base: out.base})
		if err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("edit %d of %d: %w\nNone of the %d edits was made", i+1, len(list), err, len(list))
			}
			return replaced{}, err
		}
		out.base = nextBase(out.base, out.text, res.Content, r)
		out.text = res.Content
		out.count += max(res.Count, 1)
		if res.Strategy != "exact" && len(res.Notes) == 0 {
			res.Notes = []string{"matched by " + res.Strategy}
		}
		for _, n := range res.Notes {
			if !slices.Contains(out.notes, n) {
				out.notes = append(out.notes, n)
			}
		}
	}
	return out, nil
}

// nextBase returns what the model believes the text to be after an edit: its previous belief with
// the edit applied. If the edit cannot be applied to that, nothing is known except the file itself.
func nextBase(base, before, after string, r replacement) string {
	if base == "" || sameLines(base, before) {
		return after
	}
	res, err := edit.Replace(base, edit.Replacement{Old: r.Old, New: r.New, All: r.All})
	if err != nil {
		return after
	}
	return res.Content
}

// rememberEdit updates the shown ranges after an edit. Ranges behind the first change have moved;
// they are dropped rather than guessed, so that nothing counts as shown that was not.
func (w *Workspace) rememberEdit(ctx context.Context, rel string, v view, now string) {
	next := view{text: now, known: true, whole: v.whole, epoch: v.epoch}
	first := firstDifference(v.text, now)
	moved := func(r lineRange) bool { return r.last >= first }
	next.lines = slices.DeleteFunc(slices.Clone(v.lines), moved)
	next.fresh = slices.DeleteFunc(slices.Clone(v.fresh), moved)
	w.views.set(ctx, rel, next)
}

// firstDifference returns the number of the first line in which a and b differ.
func firstDifference(a, b string) int {
	line := 1
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
