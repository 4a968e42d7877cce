package corpus

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A story makes up the output of a function's failing tests. Real reports come with the verified
// tasks; made-up ones only teach the positions of names and values in a report.
type story struct {
	rng      *rand.Rand
	file     string // base name
	pkg      string
	fn       repair.Function // the function at fault
	at       repair.Function // the function that panicked
	panicked int             // the line of at in the panic's stack trace; 0 if there is none
	literals []string        // literals in the function
}

// report returns the report with the given candidates.
func (s *story) report(candidates []string) repair.Report {
	r := repair.Report{Failed: s.tests(), Functions: candidates}
	if s.panicked > 0 {
		r.Output = s.panicText()
	} else if s.rng.Float64() < 0.7 {
		r.Output = s.messages()
	}
	if len(r.Output) > repair.DigestBudget {
		r.Output = strings.ToValidUTF8(r.Output[:repair.DigestBudget], "")
	}
	return r
}

// names returns the names of the function and of its receiver, both as exported names.
func (s *story) names() (own, recv string) {
	name := strings.NewReplacer("(", "", "*", "", ")", "").Replace(s.fn.Name)
	if r, m, ok := strings.Cut(name, "."); ok {
		return title(m), title(r)
	}
	return title(name), ""
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

var suffixes = []string{"", "", "", "Simple", "Basic", "Error", "Errors", "Empty", "Nil", "2", "_Error", "_empty", "Invalid", "Large", "Unicode", "Edge", "RoundTrip", "Concurrent"}

// tests names one to five failing tests, after the function, its type, its file or its package.
func (s *story) tests() []string {
	own, recv := s.names()
	stem := title(strings.ReplaceAll(strings.TrimSuffix(s.file, ".go"), "_", ""))
	n := 1
	for n < 5 && s.rng.Float64() < 0.35 {
		n++
	}
	var out []string
	for range n {
		var name string
		switch x := s.rng.Float64(); {
		case recv != "" && x < 0.3:
			name = recv + pick(s.rng, "", "_", "") + own
		case x < 0.65:
			name = own
		case recv != "" && x < 0.8:
			name = recv
		case x < 0.9:
			name = stem
		default:
			name = title(s.pkg)
		}
		name = pick(s.rng, "Test", "Test", "Test", "Test", "Test_", "Example") + name + pick(s.rng, suffixes...)
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func (s *story) panicText() string {
	n := s.rng.IntN(9)
	what := pick(s.rng,
		fmt.Sprintf("runtime error: index out of range [%d] with length %d", n+s.rng.IntN(2), n),
		"runtime error: index out of range [-1]",
		fmt.Sprintf("runtime error: slice bounds out of range [:%d] with capacity %d", n+1, n),
		fmt.Sprintf("runtime error: slice bounds out of range [%d:%d]", n+1, n),
		"runtime error: invalid memory address or nil pointer dereference",
		"runtime error: invalid memory address or nil pointer dereference",
		"runtime error: integer divide by zero",
		"assignment to entry in nil map",
		pick(s.rng, "unreachable", "bad "+s.pkg, "not implemented", s.value()))
	if s.rng.Float64() < 0.3 {
		test, after := s.tests()[0], fmt.Sprintf("%.8fs", 1+10*s.rng.Float64())
		return "panic: test timed out after " + after + "\nrunning tests:\n" + test
	}
	text := "panic: " + what + "\n" + s.file + ":" + strconv.Itoa(s.at.Start+s.panicked-1) + " " + s.at.Name
	if s.rng.Float64() < 0.7 {
		text += "\n" + s.testFile() + ":" + strconv.Itoa(10+s.rng.IntN(500)) + " " + s.tests()[0]
	}
	return text
}

func (s *story) testFile() string { return strings.TrimSuffix(s.file, ".go") + "_test.go" }

// messages returns one to three lines that tests print.
func (s *story) messages() string {
	own, _ := s.names()
	name := s.fn.Name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	line := 10 + s.rng.IntN(600)
	if s.rng.Float64() < 0.2 { // in the style of testify
		want, got := s.pair()
		return fmt.Sprintf("Error: %s\nexpected: %s\nactual : %s", pick(s.rng, "Not equal:", "Not equal:", "Should be true", "Received unexpected error:"), want, got)
	}
	var out []string
	for range 1 + s.rng.IntN(3) {
		want, got := s.pair()
		where := s.testFile() + ":" + strconv.Itoa(line) + ": "
		out = append(out, where+pick(s.rng,
			fmt.Sprintf("%s(%s) = %s, want %s", name, s.value(), got, want),
			fmt.Sprintf("%s(%s, %s) = %s, want %s", name, s.value(), s.value(), got, want),
			fmt.Sprintf("got %s, want %s", got, want),
			fmt.Sprintf("want %s, got %s", want, got),
			fmt.Sprintf("expected %s, got %s", want, got),
			fmt.Sprintf("expected %s but got %s", want, got),
			fmt.Sprintf("%s: got %s, expected %s", own, got, want),
			fmt.Sprintf("#%d: got %s; want %s", s.rng.IntN(12), got, want),
			"unexpected error: "+pick(s.rng, "EOF", "unexpected EOF", "invalid syntax", "not found", "out of range", "invalid "+strings.ToLower(own)),
			"expected an error, got nil",
			fmt.Sprintf("%s failed", own)))
		if s.rng.Float64() < 0.4 {
			line += s.rng.IntN(40)
		}
	}
	return strings.Join(out, "\n")
}

var literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.){0,24}"|\b\d{1,6}\b`)

var wordList = []string{"a", "b", "foo", "bar", "abc", "hello", "hello world", "x", "", "key", "value", "1", "name", "test", "/a/b", "a,b", "2006-01-02", "été"}

func (s *story) value() string {
	if len(s.literals) > 0 && s.rng.Float64() < 0.35 {
		return pick(s.rng, s.literals...)
	}
	switch s.rng.IntN(8) {
	case 0, 1:
		return strconv.Itoa(s.rng.IntN(pick(s.rng, 3, 12, 120, 70000)))
	case 2, 3, 4:
		return strconv.Quote(pick(s.rng, wordList...) + pick(s.rng, "", "", "\n", pick(s.rng, wordList...)))
	case 5:
		return pick(s.rng, "true", "false", "nil", "<nil>")
	case 6:
		return fmt.Sprint(s.ints())
	}
	return fmt.Sprintf("%q", []string{pick(s.rng, wordList...), pick(s.rng, wordList...)})
}

func (s *story) ints() []int {
	out := make([]int, s.rng.IntN(5))
	for i := range out {
		out[i] = s.rng.IntN(10)
	}
	return out
}

// pair returns two values that differ as if by a small bug.
func (s *story) pair() (want, got string) {
	switch s.rng.IntN(7) {
	case 0, 1:
		n := s.rng.IntN(pick(s.rng, 3, 12, 120))
		return strconv.Itoa(n), strconv.Itoa(n + pick(s.rng, 1, -1, 1, -1, 2, -n, -2*n, 10))
	case 2:
		if s.rng.IntN(2) == 0 {
			return "true", "false"
		}
		return "false", "true"
	case 3, 4:
		w := pick(s.rng, wordList...) + pick(s.rng, wordList...)
		g := w
		switch s.rng.IntN(4) {
		case 0:
			g = w[:max(0, len(w)-1)]
		case 1:
			g = w[min(1, len(w)):]
		case 2:
			g = strings.ToUpper(w)
		default:
			g = w + pick(s.rng, " ", "\n", "x", w)
		}
		return strconv.Quote(w), strconv.Quote(strings.ToValidUTF8(g, ""))
	case 5:
		w := s.ints()
		g := append([]int{}, w...)
		if len(g) > 0 {
			g = g[1:]
		}
		return fmt.Sprint(w), fmt.Sprint(g)
	}
	return s.value(), s.value()
}
