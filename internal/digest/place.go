package digest

import "strings"

// A place is a position in a source file, found in a line of output.
type place struct {
	path     string // as written
	line     int    // its line number
	from, to int    // byte range in the line: path, mark and number
}

// extensions lists the file extensions of source files. The path of a place must end in one of
// them, so that host:8080 and 12:30 are not places.
var extensions = set("go py pyx pyi rs java kt kts scala groovy gradle clj js jsx mjs cjs ts tsx mts cts vue svelte c cc cpp cxx h hh hpp hxx m mm " +
	"inl ipp cu rb erb rake cs fs vb php swift ex exs erl hs lhs ml mli lua pl pm t r jl nim zig d dart v sv vhd sql sh bash ps1 tf hcl " +
	"yml yaml json toml xml html css scss sass less md rst tex txt cfg ini cmake mk bzl star proto graphql elm cr s S asm f f90 cbl sol vy adoc")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// findPlace returns the first place in s: path.ext:12, path.ext(12), path.ext:[12,3], path.ext,
// line 12, File "path", line 12.
func findPlace(s string) (place, bool) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '.')
		if i < 0 {
			return place{}, false
		}
		i += at
		j := i + 1
		for j < len(s) && j-i < 8 && (letter(s[j]) || digit(s[j])) {
			j++
		}
		at = i + 1
		if j == i+1 || j == len(s) || i == 0 || !extensions[s[i+1:j]] {
			continue
		}
		if n, to := lineNumber(s, j); n > 0 {
			from := pathStart(s, i)
			if from < i {
				return place{path: s[from:j], line: n, from: from, to: to}, true
			}
		}
	}
}

// lineNumber parses the number after a path that ends at j. It returns the number and its end.
func lineNumber(s string, j int) (n, end int) {
	switch {
	case s[j] == ':' || s[j] == '(':
		j++
		if j < len(s) && s[j] == '[' {
			j++
		}
	case strings.HasPrefix(s[j:], "\", line ") || strings.HasPrefix(s[j:], "', line "):
		j += 8
	case strings.HasPrefix(s[j:], ", line "):
		j += 7
	case strings.HasPrefix(s[j:], " line "):
		j += 6
	default:
		return 0, 0
	}
	from := j
	for j < len(s) && j-from < 7 && digit(s[j]) {
		n = n*10 + int(s[j]-'0')
		j++
	}
	return n, j
}

// pathStart searches backwards from i for the start of the path.
func pathStart(s string, i int) int {
	for i > 0 {
		c := s[i-1]
		if letter(c) || digit(c) || c >= 0x80 || strings.IndexByte("/\\._-+@~$#%", c) >= 0 ||
			c == ':' && i >= 2 && letter(s[i-2]) && (i == 2 || strings.IndexByte(" \t(\"'@", s[i-3]) >= 0) && i < len(s) && (s[i] == '\\' || s[i] == '/') {
			i--
			continue
		}
		break
	}
	for i < len(s) && (s[i] == '@' || s[i] == '-' && strings.HasPrefix(s[i:], "--")) {
		i++
	}
	return i
}

// strangers are parts of paths and names that show that code does not belong to the project.
var strangers = []string{
	"site-packages", "dist-packages", "/lib/python", "\\lib\\python", "node_modules", "node:", "internal/", "timers.js", "module.js", "events.js",
	"(native", "<frozen", "/usr/include", "/usr/lib", "/usr/local/go/", "/usr/share/", "/rustc/", ".cargo/registry", ".rustup/",
	"/gems/", "/rubygems", "lib/ruby/", "runtime/panic.go", "runtime/asm", "runtime/proc.go", "runtime/signal", "testing/testing.go", "/pkg/mod/", "vendor/", ".m2/",
	"unittest/", "jasmine", "mocha/", "jest-", "webpack:", "bower_components", "/opt/python", "/opt/hostedtoolcache", "_pytest/", "pluggy/", "<string>",
	"library/std/", "library/core/", "src/libstd", "src/libcore", "java.base", "bootstrap_node",
}

// strangeNames are the beginnings of qualified names, in Java and similar languages, that belong to
// the platform or to test tools.
var strangeNames = []string{
	"java.", "javax.", "jdk.", "sun.", "com.sun.", "org.junit.", "junit.", "org.apache.", "org.gradle.", "org.mockito.", "org.hamcrest.", "org.assertj.", "org.testng.",
	"org.eclipse.", "org.springframework.", "org.hibernate.", "groovy.", "org.codehaus.", "kotlin.", "scala.", "org.scalatest.", "net.bytebuddy.", "com.google.common.",
	"org.fest.", "org.powermock.", "reactor.", "io.netty.", "System.", "Microsoft.", "Xunit.", "NUnit.", "android.", "androidx.", "dalvik.", "org.objectweb.", "com.jayway.",
}

// strange reports whether a frame belongs to a library, a runtime or a test tool and not to the
// project.
func strange(frame string) bool {
	t := strings.TrimLeft(frame, " \t")
	if name, ok := strings.CutPrefix(t, "at "); ok {
		for _, p := range strangeNames {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
	}
	for _, p := range strangers {
		if strings.Contains(frame, p) {
			return true
		}
	}
	return false
}
