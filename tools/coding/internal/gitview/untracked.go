package gitview

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/luthier-dev/luthier/internal/ignore"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// untracked finds the files that git does not track and, if requested, those it ignores.
func (g *Repo) untracked(ctx context.Context, idx *index.Index, under string, ignored bool, st *workStatus) error {
	u := &untrackedWalk{ctx: ctx, g: g, under: under, files: map[string]bool{}, dirs: map[string]bool{"": true, ".": true}, st: st}
	for _, e := range idx.Entries {
		u.files[e.Name] = true
		for dir := path.Dir(e.Name); !u.dirs[dir]; dir = path.Dir(dir) {
			u.dirs[dir] = true
		}
	}
	m := g.cfg.Rules()
	if err := m.Walk(u.visit); err != nil {
		return err
	}
	if ignored {
		return u.findIgnored(m, ".")
	}
	return nil
}

type untrackedWalk struct {
	ctx   context.Context
	g     *Repo
	under string
	files map[string]bool // tracked files, by repository path
	dirs  map[string]bool // directories that contain a tracked file
	last  string          // the untracked directory that was reported last, ending with "/"
	st    *workStatus
}

func (u *untrackedWalk) visit(rel string, d fs.DirEntry, err error) error {
	if ctxErr := context.Cause(u.ctx); ctxErr != nil {
		return ctxErr
	}
	if err != nil {
		if len(u.st.notes) < 10 {
			u.st.notes = append(u.st.notes, show.Path(rel)+": "+show.Cause(err).Error())
		}
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if rel == "." {
		return nil
	}
	p := u.g.prefix + rel
	if d.IsDir() {
		switch {
		case u.files[p]: // a submodule
			return fs.SkipDir
		case u.under != "" && !below(p, u.under) && !below(u.under, p):
			return fs.SkipDir
		case u.last != "" && strings.HasPrefix(p+"/", u.last):
			return fs.SkipDir
		case !u.dirs[p] && u.isRepo(rel):
			u.add(p + "/")
			return fs.SkipDir
		}
		return nil
	}
	if u.files[p] || !below(p, u.under) || u.last != "" && strings.HasPrefix(p, u.last) || u.g.cfg.Temporary(path.Base(rel)) {
		return nil
	}
	u.add(u.collapse(p))
	return nil
}

// isRepo reports whether a directory is a repository of its own, which git does not descend into.
func (u *untrackedWalk) isRepo(rel string) bool {
	_, err := u.g.cfg.Root.Lstat(path.Join(rel, ".git"))
	return err == nil
}

// collapse reports an untracked file as the topmost directory above it that contains nothing
// tracked.
func (u *untrackedWalk) collapse(p string) string {
	out := p
	for dir := path.Dir(p); dir != "." && !u.dirs[dir] && below(dir, u.under) && dir+"/" != u.g.prefix; dir = path.Dir(dir) {
		out = dir + "/"
	}
	return out
}

func (u *untrackedWalk) add(p string) {
	if strings.HasSuffix(p, "/") {
		u.last = p
	}
	if len(u.st.untracked) >= maxUntracked {
		u.st.more++
		return
	}
	u.st.untracked = append(u.st.untracked, p)
}

// findIgnored lists ignored files, each ignored directory as one entry.
func (u *untrackedWalk) findIgnored(m *ignore.Matcher, dir string) error {
	if err := context.Cause(u.ctx); err != nil {
		return err
	}
	entries, err := u.g.cfg.Files.ReadDir(dir)
	if err != nil {
		return nil // already reported by the walk
	}
	for _, e := range entries {
		rel := path.Join(dir, e.Name())
		p := u.g.prefix + rel
		if e.Name() == ".git" || u.files[p] || u.under != "" && !below(p, u.under) && !below(u.under, p) {
			continue
		}
		switch {
		case m.Match(rel, e.IsDir()) && !u.dirs[p]:
			if e.IsDir() {
				p += "/"
			}
			u.addIgnored(p)
		case e.IsDir() && !u.dirs[p] && !u.untrackedIn(p):
			// Nothing in it is tracked or could be: report the whole directory, unless it is empty.
			if sub, err := u.g.cfg.Files.ReadDir(rel); err == nil && len(sub) > 0 {
				u.addIgnored(p + "/")
			}
		case e.IsDir() && !u.isRepo(rel):
			if err := u.findIgnored(m, rel); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *untrackedWalk) addIgnored(p string) {
	if len(u.st.ignored) >= maxUntracked {
		u.st.more++
		return
	}
	u.st.ignored = append(u.st.ignored, p)
}

// untrackedIn reports whether an untracked file was found in the directory p, or p is inside an
// untracked directory.
func (u *untrackedWalk) untrackedIn(p string) bool {
	for _, f := range u.st.untracked {
		if strings.HasPrefix(f, p+"/") || strings.HasSuffix(f, "/") && strings.HasPrefix(p+"/", f) {
			return true
		}
	}
	return u.st.more > 0
}

// Changed lists the files of the workspace that differ from the last commit, except deleted ones.
func (g *Repo) Changed(ctx context.Context) ([]string, error) {
	st, err := g.status(ctx, strings.TrimSuffix(g.prefix, "/"), false)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	add := func(p string) {
		p = strings.TrimSuffix(g.local(p), "/")
		if _, err := g.cfg.Root.Lstat(p); err == nil && !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, list := range [][]fileChange{st.staged, st.unstaged} {
		for _, c := range list {
			if c.to != nil {
				add(c.path)
			}
		}
	}
	for _, list := range [][]string{st.unmerged, st.untracked} {
		for _, p := range list {
			add(p)
		}
	}
	return out, nil
}
