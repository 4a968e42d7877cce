package digest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// TestWhitespaceIsKept: an output without errors is kept whole if it fits, and every line that a
// digest takes from an output has the white space that was before it.
//
// Evidence: compaction · A digest keeps indentation
func TestWhitespaceIsKept(t *testing.T) {
	var yaml strings.Builder
	for i := range 60 {
		fmt.Fprintf(&yaml, "    - name: user%d\n      amount: %d\n", i, i*17%1000)
	}
	if d := Digest(Input{Text: yaml.String(), Budget: 1000}); d.Text != yaml.String() {
		t.Errorf("YAML that fits becomes\n%s", d.Text)
	}
	for name, text := range map[string]string{
		"yaml":   yaml.String(),
		"python": "Traceback (most recent call last):\n  File \"/app/x.py\", line 3, in f\n    return {\n        1: g(),\n    }\n  File \"/app/x.py\", line 9, in g\n\traise ValueError(\"no\")\nValueError: no\n" + strings.Repeat("    step\n", 200),
		"gcc":    "src/a.c: In function 'f':\nsrc/a.c:3:10: error: 'y' undeclared\n    3 |   return y;\n      |          ^\nmake: *** [Makefile:2: a.o] Error 1\n" + strings.Repeat("  CC x.o\n", 200),
		"go":     "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:9: (-want +got):\n              []string{\n            -   \"a\",\n            +   \"b\",\n              }\nFAIL\nFAIL\texample.com/m\t0.1s\n",
		"color":  "\x1b[31m  red\x1b[0m\n\t\x1b[1merror: broken\x1b[0m\n",
	} {
		in := map[string]bool{}
		for line := range strings.SplitSeq(ansi.Strip(text), "\n") {
			in[line] = true
		}
		d := Digest(Input{Text: text, Budget: 300})
		n := 0
		for line := range strings.SplitSeq(strings.TrimSuffix(d.Text, "\n"), "\n") {
			said := strings.TrimSpace(line)
			for l := range in {
				if strings.TrimSpace(l) == said && !in[line] {
					t.Errorf("%s: %q stands in the output as %q", name, line, l)
				}
			}
			if in[line] {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s: no line is of the output:\n%s", name, d.Text)
		}
	}
}

// TestIsLog: builds and test runs are logs; tables, code, JSON and diffs are not, even if they
// contain words for errors.
func TestIsLog(t *testing.T) {
	for text, want := range map[string]bool{
		"--- FAIL: TestA (0.00s)\n    a_test.go:9: no\nFAIL\n":                     true,
		"src/a.c:3:10: error: 'y' undeclared\nmake: *** [a.o] Error 1\n":           true,
		strings.Repeat("2024-01-31T12:30:59.1234567Z Downloading x\n", 50):         true,
		strings.Repeat("[INFO] Compiling\n", 50) + "[INFO] BUILD SUCCESS\n":        true,
		strings.Repeat("1,error,TypeError: x,2024\n", 50):                          false,
		"[" + strings.Repeat(`{"error": "ValueError: x"},`, 50) + `{}]`:            false,
		"diff --git a/x b/x\n@@ -1 +1 @@\n-x\n+--- FAIL: TestA (0.00s)\n":          false,
		strings.Repeat("├── a\n│   ├── error.go\n", 30):                            false,
		strings.Repeat("\tif err != nil {\n\t\treturn errors.New(`x`)\n\t}\n", 30): false,
		strings.Repeat("    - name: error\n      fatal: true\n", 30):               false,
		"": false,
	} {
		if got := IsLog(text, 0); got != want {
			t.Errorf("%t, want %t:\n%s", got, want, text[:min(len(text), 200)])
		}
	}
}
