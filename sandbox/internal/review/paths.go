package review

import (
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Paths classifies paths by their location. It caches the answers for directories, so that the cost
// for a tree depends on the number of its paths, however deep it is. The zero value is ready to
// use.
type Paths struct{ dirs map[string]about }

// about is the cached answer for a directory, from the top down to its own name.
type about struct {
	git   int  // end of its last .git in the path, 0 if it has none
	known int  // index, plus one, of the first of knownPaths that matches everything in it
	deps  bool // holds packages that a package manager has unpacked
	last  tail
}

// tail is the end of a path: its last names, folded, the last one first. It is as long as the
// longest pattern.
type tail [3]string

// with returns the tail of a path below this one.
func (t tail) with(name string) tail {
	copy(t[1:], t[:])
	t[0] = name
	return t
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
	for name := range names(tree.BaseName(dir)) {
		a.enter(name)
	}
	if p.dirs == nil {
		p.dirs = map[string]about{}
	}
	p.dirs[dir] = a
	return a
}

// enter adds the name of a directory.
func (a *about) enter(name string) {
	a.last = a.last.with(name)
	a.deps = a.deps || name == "node_modules"
	if i := table.first(a.last, true); i > 0 && (a.known == 0 || i < a.known) {
		a.known = i
	}
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
	a := p.about(tree.DirName(rel))
	parts := slices.Collect(names(tree.BaseName(rel)))
	for _, dir := range parts[:len(parts)-1] {
		a.enter(dir)
	}
	first := a.known
	if i := table.first(a.last.with(parts[len(parts)-1]), false); i > 0 && (first == 0 || i < first) {
		first = i
	}
	if first == 0 || a.deps && knownPaths[first-1].severity < Refuse {
		return nil
	}
	return &knownPaths[first-1]
}

// leads returns the first of knownPaths that matches something below a directory, if the directory
// has all but the last names of a pattern or more. Replacing such a directory by a link puts all
// that is behind the link in that place.
func (p *Paths) leads(dir string) *known {
	a := p.about(dir)
	if a.known > 0 {
		return &knownPaths[a.known-1]
	}
	for i := range knownPaths {
		want := table.names[i]
		for n := 1; n < len(want); n++ {
			if a.last.ends(want[:n]) {
				return &knownPaths[i]
			}
		}
	}
	return nil
}

// ends reports whether the path ends with the names of a pattern.
func (t tail) ends(pattern []string) bool {
	for i := range pattern {
		if i == len(t) || !same(pattern[len(pattern)-1-i], t[i]) {
			return false
		}
	}
	return true
}

// same reports whether a name of a pattern matches a folded name, or its short form on NTFS.
func same(pattern, name string) bool {
	if name == "" {
		return false
	}
	if ok, _ := path.Match(pattern, name); ok {
		return true
	}
	return isShortOf(name, pattern)
}

// index finds patterns by their last name. Numbers are those in knownPaths plus one.
type index struct {
	names [][]string       // the names of each pattern
	exact map[string][]int // patterns without wildcards
	short map[string][]int // the same, by what may be left of the name in its short form on NTFS
	wild  []wildcard
}

// wildcard is a pattern with a wildcard in its last name, and what that name begins and ends with.
type wildcard struct {
	number     int
	head, tail string
}

var table = func() (x index) {
	x.exact, x.short = map[string][]int{}, map[string][]int{}
	for i := range knownPaths {
		parts := knownPaths[i].parts()
		x.names = append(x.names, parts)
		last := parts[len(parts)-1]
		if first := strings.IndexAny(last, "*?["); first >= 0 {
			x.wild = append(x.wild, wildcard{i + 1, last[:first], last[strings.LastIndexAny(last, "*?]")+1:]})
			continue
		}
		x.exact[last] = append(x.exact[last], i+1)
		stem, ext := shortParts(last)
		for n := min(len(stem), 4); n <= min(len(stem), 6); n++ {
			x.short[stem[:n]+ext] = append(x.short[stem[:n]+ext], i+1)
		}
	}
	return x
}()

// first returns the number in knownPaths, plus one, of the first pattern that matches a path; of
// those for whole directories if below is set, or of the others.
func (x *index) first(t tail, below bool) int {
	found := 0
	try := func(i int) {
		if found != 0 && i >= found {
			return
		}
		if _, b := knownPaths[i-1].whole(); b == below && t.ends(x.names[i-1]) {
			found = i
		}
	}
	for _, i := range x.exact[t[0]] {
		try(i)
	}
	for _, w := range x.wild {
		if strings.HasPrefix(t[0], w.head) && strings.HasSuffix(t[0], w.tail) {
			try(w.number)
		}
	}
	if mayBeShort(t[0]) {
		head, rest, _ := strings.Cut(t[0], "~")
		for _, i := range x.short[head+strings.TrimLeft(rest, "0123456789")] {
			try(i)
		}
	}
	return found
}
