package coding

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type memoryIn struct {
	Action string `json:"action" jsonschema:"enum=read,enum=append,enum=replace" jsonschema_description:"read the notes, append to them, or replace all of them"`
	Text   string `json:"text,omitempty" jsonschema_description:"Markdown, for append and replace"`
}

// resourceMemory is the resource that calls of the memory tool read and write, wherever the notes
// are kept.
const resourceMemory = "memory:notes"

// memoryFile is the path of the notes within a workspace.
const memoryFile = ".luthier/memory.md"

func (w *Workspace) memoryTool() (agent.Tool, error) {
	return newTool("memory", w.memory, toolParts[memoryIn]{
		any:     agent.Writing(w.memoryResource()),
		effects: w.memoryEffects,
		describe: titled(func(in memoryIn) string {
			return in.Action + " the notes on this project"
		}),
	})
}

func (w *Workspace) memoryResource() string {
	if w.cfg.MemoryDir == "" {
		return memoryFile
	}
	return resourceMemory
}

func (w *Workspace) memoryEffects(in memoryIn) agent.Effects {
	if in.Action == "read" {
		return agent.ReadOnly(w.memoryResource())
	}
	return agent.Writing(w.memoryResource())
}

// memoryPlace opens a workspace in Config.MemoryDir and returns it with the path of the notes in
// it. Notes outside the workspace get one of their own, so that they are read and written with the
// same precautions.
func (w *Workspace) memoryPlace() (*Workspace, string, error) {
	if err := os.MkdirAll(w.cfg.MemoryDir, 0o700); err != nil {
		return nil, "", fmt.Errorf("the directory for notes cannot be made: %w", show.Cause(err))
	}
	root, err := regular.OpenRoot(w.cfg.MemoryDir)
	if err != nil {
		return nil, "", fmt.Errorf("the directory for notes cannot be opened: %w", show.Cause(err))
	}
	// Two projects may have directories of the same name.
	sum := sha256.Sum256([]byte(w.id))
	name := fmt.Sprintf("%s-%x.md", strings.Trim(filepath.Base(w.name), ". "), sum[:6])
	cfg := w.cfg
	cfg.Index = nil // it belongs to another directory
	dir := w.cfg.MemoryDir
	place := &Workspace{cfg: cfg, dir: dir, name: dir, id: dir, onHost: true, top: root, fault: w.fault}
	opened{place, root}.recover()
	return place, name, nil
}

func (w *Workspace) memory(ctx context.Context, in memoryIn) (string, error) {
	if in.Action == "append" && strings.TrimSpace(in.Text) == "" {
		return "", errors.New("append needs a text")
	}
	switch {
	case w.cfg.MemoryDir == "" && in.Action == "read":
		return viewing(ctx, w, in, opened.notesInTree)
	case w.cfg.MemoryDir == "":
		return changing(w, opened.notesInTree)(ctx, in)
	}
	place, name, err := w.memoryPlace()
	if err != nil {
		return "", err
	}
	defer place.top.Close()
	return w.takeNotes(ctx, in, opened{place, place.top}, name)
}

func (w opened) notesInTree(ctx context.Context, in memoryIn) (string, error) {
	return w.takeNotes(ctx, in, w, memoryFile)
}

// takeNotes answers a call about the notes with a path in place.
func (w *Workspace) takeNotes(ctx context.Context, in memoryIn, place opened, name string) (string, error) {
	unlock, err := w.locks.lock(ctx, w.memoryResource())
	if err != nil {
		return "", err
	}
	defer unlock()
	t, err := place.resolve(name)
	if err != nil {
		return "", err
	}
	cur, err := place.currentAt(t)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cur = &currentFile{at: t}
	case err != nil:
		return "", err
	}
	switch in.Action {
	case "append":
		return w.saveMemory(ctx, place, cur, appendNote(cur.text, in.Text))
	case "replace":
		if v, seen := w.views.get(ctx, resourceMemory); cur.text != "" && (!seen || !sameLines(v.text, cur.text)) {
			return "", errors.New("the notes were not read yet, or changed since; read them first so that nothing is lost, then replace them")
		}
		return w.saveMemory(ctx, place, cur, in.Text)
	}
	w.views.set(ctx, resourceMemory, view{text: cur.text, known: true, whole: true})
	if strings.TrimSpace(cur.text) == "" {
		return "There are no notes on this project yet.", nil
	}
	return clip(strings.TrimRight(cur.text, "\n"), 2*w.cfg.Limits.MemoryBytes), nil
}

// appendNote adds a note as a paragraph or list item of its own.
func appendNote(text, note string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + strings.TrimRight(note, "\n") + "\n"
}

func (w *Workspace) saveMemory(ctx context.Context, place opened, cur *currentFile, text string) (string, error) {
	if len(text) > w.cfg.Limits.MemoryBytes {
		return "", fmt.Errorf("the notes would have %s, more than the %s they may have; read them and replace them by a shorter version without what is out of date", show.Size(int64(len(text))), show.Size(int64(w.cfg.Limits.MemoryBytes)))
	}
	next := cur.textFile
	next.text = withLineEnding(text, lineEnding(cur.text))
	data, err := next.encode()
	if err != nil {
		return "", err
	}
	if _, err := place.commit(ctx, []change{{at: cur.at, was: cur.data, data: data}}); err != nil {
		return "", err
	}
	w.views.set(ctx, resourceMemory, view{text: next.text, known: true, whole: true})
	return fmt.Sprintf("Saved; the notes have %s of at most %s.", show.Size(int64(len(next.text))), show.Size(int64(w.cfg.Limits.MemoryBytes))), nil
}
