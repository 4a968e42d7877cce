package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A file is one recorded file or symbolic link.
type file struct {
	path string // relative to the workspace, with slashes
	mode fs.FileMode
	hash plumbing.Hash
	stat stamp // at the time it was read; zero if it comes from the store
}

// A manifest is one state of the workspace.
type manifest struct {
	files   []file                 // sorted by path
	dirs    map[string]fs.FileMode // permissions of directories; directories without recorded files are included only if they are empty
	empty   map[string]bool
	skipped map[string]string // reasons why files were not recorded, by path
	absent  map[string]bool   // paths that were checked and did not exist
	forced  map[string]bool   // files that are included only because they were requested by name
	started time.Time         // when reading it began
}

func newManifest() *manifest {
	return &manifest{dirs: map[string]fs.FileMode{}, empty: map[string]bool{}, skipped: map[string]string{}, absent: map[string]bool{}, forced: map[string]bool{}}
}

// sort orders the files and finds the directories that contain none of them.
func (m *manifest) sort() {
	slices.SortFunc(m.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	full := map[string]bool{}
	for _, f := range m.files {
		for d := path.Dir(f.path); d != "." && !full[d]; d = path.Dir(d) {
			full[d] = true
		}
	}
	for d := range m.dirs {
		if !full[d] {
			m.empty[d] = true
		}
	}
}

// isSkipped reports whether p, or a directory it is in, was not recorded.
func (m *manifest) isSkipped(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := m.skipped[p]; ok {
			return true
		}
	}
	return false
}

