package harness_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
)

// TestTestsApart checks that tests in a separate directory locate the fault in the packages that
// they import, even if those packages have files of the same name.
func TestTestsApart(t *testing.T) {
	t.Parallel()
	source := strings.NewReplacer("package max\n", "package max\n\nimport \"example.com/max/internal/id\"\n", "return m\n", "return id.Of(m)\n").Replace(maxGo)
	dir := write(t, map[string]string{
		"go.mod":             "module example.com/max\n\ngo 1.21\n",
		"max.go":             source,
		"internal/id/max.go": "package id\n\n// Of returns its argument.\nfunc Of(x int) int {\n\n\n\n\n\n\treturn x\n}\n",
		"checks/max_test.go": strings.NewReplacer("package max", "package checks", "import \"testing\"", "import (\n\t\"testing\"\n\n\t\"example.com/max\"\n)", ":= Of", ":= max.Of").Replace(maxTest),
	})
	m, err := harness.OpenModule(context.Background(), dir, harness.ModuleConfig{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	right := "if i == 0 || x > m {"
	var read string
	model := &script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, right), "run_tests {}", "Fixed."}}
	res, err := harness.Run(context.Background(), harness.Config{Model: model, Case: m, OnStep: func(s harness.Step) {
		if s.Tool == "read_function" {
			read = s.Result
		}
	}})
	if err != nil || res.Fixed == nil || m.Package != "example.com/max/checks" {
		t.Fatalf("%+v, %v, %s", res, err, m.Package)
	}
	if !strings.HasPrefix(read, "func 1 max.go\n1*\tfunc Of(xs ...int) int {\n2*\tm := 0\n") || !strings.Contains(read, "\n8*\treturn id.Of(m)") {
		t.Errorf("what failing tests ran is not marked:\n%s", read)
	}
	if err := m.Write(context.Background(), res.Fixed); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir)["/max.go"]; !strings.HasSuffix(got, strings.Replace(source, "x < m", "x > m", 1)) {
		t.Errorf("%s", got)
	}
}
