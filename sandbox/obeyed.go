package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
)

// FileWrite is a change of one file of a workspace, for [ReviewWrite].
type FileWrite struct {
	Path string // relative to the workspace, with forward slashes
	// Before and After are the contents; nil where the file does not exist.
	Before, After []byte
	// Unknown means that the contents are not known, as for a command that writes the file.
	Unknown bool
}

// ReviewWrite reports whether something on the host later obeys or executes one of the files of the
// workspace dir, in place: hooks, CI workflows, settings of editors and agents, configuration of
// package managers, install scripts, instructions, and what the host's own git runs or reads. A
// file need not exist yet. It goes by the same table as [Reviewer] and the protected paths of
// [Config].Dir. Names are compared as the most generous file system does.
//
// Of manifests such as go.mod and package.json only some contents matter: changed dependencies are
// no finding. Without findings the change is ordinary.
//
// An empty dir stands for a workspace that has no path on this machine, such as a tree: then only
// names and contents count, and not what settings and links there refer to.
func ReviewWrite(dir string, writes ...FileWrite) []Finding {
	var paths []string
	for i := range writes {
		writes[i].Path = filepath.ToSlash(writes[i].Path)
		paths = append(paths, writes[i].Path)
	}
	places := &obeyed.Places{}
	if dir != "" {
		places = obeyed.Find(dir, obeyed.Above(dir, paths)...)
	}
	var out []Finding
	for _, w := range writes {
		for _, f := range review.Change(review.Write(w), places) {
			if !slices.Contains(out, Finding(f)) {
				out = append(out, Finding(f))
			}
		}
	}
	return out
}

// InGit reports whether a path is a .git, or lies below one, under any name by which some file
// system reaches it.
func InGit(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), review.IsGitName)
}
