package review

import (
	"path"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Paths answers what a path means by where it lies. It remembers the answers for
// directories, so that a tree costs the number of its paths, however deep it is. The
// zero value is ready.
type Paths struct{ dirs map[string]about }

// about is what is known of a directory, from the top to its own name.
type about struct {
	git   int // where its last .git ends, 0 if it has none
	known int // the first of knownPaths for all that lies in it, plus one
}

// about looks at a directory; "." is the top.
func (p *Paths) about(dir string) about {
	if dir == "." || dir == "" {
		return about{}
	}
	if a, ok := p.dirs[dir]; ok {
		return a
	}
	a := p.about(tree.DirName(dir))
	if looksLikeGit(tree.BaseName(dir)) {
		a.git = len(dir)
	}
	for i := range knownPaths {
		if a.known != 0 && i+1 >= a.known {
			break
		}
		if want, below := knownPaths[i].whole(); below && endsLike(dir, want) {
			a.known = i + 1
		}
	}
	if p.dirs == nil {
		p.dirs = map[string]about{}
	}
	p.dirs[dir] = a
	return a
}

// git returns the part of a path below its last .git, "" if there is none. It knows
// the names by which other systems reach the same directory.
func (p *Paths) git(rel string) string {
	if a := p.about(tree.DirName(rel)); a.git > 0 {
		return fold(rel[a.git+1:])
	}
	return ""
}

// InGit reports a path that is a .git or lies below one.
func (p *Paths) InGit(rel string) bool { return p.about(rel).git > 0 }

// known returns the first of knownPaths that a path matches, at any depth.
func (p *Paths) known(rel string) *known {
	first := p.about(tree.DirName(rel)).known
	for i := range knownPaths {
		if i+1 == first {
			return &knownPaths[i]
		}
		if want, below := knownPaths[i].whole(); !below && endsLike(rel, want) {
			return &knownPaths[i]
		}
	}
	return nil
}

// whole splits the pattern of a known path from the mark that it stands for all that
// lies below a directory.
func (k *known) whole() (pattern string, below bool) { return strings.CutSuffix(k.pattern, "/**") }

// endsLike reports whether the last names of a path match those of a pattern.
func endsLike(rel, pattern string) bool {
	for {
		if ok, _ := path.Match(tree.BaseName(pattern), fold(tree.BaseName(rel))); !ok {
			return false
		}
		i, j := strings.LastIndexByte(rel, '/'), strings.LastIndexByte(pattern, '/')
		if j < 0 {
			return true
		}
		if i < 0 {
			return false
		}
		rel, pattern = rel[:i], pattern[:j]
	}
}
