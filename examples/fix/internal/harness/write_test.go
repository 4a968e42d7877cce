package harness_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// TestWriteKeepsBytes checks for files of all kinds that one line changes and no other byte.
func TestWriteKeepsBytes(t *testing.T) {
	const lf = "package odd\n\nfunc Of(x int) int {\n\tx++\n\ts := `\n\n  two\t words  \n`\n\t_ = s\n\n\treturn x\n}\n"
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	dir := write(t, map[string]string{"go.mod": "module example.com/odd\n\ngo 1.21\n"})
	m, err := harness.OpenModule(context.Background(), dir, harness.ModuleConfig{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name, tt := range map[string]struct {
		src      string
		line     int
		old, new string
	}{
		"plain":               {lf, 2, "\tx++\n", "\tx--\n"},
		"crlf":                {crlf, 2, "\tx++\r", "\tx--\r"},
		"byte order mark":     {"\ufeff" + lf, 2, "\tx++\n", "\tx--\n"},
		"both":                {"\ufeff" + crlf, 2, "\tx++\r", "\tx--\r"},
		"one line of crlf":    {strings.Replace(lf, "x++\n", "x++\r\n", 1), 2, "\tx++\r", "\tx--\r"},
		"one line of lf":      {strings.Replace(crlf, "x++\r\n", "x++\n", 1), 2, "\tx++\n", "\tx--\n"},
		"no last line break":  {strings.TrimSuffix(lf, "\n"), 9, "return x", "return -x"},
		"space behind":        {strings.Replace(lf, "x++", "x++ \t ", 1), 2, "\tx++ \t \n", "\tx-- \t \n"},
		"in a raw string":     {lf, 5, "  two\t words  \n", "  two\twords  \n"},
		"long lines":          {strings.Replace(lf, "x++", "x++ // "+strings.Repeat("long ", 50000), 1), 9, "return x", "return -x"},
		"a long line":         {strings.Replace(lf, "x++", "x++ // "+strings.Repeat("long ", 50000), 1), 2, "x++ // " + strings.Repeat("long ", 50000), "x-- "},
		"the same line often": {strings.Replace(lf, "\tx++\n", strings.Repeat("\tx++\n", 9), 1), 5, strings.Repeat("\tx++\n", 9), strings.Repeat("\tx++\n", 3) + "\tx--\n" + strings.Repeat("\tx++\n", 5)},
	} {
		t.Run(name, func(t *testing.T) {
			file := strings.ReplaceAll(name, " ", "_") + ".go"
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, []byte(tt.src), 0o640); err != nil {
				t.Fatal(err)
			}
			fns, err := repair.Functions(file, []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(tt.src, tt.old, tt.new, 1)
			line := strings.TrimSpace(strings.Split(want, "\n")[fns[0].Start+tt.line-2])
			after, err := repair.Apply([]byte(tt.src), fns[0], tt.line, line)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Write(context.Background(), &harness.Edit{Function: fns[0], Line: tt.line, Before: []byte(tt.src), After: after}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("%.300q, %v", got, err)
			}
		})
	}
}
