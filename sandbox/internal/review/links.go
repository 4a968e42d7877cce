package review

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

const (
	// maxLinks is how many symbolic links are followed on one path, as in the kernel.
	maxLinks = 40
	// maxSteps is how many names are followed for all links of a review: each of a
	// thousand links may lead through forty, of two thousand names each.
	maxSteps = 2_000_000
)

// link looks at where a symbolic link leads, as the host's kernel would after an
// export, and not only at how it is written.
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

// spot is a path on the way of a link.
type spot struct {
	e   *tree.Entry // nil where nothing is yet
	git bool        // a .git or below one
	up  *spot       // set where e is nil
}

func (r *reviewer) spot(e *tree.Entry) *spot { return &spot{e: e, git: r.paths.InGit(e.Rel)} }

// above is the directory of a spot, nil for the top's.
func (r *reviewer) above(s *spot) *spot {
	switch {
	case s.e == nil:
		return s.up
	case s.e.Up == nil:
		return nil
	}
	return r.spot(s.e.Up)
}

// lookup is a name in a directory.
type lookup struct {
	dir  *tree.Entry
	name string
}

// maxLooked is how many names are kept, of which each costs some hundred bytes.
const maxLooked = 1 << 14

// child is what dir holds under name. Links have most of their way in common, and to
// look at the disk costs a hundred times as much as to remember.
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

// linkWalk follows a path through the tree as it is after the change.
type linkWalk struct {
	r     *reviewer
	links int
	git   bool // passed through a git directory
}

// resolve follows target from at. It returns what is reached, and whether that and
// all on the way lies inside the workspace.
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
