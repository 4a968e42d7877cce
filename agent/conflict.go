package agent

import (
	"path"
	"strings"
)

// conflicts reports whether calls with effects a and b must not overlap: because the effects of one
// are unknown, or one writes what the other reads or writes.
func conflicts(a, b *Effects) bool {
	if !a.Known || !b.Known {
		return true
	}
	return overlapAny(a.Writes, b.Writes) || overlapAny(a.Writes, b.Reads) || overlapAny(a.Reads, b.Writes)
}

func overlapAny(as, bs []string) bool {
	for _, a := range as {
		for _, b := range bs {
			if overlap(a, b) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two resource names may refer to the same thing.
func overlap(a, b string) bool {
	if hasScheme(a) || hasScheme(b) {
		return a == b
	}
	return under(a, b) || under(b, a)
}

// hasScheme reports whether name is a named resource such as "todo:" or "proc:3" rather than a
// path.
func hasScheme(name string) bool {
	i := strings.IndexByte(name, ':')
	return i > 1 && !strings.ContainsAny(name[:i], "/\\.")
}

// under reports whether path p is dir or below it. An absolute path is assumed to overlap the
// workspace, since the location of the workspace is not known here.
func under(p, dir string) bool {
	p, dir = cleanPath(p), cleanPath(dir)
	if path.IsAbs(p) != path.IsAbs(dir) {
		return true
	}
	if leaves(p) || leaves(dir) {
		return true
	}
	return dir == "." || p == dir || (strings.HasPrefix(p, dir) && (dir == "/" || p[len(dir)] == '/'))
}

// cleanPath is path.Clean that does not allocate for paths that are already clean.
func cleanPath(p string) string {
	return path.Clean(strings.ReplaceAll(p, "\\", "/"))
}

// leaves reports whether a clean relative path leads out of its base folder. A name such as
// "..data" does not.
func leaves(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// PathUnder reports whether the workspace-relative path p is prefix itself or below it. A path that
// leaves the workspace is never under prefix. A backslash is a separator on some systems and an
// ordinary character on others: p must be below prefix in both readings.
func PathUnder(p, prefix string) bool {
	if strings.Contains(p, "\\") && !pathUnder(path.Clean(p), cleanPath(prefix)) {
		return false
	}
	return pathUnder(cleanPath(p), cleanPath(prefix))
}

func pathUnder(p, prefix string) bool {
	if path.IsAbs(p) != path.IsAbs(prefix) || leaves(p) || leaves(prefix) {
		return false
	}
	return prefix == "." || p == prefix || strings.HasPrefix(p, strings.TrimSuffix(prefix, "/")+"/")
}
