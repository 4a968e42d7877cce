package sandbox

import (
	"path"
	"strings"
)

// maxLinks is how many symbolic links are followed on one path, as in the kernel.
const maxLinks = 40

// link looks at where a symbolic link leads, as the host's kernel would after an
// export, and not only at how it is written.
func (r *reviewer) link(e *entry) {
	target, err := e.link()
	if err != nil {
		r.add(e.rel, RuleUnreadable, Refuse, err.Error())
		return
	}
	w := linkWalk{r: r}
	where, inside := w.resolve(dirName(e.rel), target)
	switch {
	case !inside:
		r.add(e.rel, RuleLinkEscape, Refuse, "leads out of the workspace: what is read or written through it is the host's")
	case w.git || gitPath(where+"/x") != "":
		r.add(e.rel, RuleLinkGit, Refuse, "leads into a git directory")
	case path.IsAbs(target):
		r.add(e.rel, RuleLinkEscape, Notice, "is absolute: it leads into this workspace only as long as that stays where it is")
	}
}

// linkWalk follows a path through the tree as it is after the change.
type linkWalk struct {
	r     *reviewer
	links int
	git   bool // passed through a git directory
}

// resolve follows target from dir. It returns the path reached, relative to the
// workspace, and whether that and all on the way lies inside.
func (w *linkWalk) resolve(dir, target string) (string, bool) {
	if path.IsAbs(target) {
		rest, ok := strings.CutPrefix(path.Clean(target)+"/", strings.TrimSuffix(w.r.dir, "/")+"/")
		if !ok || strings.Contains(target, "..") {
			return "", false
		}
		dir, target = ".", rest
	}
	at := dir
	for name := range strings.SplitSeq(target, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", false
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		e, err := w.r.c.after.lookup(next)
		if err != nil {
			return "", false
		}
		if looksLikeGit(name) {
			w.git = true
		}
		link := ""
		if e != nil {
			if link, err = e.link(); err != nil {
				link = ""
			}
		}
		if link == "" {
			at = next // a directory, a file, or nothing yet
			continue
		}
		if w.links++; w.links > maxLinks {
			return at, true // a loop leads nowhere
		}
		var inside bool
		if at, inside = w.resolve(at, link); !inside {
			return "", false
		}
	}
	return at, true
}
