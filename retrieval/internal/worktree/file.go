package worktree

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A File holds the result of a scan for one file, without its content.
type File struct {
	Path    string      // below the root, with slashes; any bytes the file system allows
	Size    int64       // bytes
	ModTime int64       // of the content, nanoseconds since 1970
	Changed int64       // of the inode (ctime), nanoseconds since 1970; 0 if the system has none
	Inode   uint64      // distinguishes the file from another one that replaced it under the same name; 0 if unknown
	Mode    fs.FileMode // type and permission bits
	Class   Class
	Skip    Skip // reason why the file is not indexed; 0 if it is
	Racy    bool // a change right after the scan could have left all of the fields above unchanged
}

// Same reports whether two states of a path cannot be distinguished without reading. The result
// proves nothing if either state is Racy.
func (f *File) Same(g *File) bool {
	return f.Size == g.Size && f.ModTime == g.ModTime && f.Changed == g.Changed && f.Inode == g.Inode && f.Mode.Type() == g.Mode.Type()
}

// Fresh reports whether f, recorded earlier, still describes the file at its path, whose current
// state is now.
func (f *File) Fresh(now *File) bool { return !f.Racy && f.Same(now) }

// Resolutions of time stamps. Kernels use a clock that ticks every 1 to 10 ms; file systems that
// store only whole seconds (HFS+) or pairs of seconds (FAT) have no fraction.
const (
	fineGrain   = int64(50 * time.Millisecond)
	coarseGrain = int64(2 * time.Second)
)

// markRacy sets Racy for a state that was read at the time seen (nanoseconds since 1970) or later.
func (f *File) markRacy(seen int64) {
	stamp := max(f.ModTime, f.Changed)
	if f.Changed != 0 {
		stamp = f.Changed // the change time, which no program can set back
	}
	grain := fineGrain
	if stamp%int64(time.Second) == 0 {
		grain = coarseGrain
	}
	f.Racy = stamp+grain >= seen
}

// Skip is the reason why a file is not indexed.
type Skip uint8

// The reasons of a Skip. Files that git ignores are not listed at all.
const (
	NotSkipped     Skip = iota
	SkipGone            // it no longer exists, or is now ignored
	SkipLarge           // larger than Options.MaxFileSize
	SkipBinary          // not text
	SkipMinified        // text that nobody reads
	SkipUnreadable      // the system refused
	SkipSymlink         // symbolic links are never followed
	SkipSpecial         // a socket, pipe or device
	SkipDeep            // below more than Options.MaxDepth directories
	SkipMany            // beyond Options.MaxFiles
	SkipTool            // a directory filled by a tool: node_modules, caches, virtual environments
	SkipWorktree        // a directory that is another work tree of a repository
	skips
)

func (s Skip) String() string {
	names := [skips]string{
		"", "gone", "too large", "binary", "minified", "unreadable", "symbolic link", "special file", "too deep",
		"too many files", "directory of a tool", "another work tree",
	}
	if s < skips {
		return names[s]
	}
	return "unknown"
}

// A Tree is the result of one scan. It is not changed afterwards; several goroutines may read it.
type Tree struct {
	Root    string // path; "" if the tree has none
	Files   []File // the files to index, by path
	Skipped []File // each file with its Skip, by path; those with SkipTool, SkipDeep or SkipWorktree may be directories
	Bytes   int64  // total size of Files
	Started time.Time
}

// Lookup returns the file at path, whether indexed or skipped.
func (t *Tree) Lookup(path string) (File, bool) {
	if t == nil {
		return File{}, false
	}
	for _, list := range [][]File{t.Files, t.Skipped} {
		if i, ok := search(list, path); ok {
			return list[i], true
		}
	}
	return File{}, false
}

// SkipCounts returns the number of skipped files for each reason.
func (t *Tree) SkipCounts() map[Skip]int {
	counts := map[Skip]int{}
	for i := range t.Skipped {
		counts[t.Skipped[i].Skip]++
	}
	return counts
}

func search(files []File, path string) (int, bool) {
	return slices.BinarySearchFunc(files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}
