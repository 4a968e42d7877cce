package harness_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// compiled is a case whose edits are type-checked. No edit passes its tests.
type compiled struct {
	onPaper
	c *repair.Checker
}

func (c compiled) Check(_ context.Context, file string, src []byte) error {
	return c.c.Check(file, src)
}

// spelled is a case that also knows its words.
type spelled struct{ compiled }

func (s spelled) Words(context.Context, string) *repair.Words { return s.c.Words() }

// TestWords checks that with a case that knows the words of its code, the model does not try edits
// with other words, and that the other edits come in the same order.
//
// Evidence: repair · Names that do not exist are not tried
func TestWords(t *testing.T) {
	dir := write(t, map[string]string{"go.mod": "module example.com/max\n\ngo 1.21\n", "max.go": maxGo})
	c, err := repair.NewChecker(t.Context(), dir, ".", append(os.Environ(), "GOWORK=off")...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tested := func(c harness.Case, n int) (edits []string, refused, undefined int) {
		res, err := harness.Run(t.Context(), harness.Config{Model: m, Case: c, Edits: n, OnStep: func(s harness.Step) {
			if strings.Contains(s.Result, "undefined: ") {
				undefined++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Edits {
			edits = append(edits, fmt.Sprint(e.Line, " ", e.New))
		}
		return edits, res.Refused, undefined
	}
	check := compiled{onPaper{"nothing"}, c}
	plain, many, unknown := tested(check, 30)
	_, few, known := tested(spelled{check}, 30) // a known name may not be declared at the place of its use
	if known >= unknown || few >= many {
		t.Errorf("%d refused, %d with undefined names; with words %d and %d", many, unknown, few, known)
	}
	edits, _, _ := tested(spelled{check}, 45)
	at := 0
	for _, e := range plain {
		i := slices.Index(edits[at:], e)
		if i < 0 {
			t.Errorf("edit %q is missing behind %q", e, edits[:at])
			continue
		}
		at += i + 1
	}
}
