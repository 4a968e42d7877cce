package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/edit"
)

type writeIn struct {
	Path      string `json:"path" jsonschema_description:"file, relative to the workspace"`
	Content   string `json:"content" jsonschema_description:"the whole new content"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema_description:"replace an existing file whatever it holds now, also when it was not read"`
}

func (w *Workspace) writeTool() (agent.Tool, error) {
	call, effects := guarded(w, "write", changing(w, opened.write), func(w opened, in writeIn) agent.Effects {
		return w.mark(w.writeEffects(in.Path), []string{in.Path}, func() ([]fileChange, error) { return w.writeChanges(in) })
	})
	return newTool("write", call, toolParts[writeIn]{
		any:      agent.Writing("."),
		effects:  effects,
		describe: w.describeWrite,
	})
}

func (w *Workspace) describeWrite(in writeIn) agent.CallDescription {
	d := agent.CallDescription{Title: fmt.Sprintf("write %s (%d lines)", show.Path(in.Path), countLines(in.Content)), Where: w.name}
	switch cur, err := w.now(in.Path); {
	case err == nil:
		d.Detail = preview(cur.at.rel, cur.text, withLineEnding(in.Content, lineEnding(cur.text)))
	case errors.Is(err, fs.ErrNotExist):
		d.Detail = preview(in.Path, "", in.Content)
	}
	return d
}

// A currentFile is a text file as it is now on disk.
type currentFile struct {
	textFile
	at   target
	data []byte
}

// current reads the text file at p. If the file does not exist, the error is an [fs.ErrNotExist].
func (w opened) current(p string) (*currentFile, error) {
	t, err := w.resolve(p)
	if err != nil {
		return nil, err
	}
	return w.currentAt(t)
}

// now is current for a call that does not hold the tree.
func (w *Workspace) now(p string) (*currentFile, error) {
	return viewing(context.Background(), w, p, func(w opened, _ context.Context, p string) (*currentFile, error) { return w.current(p) })
}

func (w opened) currentAt(t target) (*currentFile, error) {
	if t.info == nil {
		return nil, &notThere{w.missing(t.rel)}
	}
	data, info, err := w.readAll(t, w.cfg.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	c := &currentFile{at: target{t.rel, info}, data: data}
	var kind string
	if c.textFile, kind = decode(data); kind != "" {
		return nil, &notText{binaryError(t.rel, kind, int64(len(data)))}
	}
	return c, nil
}

// notThere is the error for a missing file, with a text for the model.
type notThere struct{ error }

func (*notThere) Unwrap() error { return fs.ErrNotExist }

// notText is the error for a file that is not text.
type notText struct{ error }

// lockFile resolves p and locks it. Because the result of resolving before the lock may be out of
// date, it resolves p again.
func (w opened) lockFile(ctx context.Context, p string) (target, func(), error) {
	t, err := w.resolve(p)
	if err != nil {
		return target{}, nil, err
	}
	unlock, err := w.locks.lock(ctx, t.rel)
	if err != nil {
		return target{}, nil, err
	}
	again, err := w.resolve(t.rel)
	if err == nil && again.rel != t.rel {
		err = fmt.Errorf("%s: it was replaced by a symbolic link just now; try again", show.Path(t.rel))
	}
	if err != nil {
		unlock()
		return target{}, nil, err
	}
	return again, unlock, nil
}

func (w opened) write(ctx context.Context, in writeIn) (string, error) {
	t, unlock, err := w.lockFile(ctx, in.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	if len(in.Content) > w.cfg.Limits.FileBytes {
		return "", fmt.Errorf("%s: the content has %s, more than the %s that can be written; write it in several files", show.Path(t.rel), show.Size(int64(len(in.Content))), show.Size(int64(w.cfg.Limits.FileBytes)))
	}
	if err := checkWritable(t); err != nil {
		return "", err
	}
	if t.info == nil {
		if err := w.checkLooks(t, in.Overwrite); err != nil {
			return "", err
		}
		return w.create(ctx, t, in)
	}
	if err := w.checkRegular(t); err != nil {
		return "", err
	}
	return w.overwrite(ctx, t, in)
}

func (w opened) create(ctx context.Context, t target, in writeIn) (string, error) {
	if _, err := w.commit(ctx, []change{{at: t, data: []byte(in.Content)}}); err != nil {
		return "", err
	}
	_, seen := w.views.get(ctx, t.rel)
	w.views.set(ctx, t.rel, view{text: in.Content, known: true, whole: true})
	gone := ""
	if seen {
		gone = "the file had been deleted since you read it; it was created anew"
	}
	return joinLines(fmt.Sprintf("Created %s with %d lines.", show.Path(t.rel), countLines(in.Content)),
		notes(gone, edit.CheckSyntax(t.rel, "", in.Content))), nil
}

func (w opened) overwrite(ctx context.Context, t target, in writeIn) (string, error) {
	cur, err := w.currentAt(t)
	if err != nil {
		if _, binary := errors.AsType[*notText](err); !binary || !in.Overwrite {
			return "", fmt.Errorf("%w; set overwrite to replace it by text", err)
		}
		cur = &currentFile{at: t}
	}
	next := cur.textFile
	next.text = withLineEnding(in.Content, lineEnding(cur.text))
	note := ""
	if !in.Overwrite {
		if next.text, note, err = w.mergeWrite(ctx, cur, next.text); err != nil {
			return "", err
		}
	}
	if cur.data != nil && next.text == cur.text {
		w.views.set(ctx, t.rel, view{text: cur.text, known: true, whole: true})
		return fmt.Sprintf("%s already has exactly this content; nothing was written.", show.Path(t.rel)), nil
	}
	data, err := next.encode()
	if err != nil {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), err)
	}
	placed, err := w.commit(ctx, []change{{at: cur.at, was: cur.data, data: data}})
	if err != nil {
		return "", err
	}
	// The model believes the file to hold what it wrote, without the merged changes of others.
	w.views.set(ctx, t.rel, view{text: withLineEnding(in.Content, lineEnding(cur.text)), known: true, whole: true})
	return joinLines(fmt.Sprintf("Replaced %s: %d lines, before %d.", show.Path(t.rel), countLines(next.text), countLines(cur.text)),
		notes(note, placed, encodingKept(next), edit.CheckSyntax(t.rel, cur.text, next.text))), nil
}

