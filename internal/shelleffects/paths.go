package shelleffects

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// inside returns p relative to root when both are absolute and p is root or below it.
func inside(root, p string) (string, bool) {
	root = path.Clean(filepath.ToSlash(root))
	p = path.Clean(p)
	switch {
	case !path.IsAbs(root) || root == "/":
		return "", false
	case p == root:
		return ".", true
	}
	return strings.CutPrefix(p, root+"/")
}

func escapes(rel string) bool { return rel == ".." || strings.HasPrefix(rel, "../") }

// streams are the device files that can be read, or written to discard output, without changing
// anything.
var streams = []string{"/dev/null", "/dev/stdin", "/dev/fd/0", "/dev/fd/63"}

// resolve returns the paths that a word may name, one for each directory the command may run in. It
// adds the flag Outside if needed, and makes the result unknown if the word's value is unknown.
func (w *walker) resolve(word string, st *state) []string {
	switch {
	case strings.ContainsAny(word, string([]rune{markAny, markSplit})):
		w.fx.unknown("names a path that only running it shows: " + show(word))
		return nil
	case strings.ContainsRune(word, markHome):
		w.fx.flag(Outside, "names a path outside the workspace: "+show(word))
		return []string{show(word)}
	}
	for seg := range strings.SplitSeq(word, "/") {
		if mayBeParent(seg) {
			w.fx.flag(Outside, "names a pattern that may match the parent directory: "+show(word))
		}
	}
	word = beforeGlob(word)
	if path.IsAbs(word) {
		rel, ok := inside(w.opts.Root, word)
		if !ok {
			w.fx.flag(Outside, "names a path outside the workspace: "+word)
			rel = path.Clean(word)
		}
		return []string{rel}
	}
	var paths []string
	for _, dir := range st.dirs {
		p := path.Join(dir, word)
		if escapes(p) {
			w.fx.flag(Outside, "names a path outside the workspace: "+word)
		}
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// mayBeParent reports whether the path element seg, which contains a wildcard, may match "..": only
// a literal dot matches a leading dot.
func mayBeParent(seg string) bool {
	i := strings.IndexRune(seg, markGlob)
	if i < 0 {
		return false
	}
	head, tail := seg[:i], seg[strings.LastIndex(seg, string(markGlob))+len(string(markGlob)):]
	return head != "" && strings.HasPrefix("..", head) && strings.HasSuffix("..", tail)
}

// beforeGlob cuts a pattern down to the directory that contains all its matches. The part after the
// first wildcard may still go up, so a ".." there is kept.
func beforeGlob(word string) string {
	i := strings.IndexRune(word, markGlob)
	if i < 0 {
		return word
	}
	dir := word[:strings.LastIndexByte(word[:i], '/')+1]
	depth := 0
	for seg := range strings.SplitSeq(word[len(dir):], "/") {
		switch seg {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				dir, depth = path.Join(dir, ".."), 0
			}
		default:
			depth++
		}
	}
	if dir == "" {
		return "."
	}
	return dir
}

// readFile records that the contents of the files that word names are read.
func (w *walker) readFile(word string, st *state) {
	if word == "-" || slices.Contains(streams, word) {
		return
	}
	if network(word) {
		w.fx.flag(Network, "opens a network connection: "+word)
	}
	paths := w.resolve(word, st)
	if secretPath(word) || slices.ContainsFunc(paths, secretPath) {
		w.fx.flag(Secret, "reads a file that usually holds credentials: "+show(word))
	}
	w.fx.Reads = append(w.fx.Reads, paths...)
}

// readName records that the files that word names are listed or examined, not opened for their
// contents.
func (w *walker) readName(word string, st *state) {
	if slices.Contains(streams, word) {
		return
	}
	w.fx.Reads = append(w.fx.Reads, w.resolve(word, st)...)
}

// write records that the files that word names are created, changed or (with Deletes) removed.
func (w *walker) write(word string, st *state, verb string, f Flags) {
	if word == "/dev/null" {
		return
	}
	if network(word) {
		f |= Network
	}
	w.fx.flag(f, verb+" "+show(word))
	before := w.fx.Known
	paths := w.resolve(word, st)
	if len(paths) == 0 && before {
		paths = []string{"."} // some path; the result is already unknown, so this need not be complete
	}
	w.fx.Writes = append(w.fx.Writes, paths...)
}

func network(word string) bool {
	return strings.HasPrefix(word, "/dev/tcp/") || strings.HasPrefix(word, "/dev/udp/")
}
