package harness_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// long is a case with a function that is too long to be read at once, and whose fault is not in the
// part that is read first.
type long struct{ src []byte }

const (
	longWrong = "for i := 1; i < len(list); i++ {"
	longRight = "for i := 0; i < len(list); i++ {"
)

func newLong() long {
	var b strings.Builder
	b.WriteString("package long\n\nfunc (o *Options) merge(from *Options, list []string) {\n")
	for i, name := range strings.Fields("Name Title Width Height Left Top Colour Border Padding Margin Font Size Weight Style Align Wrap Header Footer Rows Columns Language Direction Encoding Separator Background Foreground Underline Visible Enabled Selected") {
		fmt.Fprintf(&b, "\tif from.%s != nil {\n\t\to.%s = from.%s\n\t}\n", name, name, name)
		if i == 28 {
			b.WriteString("\t" + longWrong + "\n\t\to.Lines = append(o.Lines, list[i])\n\t}\n")
		}
	}
	b.WriteString("}\n")
	return long{[]byte(b.String())}
}

func (l long) Find(context.Context) (*harness.Finding, error) {
	fns, err := repair.Functions("long.go", l.src)
	if err != nil {
		return nil, err
	}
	return &harness.Finding{Failed: []string{"TestMerge"}, Output: "long_test.go:9: Lines = [b], want [a b]", Ranked: []repair.Ranked{{Function: fns[0]}}}, nil
}
func (l long) Source(string) ([]byte, error)               { return l.src, nil }
func (l long) Check(context.Context, string, []byte) error { return nil }
func (l long) Test(_ context.Context, e *harness.Edit) (*harness.Verdict, error) {
	return &harness.Verdict{OK: e.New == longRight}, nil
}

// TestLongFunctionsAreReadInParts checks that a fault in a long function is found even in a line
// that is not in the part that the model reads first.
//
// Evidence: repair · Long functions are read in parts
func TestLongFunctionsAreReadInParts(t *testing.T) {
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	read := ""
	res, err := harness.Run(t.Context(), harness.Config{Model: m, Case: newLong(), FunctionScope: true, OnStep: func(s harness.Step) {
		if s.Tool == repair.ToolRead {
			read = s.Result
		}
	}})
	if err != nil || res.Invalid > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if read == "" || strings.Contains(read, longWrong) {
		t.Errorf("the fault is in what is read first:\n%s", read)
	}
	if res.Fixed == nil {
		for _, e := range res.Edits {
			t.Log(e.Line, e.Old, "→", e.New)
		}
		t.Error("it is not mended")
	}
}
