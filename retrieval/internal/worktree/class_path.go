package worktree

import (
	"slices"
	"strings"
)

// classifyPath considers only the path.
func classifyPath(path string) Class {
	dir, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = path[:i], path[i+1:]
	}
	name := strings.ToLower(base)
	stem, ext := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		stem, ext = name[:i], name[i+1:]
	}
	c := byName[name] | byExt[ext]
	c |= classifyName(base, name, stem, ext)
	if c.Any(Build) && ext == "txt" {
		c &^= Doc // CMakeLists.txt, requirements.txt
	}
	return c | classifyDir(dir, c, ext)
}

// classifyDir considers the directories of a file of class c.
func classifyDir(dir string, c Class, ext string) Class {
	if dir == "" {
		return 0
	}
	dir = strings.ToLower(dir)
	// Below src/main, as in Maven and Gradle, directories are packages, whose names do not show the
	// kind of a file: org/mockito/mock.
	if i := strings.Index("/"+dir+"/", "/src/main/"); i >= 0 {
		dir = strings.TrimSuffix(dir[:i], "/")
	}
	before := ""
	for elem := range strings.SplitSeq(dir, "/") {
		d := byDir[elem]
		switch {
		case before == "":
			d |= byTopDir[elem]
		case elem == "doc" && !isCode(c, ext):
			d |= Doc
		case before == "src" && strings.HasPrefix(elem, "test") && camelTests[ext]: // testFixtures and the like, of Gradle
			d |= Test
		}
		if isTestDir(elem) {
			d |= Test
		}
		if c.Any(Test) {
			d &^= Example // examples that a test reads
		}
		c |= d
		before = elem
	}
	if strings.HasPrefix(dir, ".github/workflows") || strings.HasPrefix(dir, ".circleci") {
		c |= Build
	}
	return c
}

func isTestDir(name string) bool {
	return strings.HasSuffix(name, ".tests") || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, "-tests") || strings.HasPrefix(name, "test-") ||
		strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test") || strings.HasSuffix(name, "_tests")
}

// isCode reports whether nothing marks a file of class c as something other than source code.
func isCode(c Class, ext string) bool { return ext != "" && !c.Any(Binary|Doc|Config|Data|Build) }

// classifyName considers the last path element: base is its original spelling, name is the
// lower-case form, and stem and ext are the parts of name.
func classifyName(base, name, stem, ext string) (c Class) {
	if isTestName(base, stem, ext) {
		c |= Test
	}
	switch {
	case strings.HasPrefix(stem, "example_"), strings.HasSuffix(stem, "_example"), strings.HasSuffix(stem, ".example"), stem == "example":
		c |= Example
	}
	switch {
	case strings.HasPrefix(stem, "bench_"), strings.HasSuffix(stem, "_bench"), strings.HasSuffix(stem, ".bench"), strings.HasSuffix(stem, "_benchmark"),
		strings.HasPrefix(stem, "benchmark_"), strings.HasPrefix(stem, "benchmark-"), strings.HasSuffix(base, "Benchmark."+ext), strings.HasSuffix(stem, "_bench_test"), stem == "bench", stem == "benchmark":
		c |= Bench
	}
	for _, s := range generatedStems {
		if strings.HasSuffix(stem, s.suffix) && (s.exts == nil || slices.Contains(s.exts, ext)) {
			c |= s.class
		}
	}
	switch {
	case strings.HasPrefix(name, "zz_generated"):
		c |= Generated
	case strings.HasPrefix(name, "dockerfile"), strings.HasPrefix(name, "makefile"), strings.HasPrefix(name, "jenkinsfile"):
		c |= Build
	case strings.HasPrefix(name, "requirements") && ext == "txt":
		c |= Build | Config
	case strings.HasPrefix(name, "tsconfig") && ext == "json", strings.HasPrefix(name, ".") && strings.HasSuffix(stem, "rc"), strings.Contains(name, ".config."):
		c |= Config
	case ext == "" && docName(name):
		c |= Doc
	}
	return c
}

func docName(name string) bool {
	name, _, _ = strings.Cut(name, "-")
	return docNames[name]
}

// isTestName reports whether a name is that of a test by the conventions of common languages.
func isTestName(base, stem, ext string) bool {
	switch stem {
	case "test", "tests", "conftest", "spec":
		return true
	}
	switch {
	case strings.HasPrefix(stem, "test_"), strings.HasPrefix(stem, "test-"), strings.HasPrefix(stem, "mock_"), strings.HasPrefix(stem, "tests_"):
		return ext != ""
	case strings.HasSuffix(stem, "_test"), strings.HasSuffix(stem, "_tests"), strings.HasSuffix(stem, "-test"), strings.HasSuffix(stem, "-tests"),
		strings.HasSuffix(stem, ".test"), strings.HasSuffix(stem, ".tests"), strings.HasSuffix(stem, ".spec"), strings.HasSuffix(stem, "_spec"), strings.HasSuffix(stem, "-spec"),
		strings.HasSuffix(stem, "_unittest"), strings.HasSuffix(stem, "_mock"), strings.HasSuffix(stem, ".stories"), strings.HasSuffix(stem, ".e2e"), strings.HasSuffix(stem, ".cy"):
		return ext != ""
	}
	if !camelTests[ext] {
		return false
	}
	word := base[:len(base)-len(ext)-1]
	for _, end := range []string{"Test", "Tests", "TestCase", "IT", "Spec", "TestSuite"} {
		if before, ok := strings.CutSuffix(word, end); ok && before != "" {
			return end != "IT" || isLowerEnd(before) // not AUDIT
		}
	}
	rest, ok := strings.CutPrefix(word, "Test")
	return ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}

func isLowerEnd(s string) bool { return s[len(s)-1] >= 'a' && s[len(s)-1] <= 'z' }
