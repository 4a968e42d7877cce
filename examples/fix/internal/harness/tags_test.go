package harness_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
)

// TestBuildTags checks that files that are built with cgo or with the tags in GOFLAGS are repaired
// like other files.
func TestBuildTags(t *testing.T) {
	for _, tag := range []string{"strict", "cgo"} {
		t.Run(tag, func(t *testing.T) {
			flags := "-trimpath -tags=" + tag
			if tag == "cgo" {
				flags = "-mod=vendor"
				if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
					t.Skip("cgo is not there")
				}
			}
			t.Setenv("GOFLAGS", flags)
			dir := write(t, map[string]string{
				"go.mod":      "module example.com/max\n\ngo 1.21\n",
				"max.go":      "//go:build " + tag + "\n\n" + maxGo,
				"other.go":    "//go:build !" + tag + "\n\n" + strings.Replace(maxGo, "x < m", "x > m", 1),
				"max_test.go": maxTest,
			})
			m, err := harness.OpenModule(context.Background(), dir, harness.ModuleConfig{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			model := &script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, "if i == 0 || x > m {"), "run_tests {}", "Fixed."}}
			res, err := harness.Run(context.Background(), harness.Config{Model: model, Case: m})
			if err != nil || res.Fixed == nil || res.Refused != 0 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}
