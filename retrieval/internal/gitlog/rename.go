package gitlog

import "path"

// rename records that a commit renamed a file.
type rename struct{ from, to string }

// pairRenames matches a commit's deleted files with its added ones, and returns the changes without
// those pairs.
//
// It reads no contents, which partial clones lack and which cost more than the rest of the log.
// Files with equal contents are recognised by their hash. Otherwise a deleted and an added file are
// considered the same if no other file in the commit has their base name (a moved file that was
// changed on the way). A file that was changed and got another base name is missed.
func pairRenames(changes []rawChange) ([]rename, []rawChange) {
	var added, deleted []int
	for i, c := range changes {
		switch c.status {
		case 'A':
			added = append(added, i)
		case 'D':
			deleted = append(deleted, i)
		}
	}
	if len(added) == 0 || len(deleted) == 0 {
		return nil, changes
	}
	p := pairing{changes: changes, taken: make([]bool, len(changes))}
	p.byContent(added, deleted)
	p.byName(added, deleted)
	rest := changes[:0:0]
	for i, c := range changes {
		if !p.taken[i] {
			rest = append(rest, c)
		}
	}
	return p.found, rest
}

type pairing struct {
	changes []rawChange
	taken   []bool
	found   []rename
}

func (p *pairing) pair(from, to int) {
	p.taken[from], p.taken[to] = true, true
	p.found = append(p.found, rename{p.changes[from].path, p.changes[to].path})
}

// byContent pairs files with equal contents, preferring equal base names if there are several.
func (p *pairing) byContent(added, deleted []int) {
	by := make(map[string][]int, len(deleted))
	for _, d := range deleted {
		h := p.changes[d].old
		by[h] = append(by[h], d)
	}
	for _, sameName := range []bool{true, false} {
		for _, a := range added {
			c := &p.changes[a]
			if p.taken[a] || emptyBlobs[c.new] {
				continue // every __init__.py is empty, so this proves nothing
			}
			for _, d := range by[c.new] {
				if !p.taken[d] && (!sameName || path.Base(p.changes[d].path) == path.Base(c.path)) {
					p.pair(d, a)
					break
				}
			}
			// Hundreds of copies would make this quadratic; they prove nothing either.
			if q := by[c.new]; len(q) > 64 {
				by[c.new] = q[:64]
			}
		}
	}
}

// emptyBlobs are the hashes of a file without content.
var emptyBlobs = map[string]bool{
	"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391":                         true,
	"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813": true,
}

// byName pairs files whose base name occurs once among the deleted and once among the added files.
func (p *pairing) byName(added, deleted []int) {
	only := func(list []int) map[string]int {
		by := map[string]int{}
		for _, i := range list {
			if p.taken[i] {
				continue
			}
			base := path.Base(p.changes[i].path)
			if _, twice := by[base]; twice {
				by[base] = -1
			} else {
				by[base] = i
			}
		}
		return by
	}
	to := only(added)
	from := only(deleted)
	for _, d := range deleted { // do not iterate over the map: the order is part of the result
		base := path.Base(p.changes[d].path)
		if a, ok := to[base]; ok && a >= 0 && from[base] == d && !commonNames[base] {
			p.pair(d, a)
		}
	}
}

// commonNames occur in many directories, so that a deleted and an added file of that name in the
// same commit need not be the same file.
var commonNames = map[string]bool{"__init__.py": true, "mod.rs": true, "lib.rs": true, "main.rs": true, "main.go": true,
	"doc.go": true, "index.js": true, "index.ts": true, "package.json": true, "Cargo.toml": true, "README.md": true,
	"BUILD": true, "Makefile": true, "CMakeLists.txt": true, ".gitignore": true, "package-info.java": true,
	"_config.js": true, "input.svelte": true, "main.svelte": true}
