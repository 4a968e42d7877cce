package worktree

import "strings"

// Amend returns a scan updated with files that [Look] has examined later. A removed file stands for
// everything that was at and below its path before.
func Amend(t *Tree, looked []File) *Tree {
	gone, now := map[string]int{}, map[string]int{}
	for i := range looked {
		if looked[i].Skip == SkipGone {
			gone[looked[i].Path] = i + 1
		} else {
			now[looked[i].Path] = i + 1
		}
	}
	// holds reports whether an observation of path, made at position seen, is still valid.
	holds := func(path string, seen int) bool {
		if now[path] > seen || gone["."] > seen {
			return false
		}
		for p := path; ; {
			if gone[p] > seen {
				return false
			}
			i := strings.LastIndexByte(p, '/')
			if i < 0 {
				return true
			}
			p = p[:i]
		}
	}
	out := &Tree{Root: t.Root, Started: t.Started}
	for i := range t.Files {
		if holds(t.Files[i].Path, 0) {
			out.Files = append(out.Files, t.Files[i])
		}
	}
	for i := range t.Skipped {
		if holds(t.Skipped[i].Path, 0) {
			out.Skipped = append(out.Skipped, t.Skipped[i])
		}
	}
	for i := range looked {
		f := &looked[i]
		switch {
		case f.Skip == SkipGone || !holds(f.Path, i+1):
		case f.Skip == NotSkipped:
			out.Files = append(out.Files, *f)
		default:
			out.Skipped = append(out.Skipped, *f)
		}
	}
	sortFiles(out.Files)
	sortFiles(out.Skipped)
	for i := range out.Files {
		out.Bytes += out.Files[i].Size
	}
	return out
}