// mergeWrite decides what to write if the model wants to replace cur with text: the model must have
// seen the whole file, and what others have changed since is merged in.
func (w *Workspace) mergeWrite(ctx context.Context, cur *currentFile, text string) (merged, note string, err error) {
	name := show.Path(cur.at.rel)
	v, seen := w.views.get(ctx, cur.at.rel)
	switch {
	case !seen || !v.known:
		return "", "", fmt.Errorf("%s exists (%d lines) and was not read yet; read it first so that nothing in it is lost, use edit to change a part of it, or set overwrite to replace it unseen", name, countLines(cur.text))
	case !v.whole:
		return "", "", fmt.Errorf("%s has %d lines, of which only %s were read; read the rest first, use edit to change a part of it, or set overwrite", name, countLines(cur.text), rangesName(v.lines))
	case sameLines(v.text, cur.text):
		return text, "", nil
	}
	merged, err = edit.Merge(v.text, cur.text, text)
	if err != nil {
		return "", "", fmt.Errorf("%s was changed by somebody else since you read it: %w", name, err)
	}
	return merged, "somebody else changed the file since you read it; their changes were kept beside yours: read it again before you go on", nil
}

func sameLines(a, b string) bool {
	return a == b || withLineEnding(a, "\n") == withLineEnding(b, "\n")
}

func rangesName(rs []lineRange) string {
	if len(rs) == 0 {
		return "parts"
	}
	var names []string
	for _, r := range rs[:min(len(rs), 5)] {
		names = append(names, fmt.Sprintf("%d-%d", r.first, r.last))
	}
	return "lines " + strings.Join(names, ", ")
}

// encodingKept describes how the text was converted for writing to disk.
func encodingKept(f textFile) string {
	switch {
	case !f.src.UTF8():
		return "written as " + f.src.Name() + ", as before"
	case lineEnding(f.text) == "\r\n":
		return "written with CRLF line endings, as before"
	case lineEnding(f.text) == "\r":
		return "written with CR line endings, as before"
	}
	return ""
}

// joinLines joins the non-empty parts of a result.
func joinLines(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimSuffix(p, "\n"))
	}
	return b.String()
}
