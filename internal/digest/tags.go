package digest

import "strings"

// level is the severity of a line according to a build tool's tag.
type level uint8

const (
	levelNone level = iota
	levelInfo
	levelWarning
	levelError
)

// untag removes the text that wrappers write before each line of another tool's output: CI
// timestamps, names of tasks or containers, and severity levels.
func untag(s string) (string, level) {
	lev := levelNone
	for range 3 {
		t := strings.TrimLeft(s, " \t")
		if len(t) == 0 {
			return "", lev
		}
		n, l := tag(t)
		if n == 0 {
			break
		}
		if l != levelNone {
			lev = l
		}
		s = t[n:]
		if l != levelNone && len(s) > 0 && s[0] == ' ' {
			s = s[1:]
		}
	}
	return s, lev
}

var tags = []struct {
	text  string
	level level
}{
	{"[INFO]", levelInfo}, {"[ERROR]", levelError}, {"[WARNING]", levelWarning}, {"[WARN]", levelWarning}, {"[DEBUG]", levelInfo},
	{"[info]", levelInfo}, {"[error]", levelError}, {"[warn]", levelWarning}, {"[junit]", levelNone}, {"[exec]", levelNone},
	{"[java]", levelNone}, {"[javac]", levelNone}, {"[testng]", levelNone}, {"##[error]", levelError}, {"##[warning]", levelWarning},
	{"[junitlauncher]", levelNone}, {"[apply]", levelNone},
}

// tag returns the length of the tag at the start of s, or 0 if there is none.
func tag(s string) (int, level) {
	switch s[0] {
	case '[', '#':
		for _, t := range tags {
			if strings.HasPrefix(s, t.text) {
				return len(t.text), t.level
			}
		}
		return dockerTag(s), levelNone
	case '2', '1':
		return isoTime(s), levelNone
	}
	return composeTag(s), levelNone
}

// isoTime returns the length of a leading timestamp such as 2024-01-31T12:30:59.1234567Z, which
// GitHub writes before each line.
func isoTime(s string) int {
	if len(s) < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0
	}
	i := 19
	for i < len(s) && i < 34 && (s[i] == '.' || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i < len(s) && s[i] == 'Z' {
		i++
	} else {
		return 0
	}
	if i < len(s) && s[i] == ' ' {
		i++
	}
	return i
}

// dockerTag returns the length of a leading BuildKit tag such as "#12 3.456 ".
func dockerTag(s string) int {
	i := 1
	for i < len(s) && i < 5 && digit(s[i]) {
		i++
	}
	if s[0] != '#' || i == 1 || i == len(s) || s[i] != ' ' {
		return 0
	}
	i++
	from := i
	for i < len(s) && (digit(s[i]) || s[i] == '.') {
		i++
	}
	if i == from || i == len(s) || s[i] != ' ' {
		return 0
	}
	return i + 1
}

// composeTag returns the length of a leading "service_1 | ", as docker compose and similar tools
// write it.
func composeTag(s string) int {
	i := 0
	for i < len(s) && i < 40 && (letter(s[i]) || digit(s[i]) || s[i] == '_' || s[i] == '-') {
		i++
	}
	if i == 0 || i == len(s) || s[i] != ' ' {
		return 0
	}
	j := i
	for j < len(s) && s[j] == ' ' {
		j++
	}
	if j+1 < len(s) && s[j] == '|' && s[j+1] == ' ' && (s[i-1] >= '0' && s[i-1] <= '9') {
		return j + 2
	}
	return 0
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
