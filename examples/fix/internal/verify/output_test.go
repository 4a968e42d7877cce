package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// marked adds package testing's prefix to the lines that package testing would print.
func marked(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "--- ") || strings.HasPrefix(l, "=== ") {
			lines[i] = frame + l
		}
	}
	return strings.Join(lines, "\n")
}

func TestParseOutput(t *testing.T) {
	cases := []struct {
		name, out                  string
		passed, failed, unfinished []string
		report                     string // for the failed and the unfinished tests
		panicked, timedOut         bool
	}{
		{
			"a failing subtest between passing tests",
			"=== RUN   TestA\n    a_test.go:3: noise\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\n    b_test.go:9: got 1\n--- FAIL: TestB/x (0.00s)\n" +
				"=== NAME  TestB\n--- FAIL: TestB (0.25s)\nFAIL\ncoverage: 10.0% of statements\n",
			[]string{"TestA"}, []string{"TestB"}, nil,
			"    b_test.go:9: got 1\n--- FAIL: TestB/x (0.00s)\n--- FAIL: TestB (0.25s)\nFAIL\n", false, false,
		},
		{
			"a panic",
			"=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: boom [recovered]\n\ngoroutine 7 [running]:\nm.F()\n\t/m/f.go:3 +0x1\n",
			nil, []string{"TestA"}, nil,
			"--- FAIL: TestA (0.00s)\npanic: boom [recovered]\n\ngoroutine 7 [running]:\nm.F()\n\t/m/f.go:3 +0x1\n", true, false,
		},
		{
			"a test that ends the process",
			"=== RUN   TestA\nlast words\n",
			nil, nil, []string{"TestA"}, "last words\n", false, false,
		},
		{
			"a test that hangs",
			"=== RUN   TestA\npanic: test timed out after 1s\n\trunning tests:\n\t\tTestA (1s)\n",
			nil, nil, []string{"TestA"}, "panic: test timed out after 1s\n\trunning tests:\n\t\tTestA (1s)\n", false, true,
		},
		{
			"tests that look like the framing",
			"=== RUN   TestA\nprinted without an end" + "\x16--- FAIL: TestA (0.00s)\n",
			nil, []string{"TestA"}, nil, "printed without an end\n--- FAIL: TestA (0.00s)\n", false, false,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := parseOutput([]byte(marked(c.out)))
			if d := cmp.Diff(c.passed, r.passed); d != "" {
				t.Errorf("passed: %s", d)
			}
			if d := cmp.Diff(c.failed, r.failed); d != "" {
				t.Errorf("failed: %s", d)
			}
			if d := cmp.Diff(c.unfinished, r.unfinished); d != "" {
				t.Errorf("unfinished: %s", d)
			}
			if d := cmp.Diff(c.report, r.report(append(r.failed, r.unfinished...))); d != "" {
				t.Errorf("report: %s", d)
			}
			if r.panicked != c.panicked || r.timedOut != c.timedOut {
				t.Errorf("panicked %v, timed out %v", r.panicked, r.timedOut)
			}
		})
	}
	r := parseOutput([]byte(marked("=== RUN   TestB\n--- PASS: TestB (0.25s)\n")))
	if r.took["TestB"] != 250*time.Millisecond {
		t.Errorf("TestB took %v, want 250ms", r.took["TestB"])
	}
}

func FuzzParseOutput(f *testing.F) {
	f.Add([]byte(marked("=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: x\n\trunning tests:\n\t\tTestA (1s)\n")))
	f.Add([]byte("\x16=== NAME  \n\x16--- PASS: TestA (9999999999999.0s)\x16\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		r := parseOutput(out)
		hung(out)
		if got := r.report(append(r.failed, r.unfinished...)); len(got) > 4*len(out)+16 {
			t.Errorf("a report of %d bytes from %d bytes of output", len(got), len(out))
		}
	})
}
