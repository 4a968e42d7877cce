package compaction_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestDigestOfARun runs the go command on a failing module and digests its output.
func TestDigestOfARun(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/shop\n\ngo 1.24\n",
		"cart.go":      "package shop\n\nfunc Total(prices ...int) (sum int) {\n\tfor _, p := range prices[1:] {\n\t\tsum += p\n\t}\n\treturn sum\n}\n",
		"cart_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif got := Total(1, 2); got != 3 {\n\t\tt.Errorf(\"Total = %d, want 3\", got)\n\t}\n}\n\nfunc TestEmpty(t *testing.T) { Total() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{{"test", "-json"}, {"test", "-v"}, {"test"}}
	for _, args := range commands[:tier.Pick(1, 3, 3)] {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatalf("go %v: %v", args, err)
		}
		d := compaction.Digest(compaction.ToolOutput{Tool: "shell", Command: "go " + strings.Join(args, " "), Text: string(out), ExitCode: exit.ExitCode()}, 250)
		for _, want := range []string{"exit code 1", "TestTotal", "Total = 2, want 3", "TestEmpty", "panic: runtime error: slice bounds out of range [1:0]", "cart.go:4", "FAIL\texample.com/shop"} {
			if !strings.Contains(d.Text, want) {
				t.Errorf("go %v: lost %q of\n%s", args, want, d.Text)
			}
		}
		var tests []string
		for _, f := range d.Facts {
			if f.Kind == compaction.FactTest {
				tests = append(tests, f.Text)
			}
		}
		if diff := cmp.Diff([]string{"TestTotal", "TestEmpty"}, tests); diff != "" {
			t.Errorf("go %v: failing tests (-want +got):\n%s", args, diff)
		}
	}
}

// TestDigestBudgets checks that details are dropped before names as the budget shrinks, and that no
// digest exceeds its budget.
func TestDigestBudgets(t *testing.T) {
	var log strings.Builder
	for _, name := range []string{"Add", "Remove", "Total", "Tax", "Ship"} {
		log.WriteString("--- FAIL: Test" + name + " (0.00s)\n    cart_test.go:9: " + name + " gave the sum of 1 and not of 2\n    cart_test.go:10: the cart was empty\n")
	}
	log.WriteString("FAIL\texample.com/shop\t0.1s\n")
	was := 6
	for _, budget := range []int{1000, 300, 100, 60, 40, 25, 10, 3, 0, -1} {
		d := compaction.Digest(compaction.ToolOutput{Text: log.String(), ExitCode: 1}, budget)
		names := strings.Count(d.Text, "Test")
		if d.Tokens > max(budget, 0) {
			t.Errorf("%d tokens of %d:\n%s", d.Tokens, budget, d.Text)
		}
		if names > was || budget >= 60 && names < 5 {
			t.Errorf("%d names in %d tokens:\n%s", names, budget, d.Text)
		}
		was = names
	}
}

// TestDigestUnknown checks that a digest of an unknown tool's output keeps the unusual line and the
// last lines.
func TestDigestUnknown(t *testing.T) {
	log := strings.Repeat("frobnicating widget 17 of 90\nwidget polished in 4 ms\n", 900) + "the reactor has gone purple at step 41\n" +
		strings.Repeat("frobnicating widget 18 of 90\nwidget polished in 5 ms\n", 900) + "halted after 1800 widgets\n"
	d := compaction.Digest(compaction.ToolOutput{Text: log, ExitCode: 3}, 200)
	for _, want := range []string{"exit code 3", "the reactor has gone purple at step 41", "halted after 1800 widgets"} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("lost %q of\n%s", want, d.Text)
		}
	}
}