// holds lists the directories of this state.
func (m *manifest) holds() map[string]bool {
	dirs := map[string]bool{}
	add := func(d string) {
		for ; d != "." && !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for _, f := range m.files {
		add(path.Dir(f.path))
	}
	for d := range m.empty {
		add(d)
	}
	return dirs
}

func (m *manifest) notes() []string {
	var notes []string
	for p, why := range m.skipped {
		notes = append(notes, p+": "+why)
	}
	slices.Sort(notes)
	return notes
}

// defaults returns the most common permissions of files, executables and directories. The encoding
// lists only different permissions.
func (m *manifest) defaults() (files, execs, dirs fs.FileMode) {
	count := map[fs.FileMode]int{}
	for _, f := range m.files {
		if f.mode.IsRegular() {
			count[f.mode.Perm()]++
		}
	}
	most := func(want func(fs.FileMode) bool, best fs.FileMode) fs.FileMode {
		for p, n := range count {
			if want(p) && (n > count[best] || n == count[best] && p < best) {
				best = p
			}
		}
		return best
	}
	files = most(func(p fs.FileMode) bool { return p&0o100 == 0 }, 0o644)
	execs = most(func(p fs.FileMode) bool { return p&0o100 != 0 }, 0o755)
	clear(count)
	for _, p := range m.dirs {
		count[p.Perm()]++
	}
	return files, execs, most(func(fs.FileMode) bool { return true }, 0o755)
}

// The part of the encoding between these lines belongs to the state itself; the rest was only
// observed while the state was read.
const (
	metaHead = "luthier-meta 1\n"
	metaRest = "rest\n"
)

// encode writes the properties that a git tree cannot hold, one per line, in a fixed order. Paths
// are quoted as Go strings, so that any name is preserved.
func (m *manifest) encode() []byte {
	var b bytes.Buffer
	files, execs, dirs := m.defaults()
	fmt.Fprintf(&b, metaHead+"default %04o %04o %04o\n", files, execs, dirs)
	for _, f := range m.files {
		if p := f.mode.Perm(); f.mode.IsRegular() && p != files && p != execs {
			fmt.Fprintf(&b, "file %04o %q\n", p, f.path)
		}
	}
	for _, d := range sortedKeys(m.dirs) {
		if p := m.dirs[d].Perm(); m.empty[d] {
			fmt.Fprintf(&b, "empty %04o %q\n", p, d)
		} else if p != dirs {
			fmt.Fprintf(&b, "dir %04o %q\n", p, d)
		}
	}
	b.WriteString(metaRest)
	for _, p := range sortedKeys(m.skipped) {
		fmt.Fprintf(&b, "skipped %q %q\n", p, m.skipped[p])
	}
	for _, p := range sortedKeys(m.absent) {
		fmt.Fprintf(&b, "absent %q\n", p)
	}
	return b.Bytes()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// decode reads the output of encode into a manifest whose files are already listed.
func (m *manifest) decode(text []byte) error {
	special := map[string]fs.FileMode{}
	files, execs, dirs := fs.FileMode(0o644), fs.FileMode(0o755), fs.FileMode(0o755)
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, len(text)+1)
	for n := 1; sc.Scan(); n++ {
		kind, rest, _ := strings.Cut(sc.Text(), " ")
		var err error
		switch kind {
		case "luthier-meta":
			if rest != "1" {
				return fmt.Errorf("checkpoint: read state: it was written by a later version (%s)", rest)
			}
		case "default":
			_, err = fmt.Sscanf(rest, "%o %o %o", &files, &execs, &dirs)
		case "file", "dir", "empty":
			var p string
			var mode fs.FileMode
			if _, err = fmt.Sscanf(rest, "%o %q", &mode, &p); err == nil && kind == "file" {
				special[p] = mode
			} else if err == nil {
				m.dirs[p] = mode
			}
		case "skipped":
			var p, why string
			_, err = fmt.Sscanf(rest, "%q %q", &p, &why)
			m.skipped[p] = why
		case "absent":
			var p string
			p, err = strconv.Unquote(rest)
			m.absent[p] = true
		}
		if err != nil {
			return fmt.Errorf("checkpoint: read state: line %d: %w; the store is damaged", n, err)
		}
	}
	for i, f := range m.files {
		perm, ok := special[f.path]
		switch {
		case !f.mode.IsRegular():
			continue
		case ok:
		case f.mode&0o100 != 0:
			perm = execs
		default:
			perm = files
		}
		m.files[i].mode = perm
	}
	for d := range m.holds() {
		if _, ok := m.dirs[d]; !ok {
			m.dirs[d] = dirs
		}
	}
	return sc.Err()
}

// The names in the top tree of a checkpoint.
const (
	filesName = "files"
	metaName  = "meta"
)

// putManifest stores a state and returns its tree, together with a key that is equal for equal
// states.
func (s *Store) putManifest(m *manifest) (tree, key plumbing.Hash, err error) {
	files, err := s.putFiles(m.files)
	if err != nil {
		return tree, key, err
	}
	text := m.encode()
	meta, err := s.put(plumbing.BlobObject, text)
	if err != nil {
		return tree, key, err
	}
	own, _, _ := bytes.Cut(text, []byte("\n"+metaRest))
	key = plumbing.ComputeHash(plumbing.BlobObject, append(files[:], own...))
	tree, err = s.putEncoded(&object.Tree{Entries: []object.TreeEntry{
		{Name: filesName, Mode: filemode.Dir, Hash: files}, {Name: metaName, Mode: filemode.Regular, Hash: meta},
	}})
	return tree, key, err
}

// getManifest reads a state.
func (s *Store) getManifest(tree plumbing.Hash) (*manifest, error) {
	t, err := object.GetTree(s.repo, tree)
	if err != nil || len(t.Entries) != 2 {
		return nil, fmt.Errorf("checkpoint: read state %s: %v; the store is damaged", tree, err)
	}
	m := newManifest()
	if m.files, err = s.files(t.Entries[0].Hash, "", nil); err != nil {
		return nil, err
	}
	meta, err := s.blob(t.Entries[1].Hash)
	if err != nil {
		return nil, err
	}
	if err := m.decode(meta); err != nil {
		return nil, err
	}
	m.sort()
	return m, nil
}

// same reports whether m, which was just read, has the same content as o. Files that m has only
// because they were requested by name are ignored if o does not have them.
func (m *manifest) same(o *manifest) bool {
	rest := byPath(o)
	for _, f := range m.files {
		g, ok := rest[f.path]
		switch {
		case !ok && m.forced[f.path]:
			continue
		case !ok || f.hash != g.hash || f.mode.Type() != g.mode.Type() || f.mode.IsRegular() && f.mode.Perm() != g.mode.Perm():
			return false
		}
		delete(rest, f.path)
	}
	return len(rest) == 0 && maps.Equal(m.empty, o.empty)
}
