package tree

import "strings"

// BaseName returns the last name of a path.
func BaseName(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

// DirName returns the directory of a path, "." for the top.
func DirName(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

// joinRel is path.Join for clean paths.
func joinRel(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
