package review

import (
	"path"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Paths classifies paths by their location. It caches the answers for directories, so that the cost
// for a tree depends on the number of its paths, however deep it is. The zero value is ready to
// use.
type Paths struct{ dirs map[string]about }

// about is the cached answer for a directory, from the top down to its own name.
type about struct {
	git   int // end of its last .git in the path, 0 if it has none
	known int // index, plus one, of the first of knownPaths that matches everything in it
}

// about returns the answer for a directory; "." is the top.
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

// git returns the part of a path below its last .git, or "" if there is none. It also recognises
// the names by which other systems reach the same directory.
func (p *Paths) git(rel string) string {
	if a := p.about(tree.DirName(rel)); a.git > 0 {
		return fold(rel[a.git+1:])
	}
	return ""
}

// InGit reports whether a path is a .git or lies below one.
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

// whole returns the pattern of a known path without the suffix /**, and whether it had that suffix,
// which matches everything below a directory.
func (k *known) whole() (pattern string, below bool) { return strings.CutSuffix(k.pattern, "/**") }

// endsLike reports whether the last names of a path match a pattern's names.
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
