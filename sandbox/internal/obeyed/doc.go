// Package obeyed finds what the host's own settings make of a workspace's files beyond their names:
// programs and settings that the host's git takes from the workspace, and links by which a file is
// read under another name.
package obeyed

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Places holds what the host makes of one workspace. It implements [review.Places].
type Places struct {
	links []link
	uses  []use
	files []program
	seen  map[use]bool
}

// program is a file with several names that git executes, and the workspace that may have one of
// them.
type program struct {
	dir string
	fs.FileInfo
}

// is reports whether a path of the workspace, or fi, is the program.
func (p program) is(rel string, fi fs.FileInfo) bool {
	if fi != nil && os.SameFile(p.FileInfo, fi) {
		return true
	}
	// In a sandbox the path may have a copy already.
	host, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(rel)))
	return err == nil && os.SameFile(p.FileInfo, host)
}

// link is a path with another name.
type link struct{ to, as string }

// use is a path, with everything below it, that a setting names.
type use struct {
	path string
	review.Use
}

// Find looks at the directory dir. repos are repositories in it, relative to dir; those that
// enclose dir and dir itself are always looked at.
func Find(dir string, repos ...string) *Places {
	f := &finder{dir: dir, home: homeDir(), out: &Places{seen: map[use]bool{}}}
	for _, repo := range enclosing(dir) {
		f.repository(repo)
	}
	for _, rel := range repos {
		if rel != "." {
			f.repository(filepath.Join(dir, filepath.FromSlash(rel)))
		}
	}
	f.aliases()
	return f.out
}

// Add adds the places of another directory that receives the same paths.
func (p *Places) Add(other *Places) {
	p.links = append(p.links, other.links...)
	p.uses = append(p.uses, other.uses...)
	p.files = append(p.files, other.files...)
}

// OtherNames returns the paths in dir that are other names of programs that git executes.
func (p *Places) OtherNames(dir string) []string {
	if len(p.files) == 0 {
		return nil
	}
	var out []string
	left := maxWalked
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			return filepath.SkipAll
		}
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		fi, err := e.Info()
		if err != nil || tree.Links(fi) < 2 {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && slices.ContainsFunc(p.files, func(f program) bool { return os.SameFile(f.FileInfo, fi) }) {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out
}

// Above returns the directories above the given paths that hold a repository, relative to dir.
func Above(dir string, paths []string) []string {
	var out []string
	seen := map[string]bool{".": true}
	for _, rel := range paths {
		for up := parent(rel); !seen[up]; up = parent(up) {
			seen[up] = true
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(up), ".git")); err == nil {
				out = append(out, up)
			}
		}
	}
	return out
}

func parent(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

// enclosing returns dir and the directories above it that hold a .git.
func enclosing(dir string) []string {
	out := []string{dir}
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			return append(out, up)
		}
	}
	return out
}

// As returns the paths by which the host reaches rel through links.
func (p *Places) As(rel string) []string {
	var out []string
	rel = review.FoldPath(rel)
	for _, l := range p.links {
		if rest, ok := below(rel, review.FoldPath(l.to)); ok && l.as+rest != rel {
			out = append(out, l.as+rest)
		}
	}
	return out
}

// Uses returns what settings do with a path. fi, which may be nil, tells hard links of programs.
func (p *Places) Uses(rel string, fi fs.FileInfo) []review.Use {
	var out []review.Use
	add := func(u review.Use) {
		if !slices.ContainsFunc(out, func(o review.Use) bool { return o.Rule == u.Rule }) {
			out = append(out, u)
		}
	}
	original := rel
	rel = review.FoldPath(rel)
	for _, u := range p.uses {
		path := review.FoldPath(u.path)
		if _, ok := below(rel, path); ok {
			add(u.Use)
		} else if _, ok := below(path, rel); ok && fi != nil && !fi.IsDir() {
			add(u.Use) // it stands where a directory of the path was
		}
	}
	for _, program := range p.files {
		if program.is(original, fi) {
			add(review.Use{Rule: review.RuleGitHook, Why: "is another name of a hook that git runs by itself"})
		}
	}
	return out
}

// Walls returns the paths that commands must not write, relative to the workspace: those that
// settings name, and what is read under a name of the table that is walled.
func (p *Places) Walls() []string {
	var out []string
	for _, u := range p.uses {
		out = append(out, u.path)
	}
	var paths review.Paths
	for _, l := range p.links {
		if paths.Walled(l.as, false) || paths.Walled(l.as, true) {
			out = append(out, l.to)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// below returns what follows dir in path, if path is dir or below it.
func below(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}
