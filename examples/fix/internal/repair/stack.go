package repair

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Frame is a call on the stack of a panic.
type Frame struct {
	Function string // in the form of [Function].Name; a closure has a suffix such as ".func1"
	Package  string // import path
	File     string // as in the trace
	Line     int
}

var (
	framePos = regexp.MustCompile(`^\s+(\S.*\.(?:go|s)):(\d+)(?: \+0x[0-9a-f]+)?\s*$`)
	typeArgs = regexp.MustCompile(`\[[^\]]*\]`)
)

// Stack returns the frames of the first stack trace in the output of a test, innermost first. It
// keeps those of the code under test and its tests, without the runtime and the testing package,
// and without the standard library if other code is on the stack.
func Stack(output string) []Frame {
	frames := trace(strings.Split(output, "\n"))
	frames = slices.DeleteFunc(frames, func(f Frame) bool {
		switch first, _, _ := strings.Cut(f.Package, "/"); first {
		case "runtime", "testing", "reflect", "":
			return true
		}
		return false
	})
	own := slices.DeleteFunc(slices.Clone(frames), func(f Frame) bool { return fromGoroot(f) })
	if len(own) > 0 && !slices.ContainsFunc(frames, func(f Frame) bool { return fromGoroot(f) && strings.HasSuffix(f.File, "_test.go") }) {
		return own
	}
	return frames
}

// trace returns the frames of the first goroutine in the trace.
func trace(lines []string) []Frame {
	var frames []Frame
	begun := false
	for i, l := range lines {
		l = strings.TrimRight(l, "\r ")
		if strings.HasPrefix(l, "goroutine ") && strings.HasSuffix(l, "]:") {
			if begun && len(frames) > 0 {
				break
			}
			begun, frames = true, nil
			continue
		}
		if !begun || i+1 >= len(lines) || strings.HasPrefix(l, "created by ") {
			continue
		}
		pos := framePos.FindStringSubmatch(lines[i+1])
		pkg, fn, ok := frameName(l)
		if pos == nil || !ok {
			continue
		}
		n, _ := strconv.Atoi(pos[2])
		frames = append(frames, Frame{Function: fn, Package: pkg, File: pos[1], Line: n})
	}
	// If a test's clean-up recovered a panic and panicked again, the frames of both panics are
	// shown. The important frames are those below the last one that belongs to a panic.
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Package == "" && frames[i].Function == "panic" {
			return frames[i+1:]
		}
	}
	return frames
}

// frameName parses the function line of a frame: "example.com/m/pkg.(*T[...]).Do.func1(0xc000,
// {0x1, 0x2})".
func frameName(l string) (pkg, fn string, ok bool) {
	if strings.HasPrefix(l, "panic(") {
		return "", "panic", true
	}
	if l == "" || l[0] == '\t' || l[0] == ' ' || !strings.HasSuffix(l, ")") {
		return "", "", false
	}
	l = cutArgs(l)
	slash := strings.LastIndex(typeArgs.ReplaceAllString(l, ""), "/") + 1 // ignore type arguments, which come after the slash and contain paths
	dot := strings.IndexByte(l[slash:], '.')
	if dot < 0 {
		return "", "", false
	}
	pkg = l[:slash+dot]
	fn = typeArgs.ReplaceAllString(l[slash+dot+1:], "")
	return pkg, fn, fn != ""
}

// cutArgs removes the arguments at the end of a frame's line.
func cutArgs(l string) string {
	depth := 0
	for i := len(l) - 1; i >= 0; i-- {
		switch l[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return l[:i]
			}
		}
	}
	return l
}

// fromGoroot reports whether a frame is in the standard library: its import paths have no dot in
// the first element. Modules with such names are excluded.
func fromGoroot(f Frame) bool {
	first, _, _ := strings.Cut(f.Package, "/")
	return !strings.Contains(first, ".") && (strings.Contains(f.File, "/src/"+f.Package+"/") || strings.HasPrefix(f.File, f.Package+"/"))
}
