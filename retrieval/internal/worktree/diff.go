package worktree

import "strings"

// Changes are the differences between two scans of one root. Each list is sorted by path. Only
// files that should be indexed are considered, so a file that has become too large is in Removed.
type Changes struct {
	Added   []File // in their current state
	Changed []File // in their current state
	Suspect []File // look the same, but must be read to be sure
	Removed []File // in their old state, with SkipGone
}

// Empty reports whether there are neither changes nor suspects.
func (c *Changes) Empty() bool {
	return len(c.Added)+len(c.Changed)+len(c.Suspect)+len(c.Removed) == 0
}

// Files returns all changes in one list for an index: the files to read again, and the removed
// files.
func (c *Changes) Files() []File {
	all := make([]File, 0, len(c.Added)+len(c.Changed)+len(c.Suspect)+len(c.Removed))
	for _, list := range [][]File{c.Added, c.Changed, c.Suspect, c.Removed} {
		all = append(all, list...)
	}
	sortFiles(all)
	return all
}

// Diff compares a new scan with an old one, using only what stat returned. A nil old tree has no
// files.
func Diff(old, new *Tree) Changes {
	var c Changes
	var before []File
	if old != nil {
		before = old.Files
	}
	now := new.Files
	for len(before) > 0 || len(now) > 0 {
		switch order := compareHeads(before, now); {
		case order < 0:
			gone := before[0]
			gone.Skip = SkipGone
			c.Removed = append(c.Removed, gone)
			before = before[1:]
		case order > 0:
			c.Added = append(c.Added, now[0])
			now = now[1:]
		default:
			switch {
			case !before[0].Same(&now[0]):
				c.Changed = append(c.Changed, now[0])
			case before[0].Racy:
				c.Suspect = append(c.Suspect, now[0])
			}
			before, now = before[1:], now[1:]
		}
	}
	return c
}

// compareHeads compares the first files of two lists. An empty list sorts last.
func compareHeads(a, b []File) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return strings.Compare(a[0].Path, b[0].Path)
}
