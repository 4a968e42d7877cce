package ignore

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// maxRuleFile limits the size of an ignore file; git itself refuses larger ones.
const maxRuleFile = 100 << 20

// A Matcher holds the ignore rules of one work tree. The rules of a directory are read on its first
// lookup and then kept. If the files may have changed, callers should create a new Matcher, which
// is cheap. A Matcher is safe for concurrent use.
type Matcher struct {
	fsys   fs.FS
	prefix string // the root's path below the repository's top directory: "", or a path with a final slash
	outer  *layer // rules from above the root
	mu     sync.Mutex
	dirs   map[string]dirState
}

type dirState struct {
	rules   *layer
	ignored bool
}

// A layer holds the rules of one file, together with a link to the layer of weaker rules.
type layer struct {
	base  string // directory of the file, relative to the top: "", or a path with a final slash
	rules []rule
	below *layer
}

// New returns the rules for the work tree that contains root. If root lies inside a repository, the
// .gitignore files between its top and root apply, and so does its info/exclude. A directory
// outside any repository has only its own .gitignore files. A missing or unreadable file means no
// rules.
func New(root string) *Matcher {
	m := NewFS(dirFS(root))
	abs, err := filepath.Abs(root)
	if err != nil {
		return m
	}
	repo, ok := Locate(abs)
	if !ok {
		return m
	}
	m.outer = nil
	if text, err := regular.Read(filepath.Join(repo.Common, "info", "exclude"), maxRuleFile); err == nil {
		m.outer = m.outer.push("", string(text))
	}
	rel, err := filepath.Rel(repo.Top, abs)
	if err != nil || rel == "." {
		return m
	}
	// The .gitignore of root is read later, like all those below root. Only the files above root
	// are read here.
	base, dir := "", repo.Top
	for elem := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		m.outer = m.outer.read(dirFS(dir), ".", base)
		base += elem + "/"
		dir = filepath.Join(dir, elem)
	}
	m.prefix = base
	return m
}

// NewFS returns the rules found only in fsys: its .gitignore files, and .git/info/exclude at its
// root.
func NewFS(fsys fs.FS) *Matcher {
	m := &Matcher{fsys: fsys, dirs: map[string]dirState{}}
	if text, err := fs.ReadFile(fsys, ".git/info/exclude"); err == nil {
		m.outer = m.outer.push("", string(text))
	}
	return m
}

func (l *layer) push(base, text string) *layer {
	rules := parseRules(text)
	if len(rules) == 0 {
		return l
	}
	return &layer{base: base, rules: rules, below: l}
}

// read adds the .gitignore of dir in fsys. A symbolic link does not count as an ignore file, as in
// git.
func (l *layer) read(fsys fs.FS, dir, base string) *layer {
	name := path.Join(dir, ".gitignore")
	st, err := fs.Lstat(fsys, name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxRuleFile {
		return l
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return l
	}
	return l.push(base, string(text))
}

// ignores applies the strongest rule that matches p, a path relative to the top.
func (l *layer) ignores(p string, isDir bool) bool {
	base := p[strings.LastIndexByte(p, '/')+1:]
	if base == ".git" {
		return true
	}
	for ; l != nil; l = l.below {
		rel := p[len(l.base):]
		for i := len(l.rules) - 1; i >= 0; i-- {
			if r := &l.rules[i]; r.matches(rel, base, isDir) {
				return !r.negate
			}
		}
	}
	return false
}

// Match reports whether git would ignore rel, a path below the root, with slashes. The path need
// not exist. Everything inside an ignored directory is ignored, and so is every .git. The root and
// paths that leave it are not ignored.
func (m *Matcher) Match(rel string, isDir bool) bool {
	rel = path.Clean(filepath.ToSlash(rel))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") || rel[0] == '/' {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	parent := m.dir(path.Dir(rel))
	return parent.ignored || parent.rules.ignores(m.prefix+rel, isDir)
}

// dir returns the rules that apply inside rel. m.mu is held.
func (m *Matcher) dir(rel string) dirState {
	if d, ok := m.dirs[rel]; ok {
		return d
	}
	var d dirState
	if rel == "." {
		d.rules = m.outer.read(m.fsys, ".", m.prefix)
	} else {
		up := m.dir(path.Dir(rel))
		if up.ignored || up.rules.ignores(m.prefix+rel, true) {
			d.ignored = true
		} else {
			d.rules = up.rules.read(m.fsys, rel, m.prefix+rel+"/")
		}
	}
	m.dirs[rel] = d
	return d
}
