package edit

import (
	"fmt"
	"path"
	"strings"
)

// checkPaths cleans the paths of a patch in place. It refuses a path that could leave the root, and
// two names that could refer to the same file. Several sections may name one file if each can
// follow the one before: updates follow anything but a deletion, and an addition follows a
// deletion.
func checkPaths(files []PatchFile) error {
	seen := &claims{map[string]named{}, map[string]named{}}
	last := map[string]PatchOp{} // the latest section of each path, or a deletion for the source of a move
	for i := range files {
		f := &files[i]
		p, err := cleanPath(f.Path, f.line)
		if err != nil {
			return err
		}
		f.Path = p
		if before, ok := last[p]; ok {
			if f.Op == AddFile && before != DeleteFile || f.Op == DeleteFile || f.Op == UpdateFile && before == DeleteFile {
				return clash(named{p, f.line}, seen.files[strings.ToLower(p)])
			}
		} else if err := seen.claim(named{p, f.line}); err != nil {
			return err
		}
		if last[p] = f.Op; f.MoveTo == "" {
			continue
		}
		to, err := cleanPath(f.MoveTo, f.moveLine)
		if err != nil {
			return err
		}
		f.MoveTo = to
		if to == f.Path {
			return badPath(f.Path, f.moveLine, "the file is moved to itself", "Leave out *** Move to, or give another path")
		}
		delete(last, p) // its name is still claimed, so that no other section can use it
		last[to] = UpdateFile
		if strings.EqualFold(to, f.Path) {
			continue // only a change of case, which is handled as a special kind of move
		}
		if err := seen.claim(named{to, f.moveLine}); err != nil {
			return err
		}
	}
	return nil
}

func badPath(name string, line int, detail, advice string) *Error {
	return &Error{Op: opPatch, Kind: BadPath, Path: name, PatchLine: line, Detail: detail, Advice: advice}
}

// named is a path and the line of the patch that names it.
type named struct {
	path string
	line int
}

// claims holds the paths that a patch has named so far, and the directories that these need.
type claims struct{ files, dirs map[string]named }

// claim records a path. Paths are compared ignoring case, because on some systems such names are
// the same file. A path may not be inside another one, because a file is not a directory.
func (c *claims) claim(n named) error {
	key := strings.ToLower(n.path)
	if old, ok := c.files[key]; ok {
		return clash(n, old)
	}
	if old, ok := c.dirs[key]; ok {
		return clash(n, old)
	}
	for at, r := range key {
		if r != '/' {
			continue
		}
		if old, ok := c.files[key[:at]]; ok {
			return clash(n, old)
		}
		c.dirs[key[:at]] = n
	}
	c.files[key] = n
	return nil
}

func clash(n, old named) error {
	if strings.EqualFold(n.path, old.path) {
		return badPath(n.path, n.line, fmt.Sprintf("the file has another section or is another's target already (%s, patch line %d), which this one cannot follow", old.path, old.line),
			"Put all changes of one file into one section")
	}
	return badPath(n.path, n.line, fmt.Sprintf("a path lies within another one of the patch (%s, patch line %d)", old.path, old.line),
		"A file cannot be a directory; give other paths")
}

// cleanPath checks and cleans one path.
func cleanPath(name string, line int) (string, error) {
	const advice = "Give the path relative to the root of the workspace, with forward slashes"
	switch {
	case name == "":
		return "", badPath(name, line, "the path is empty", advice)
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || len(name) > 1 && name[1] == ':':
		return "", badPath(name, line, "the path is absolute", advice)
	case strings.Contains(name, `\`):
		return "", badPath(name, line, "the path has a backslash", advice)
	case strings.HasSuffix(name, "/"):
		return "", badPath(name, line, "the path names a directory", advice)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", badPath(name, line, "the path has a control character", advice)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", badPath(name, line, "the path has a .. in it", advice)
		}
	}
	if name = path.Clean(name); name == "." {
		return "", badPath(name, line, "the path names a directory", advice)
	}
	return name, nil
}
