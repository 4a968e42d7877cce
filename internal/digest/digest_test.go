package digest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// check verifies properties that hold for every digest.
func check(t *testing.T, in Input, d Output) {
	t.Helper()
	if n := tokencount.Estimate(d.Text); n != d.Tokens || n > max(in.Budget, 0) {
		t.Fatalf("%d tokens, Tokens = %d, of %d:\n%.300s", n, d.Tokens, in.Budget, d.Text)
	}
	if !utf8.ValidString(d.Text) {
		t.Fatalf("the digest is not UTF-8: %.300q", d.Text)
	}
	lines := strings.Count(in.Text, "\n") + 1
	for _, f := range d.Facts {
		if f.Line < 0 || f.Line > lines {
			t.Fatalf("fact on line %d of %d: %q", f.Line, lines, f.Text)
		}
		if !strings.Contains(d.Text, f.Text) {
			t.Fatalf("fact is not in the digest: %q", f.Text)
		}
	}
	if again := Digest(in); again.Text != d.Text {
		t.Fatal("two digests of one output differ")
	}
}

var seeds = []string{
	"", "\n", "\r", "\r\n\r\n", "\x1b[31m", "\x1b]0;title", "\xff\xfe", "FAIL", "--- FAIL: TestX (0.00s)\n    x_test.go:3: got 1\n",
	"=== FAILURES ===\n____ test_a ____\nE   ValueError: no\nx.py:3: ValueError\n", "  1 failing\n\n  1) a\n     b:\n     Error: c\n      at f (x.js:1:2)\n",
	"Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nKeyError: 'x'\n", "✖ a\n● b › c\n\n    d\n", "Failed tests:\n  A.b:1 » c\n",
	"* What went wrong:\nExecution failed for task ':x'.\n", "1) Failure:\nT#a [x.rb:1]:\n", "::", "at ", "E", "_ x _", "=====", "(node:", "Testcase: a\n\tFAILED\n",
	`{"Action":"output","Output":"--- FAIL: TestX (0.00s)\n"}`, `{"Action":"fail","Test":"TestX`, "error", "ERROR", "a.go:1:", "FAIL: ", "✖ ", "12) ", "#1 ", "#1 0.1 ", "x_1  | ",
}

// Evidence: compaction · Digests take linear time on any input
func FuzzDigest(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, i%3, 10*i)
	}
	f.Add(strings.Join(seeds, "\n"), 1, 200)
	f.Fuzz(func(t *testing.T, text string, exit, budget int) {
		budget %= 5000
		in := Input{Text: text, ExitCode: exit, Budget: budget}
		check(t, in, Digest(in))
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add("a\rab\rabc\n10%\r20%\rdone\x08\x08ok\x1b[2K\x1b]8;;http://x\x07link\n\n\n\n\n")
	f.Add("2024-01-31T12:30:59.1234567Z line\ntravis_fold:start:x\r\x1b[0Ky\n")
	f.Fuzz(func(t *testing.T, text string) {
		clean := Clean(text)
		if len(clean) > len(text) {
			t.Fatalf("longer: %q became %q", text, clean)
		}
		for i := range len(clean) {
			if c := clean[i]; c != '\n' && c != 0xc2 && ansi.Control(c) {
				t.Fatalf("control byte %#x is left in %q", c, clean)
			}
		}
		if utf8.ValidString(text) && !utf8.ValidString(clean) {
			t.Fatalf("%q is UTF-8, %q is not", text, clean)
		}
	})
}

func FuzzFold(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add(strings.Repeat("the same line again and again\n", 30))
	f.Add(strings.Repeat("a block of lines, the first of them\nanother one that is long enough to count for something\nthree\nfour and the last\n", 4))
	f.Add("compiling module 1\ncompiling module 2\ncompiling module 3\ncompiling module 4\ncompiling module 5\ncompiling module 6\n")
	f.Fuzz(func(t *testing.T, text string) {
		folded := Fold(text)
		if len(folded) > len(text) {
			t.Fatalf("longer: %q became %q", text, folded)
		}
		for line := range strings.Lines(folded) { // every remaining line must be in the original
			line = strings.TrimSuffix(line, "\n")
			if !strings.Contains(text, line) && !strings.Contains(line, "[") {
				t.Fatalf("a line that was not there: %q", line)
			}
		}
	})
}
