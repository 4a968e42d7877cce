package coding

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/ignore"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type listIn struct {
	Path    string `json:"path,omitempty" jsonschema_description:"directory; default is the workspace"`
	Depth   int    `json:"depth,omitempty" jsonschema:"minimum=0" jsonschema_description:"levels of directories to show; default is as many as fit"`
	Ignored bool   `json:"ignored,omitempty" jsonschema_description:"also show files that .gitignore leaves out"`
}

func (w *Workspace) listTool() (agent.Tool, error) {
	return newTool("list", reading(w, opened.list), toolParts[listIn]{
		any:      agent.ReadOnly("."),
		effects:  func(in listIn) agent.Effects { return effectsIn(w, orRoot(in.Path), opened.readEffects) },
		describe: titled(func(in listIn) string { return "list " + show.Path(orRoot(in.Path)) }),
	})
}

// A treeNode is one entry of the tree that list shows.
type treeNode struct {
	name     string
	rel      string
	depth    int
	dir      bool
	opened   bool // children are the entries; otherwise count is their number
	children []*treeNode
	count    int
	ignored  []string // entries that ignore files leave out
	failed   error
}

func (w opened) list(ctx context.Context, in listIn) (string, error) {
	t, err := w.resolve(orRoot(in.Path))
	if err != nil {
		return "", err
	}
	if t.info == nil {
		return "", w.missing(t.rel)
	}
	if !t.info.IsDir() {
		return "", fmt.Errorf("%s is a file of %s; use read to see it", show.Path(t.rel), show.Size(t.info.Size()))
	}
	l := lister{w: w, left: w.cfg.Limits.ListEntries, rules: w.ignored()}
	l.all = in.Ignored || l.rules.Match(t.rel, true)
	root := &treeNode{rel: t.rel, dir: true}
	if err := l.grow(ctx, root, in.Depth); err != nil {
		return "", err
	}
	if root.failed != nil {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), root.failed)
	}
	var b strings.Builder
	root.print(&b)
	switch {
	case len(root.children) > 0:
	case len(root.ignored) > 0:
		fmt.Fprintf(&b, "(nothing but %s that .gitignore leaves out: %s; set ignored to list it)\n", entries(len(root.ignored)), someNames(root.ignored))
	default:
		b.WriteString("(empty directory)\n")
	}
	note := ""
	if l.cut {
		note = fmt.Sprintf("only %d entries are shown; list a directory below to see more of it, or use glob", w.cfg.Limits.ListEntries)
	}
	return joinLines(show.Path(t.rel)+"/", b.String(), notes(note)), nil
}

// lister reads directories level by level, so that a large one deep down does not hide the others.
type lister struct {
	w     opened
	rules *ignore.Matcher
	all   bool
	left  int // entries that may still be shown
	cut   bool
}

func (l *lister) grow(ctx context.Context, root *treeNode, depth int) error {
	for level := []*treeNode{root}; len(level) > 0; {
		var next []*treeNode
		for _, n := range level {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if depth > 0 && n.depth >= depth || l.left <= 0 && n != root {
				l.cut = l.cut || depth == 0 || n.depth < depth
				l.countOnly(n)
				continue
			}
			l.open(n)
			for _, c := range n.children {
				if c.dir {
					next = append(next, c)
				}
			}
		}
		level = next
	}
	return nil
}

// maxCounted limits the number of closed directories whose entries are counted, since each must be
// read.
const maxCounted = 2000

func (l *lister) countOnly(n *treeNode) {
	if l.left -= 1; l.left < -maxCounted {
		n.count = -1
		return
	}
	entries, err := l.w.readDir(n.rel)
	n.count, n.failed = len(entries), err
}

// open fills in the children of n, as many as fit. One directory gets at most half of the remaining
// room, so that its neighbours are shown too.
func (l *lister) open(n *treeNode) {
	entries, err := l.w.readDir(n.rel)
	if err != nil {
		n.failed = err
		return
	}
	n.opened = true
	room := max(l.left/2, min(l.left, 20))
	if n.rel == "." || n.depth == 0 {
		room = max(l.left*3/4, 1)
	}
	for _, e := range entries {
		rel := path.Join(n.rel, e.Name())
		if e.Name() == ".git" {
			continue
		}
		if !l.all && l.rules.Match(rel, e.IsDir()) {
			n.ignored = append(n.ignored, l.label(rel, e))
			continue
		}
		if room == 0 {
			n.count++ // not shown
			l.cut = true
			continue
		}
		n.children = append(n.children, &treeNode{name: l.label(rel, e), rel: rel, depth: n.depth + 1, dir: e.IsDir()})
		room--
		l.left--
	}
}

// label returns the name of an entry with a mark for its kind.
func (l *lister) label(rel string, e fs.DirEntry) string {
	name := show.Path(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		if dest, err := l.w.root.Readlink(rel); err == nil {
			return name + " -> " + show.Path(dest)
		}
		return name + " (symbolic link)"
	case !e.Type().IsRegular():
		return name + " (" + kindName(e.Type()) + ")"
	}
	return name
}

func (n *treeNode) print(b *strings.Builder) {
	for _, c := range n.children {
		b.WriteString(strings.Repeat("  ", c.depth))
		b.WriteString(c.name)
		switch {
		case c.failed != nil:
			fmt.Fprintf(b, " (%v)", c.failed)
		case c.dir && !c.opened && c.count > 0:
			fmt.Fprintf(b, " (%s)", entries(c.count))
		case c.opened && len(c.children) == 0 && c.count == 0 && len(c.ignored) > 0:
			fmt.Fprintf(b, " (%s, ignored)", entries(len(c.ignored)))
		}
		b.WriteByte('\n')
		c.print(b)
	}
	if n.opened && n.count > 0 {
		fmt.Fprintf(b, "%s... %d more\n", strings.Repeat("  ", n.depth+1), n.count)
	}
}

// someNames joins the first of many names.
func someNames(names []string) string {
	const most = 10
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(", … %d more", len(names)-most)
	}
	return text
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
