package review

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

const (
	// maxLinks is the most symbolic links followed on one path, as in the kernel.
	maxLinks = 40
	// maxSteps is the most names followed for all links of a review: each of a thousand links may
	// lead through forty, each of two thousand names.
	maxSteps = 2_000_000
)

// link checks where a symbolic link leads after an export, as the host's kernel would follow it,
// not only how it is written.
func (r *reviewer) link(e *tree.Entry) {
	target, err := e.Link()
	if err != nil {
		r.add(e.Rel, RuleUnreadable, Refuse, err.Error())
		return
	}
	w := linkWalk{r: r}
	where, inside := w.resolve(r.spot(e.Up), target)
	switch {
	case r.steps > maxSteps:
		r.add(e.Rel, RuleUnreadable, Refuse, "is one of too many links, or of links too long, to follow them all")
	case !inside:
		r.add(e.Rel, RuleLinkEscape, Refuse, "leads out of the workspace: what is read or written through it is the host's")
	case w.git || where.git:
		r.add(e.Rel, RuleLinkGit, Refuse, "leads into a git directory")
	case path.IsAbs(target):
		r.add(e.Rel, RuleLinkEscape, Notice, "is absolute: it leads into this workspace only as long as that stays where it is")
	}
}

// spot is a position reached while following a link.
type spot struct {
	e   *tree.Entry // nil if nothing exists there yet
	git bool        // a .git, or below one
	up  *spot       // the parent; set if e is nil
}

func (r *reviewer) spot(e *tree.Entry) *spot { return &spot{e: e, git: r.paths.InGit(e.Rel)} }

// above returns the directory of a spot, or nil for the top.
func (r *reviewer) above(s *spot) *spot {
	switch {
	case s.e == nil:
		return s.up
	case s.e.Up == nil:
		return nil
	}
	return r.spot(s.e.Up)
}

// lookup is the key of a name in a directory.
type lookup struct {
	dir  *tree.Entry
	name string
}

// maxLooked is the most names cached; each takes some hundred bytes.
const maxLooked = 1 << 14

// child returns what dir contains under name. Links share most of their path, and reading the disk
// costs a hundred times as much as the cache.
func (r *reviewer) child(dir *tree.Entry, name string) (*tree.Entry, error) {
	k := lookup{dir, name}
	if e, ok := r.looked[k]; ok {
		return e, nil
	}
	e, err := r.c.After.Child(dir, name)
	if err != nil {
		return nil, err
	}
	if r.looked == nil || len(r.looked) >= maxLooked {
		r.looked = map[lookup]*tree.Entry{}
	}
	r.looked[k] = e
	return e, nil
}

// linkWalk follows a path through the tree as it will be after the change.
type linkWalk struct {
	r     *reviewer
	links int
	git   bool // went through a git directory
}

// resolve follows target from at. It returns the spot reached, and whether it and everything on the
// way are inside the workspace.
func (w *linkWalk) resolve(at *spot, target string) (*spot, bool) {
	if path.IsAbs(target) {
		rest, ok := strings.CutPrefix(path.Clean(target)+"/", strings.TrimSuffix(w.r.dir, "/")+"/")
		if !ok || strings.Contains(target, "..") {
			return nil, false
		}
		at, target = &spot{e: w.r.c.After.Top()}, rest
	}
	for name := range strings.SplitSeq(target, "/") {
		if name == "" || name == "." {
			continue
		}
		if w.r.steps++; w.r.steps > maxSteps || w.r.steps%1024 == 0 && context.Cause(w.r.ctx) != nil {
			return nil, false
		}
		if name == ".." {
			if at = w.r.above(at); at == nil {
				return nil, false
			}
			continue
		}
		var ok bool
		if at, ok = w.step(at, name); !ok {
			return nil, false
		}
	}
	return at, true
}

// step follows one name.
func (w *linkWalk) step(at *spot, name string) (*spot, bool) {
	e, err := w.r.child(at.e, name)
	if err != nil {
		return nil, false
	}
	git := looksLikeGit(name)
	w.git = w.git || git
	link := ""
	if e != nil && e.Info.Mode()&fs.ModeSymlink != 0 {
		if link, err = e.Link(); err != nil {
			link = ""
		}
	}
	if link == "" { // a directory, a file, or nothing yet
		next := &spot{e: e, git: at.git || git}
		if e == nil {
			next.up = at
		}
		return next, true
	}
	if w.links++; w.links > maxLinks {
		return at, true // a loop leads nowhere
	}
	return w.resolve(at, link)
}
