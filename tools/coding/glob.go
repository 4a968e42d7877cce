package coding

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type globIn struct {
	Pattern string `json:"pattern" jsonschema_description:"such as **/*.go or src/**/*.{ts,tsx}"`
	Path    string `json:"path,omitempty" jsonschema_description:"directory the pattern is relative to; default is the workspace"`
	Sort    string `json:"sort,omitempty" jsonschema:"enum=modified,enum=path" jsonschema_description:"modified: latest first (default)"`
	Ignored bool   `json:"ignored,omitempty" jsonschema_description:"also find files that .gitignore leaves out"`
	Limit   int    `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"number of files to name"`
}

func (w *Workspace) globTool() (agent.Tool, error) {
	return newTool("glob", reading(w, opened.glob), toolParts[globIn]{
		any:      agent.ReadOnly("."),
		effects:  func(in globIn) agent.Effects { return effectsIn(w, orRoot(in.Path), opened.readEffects) },
		describe: titled(func(in globIn) string { return "glob " + in.Pattern }),
	})
}

func orRoot(p string) string {
	if p == "" {
		return "."
	}
	return p
}

// limit returns the limit that a call asks for, within the workspace's own limits.
func (w *Workspace) limit(asked int) int {
	if asked <= 0 {
		return w.cfg.Limits.Results
	}
	return min(asked, w.cfg.Limits.MaxResults)
}

// startDir resolves the directory in which a search starts.
func (w opened) startDir(p string) (target, error) {
	t, err := w.resolve(orRoot(p))
	if err != nil {
		return t, err
	}
	switch {
	case t.info == nil:
		return t, w.missing(t.rel)
	case !t.info.IsDir():
		return t, fmt.Errorf("%s is a file, not a directory", show.Path(t.rel))
	}
	return t, nil
}

type globbed struct {
	rel string
	mod time.Time
}

func (w opened) glob(ctx context.Context, in globIn) (string, error) {
	if in.Pattern == "" {
		return "", fmt.Errorf("the pattern is empty; use ** for all files")
	}
	from, err := w.startDir(in.Path)
	if err != nil {
		return "", err
	}
	filter, err := newNameFilter(from.rel, w.globPattern(in.Pattern, from.rel))
	if err != nil {
		return "", err
	}
	var found []globbed
	unreadable, err := w.walk(ctx, from, in.Ignored, func(rel string, d fs.DirEntry) error {
		if !d.IsDir() && filter.match(rel) {
			g := globbed{rel: rel}
			if info, err := d.Info(); err == nil {
				g.mod = info.ModTime()
			}
			found = append(found, g)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return joinLines(fmt.Sprintf("No file matches %q below %s.", in.Pattern, show.Path(from.rel)), w.globHint(in), unreadableNote(unreadable)), nil
	}
	slices.SortFunc(found, func(a, b globbed) int {
		if in.Sort != "path" {
			if c := b.mod.Compare(a.mod); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.rel, b.rel)
	})
	return w.globResult(found, w.limit(in.Limit), unreadable), nil
}

// globPattern makes an absolute pattern inside the workspace relative to from.
func (w *Workspace) globPattern(p, from string) string {
	for _, base := range []string{w.name, w.dir} {
		if rest, ok := strings.CutPrefix(p, base+"/"); ok {
			if from != "." {
				rest = strings.TrimPrefix(rest, from+"/")
			}
			return "/" + rest
		}
	}
	return p
}

func (w *Workspace) globHint(in globIn) string {
	if in.Ignored {
		return ""
	}
	return "Files that .gitignore leaves out were not looked at; set ignored to include them."
}

func (w *Workspace) globResult(found []globbed, limit, unreadable int) string {
	var b strings.Builder
	shown := 0
	for _, g := range found[:min(limit, len(found))] {
		name := show.Path(g.rel)
		if b.Len()+len(name) > w.cfg.Limits.ReadBytes {
			break
		}
		b.WriteString(name)
		b.WriteByte('\n')
		shown++
	}
	more := ""
	if rest := len(found) - shown; rest > 0 {
		more = fmt.Sprintf("%d more files match and are not shown; narrow the pattern or raise limit", rest)
	}
	return joinLines(b.String(), notes(more, unreadableNote(unreadable)))
}

func unreadableNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d directories could not be read", n)
}
