package grammar

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSteps checks that rules which match a text in more ways than can be tried are refused when
// they are compiled, before the stack or the memory is full.
func TestSteps(t *testing.T) {
	for _, form := range []string{"r%d ::= r%d r%[2]d\n", "r%d ::= r%d | r%[2]d\n"} {
		for n, want := range map[int]error{8: nil, 60: ErrSteps} {
			var b strings.Builder
			b.WriteString("root ::= r0\n")
			for i := range n {
				fmt.Fprintf(&b, form, i, i+1)
			}
			fmt.Fprintf(&b, `r%d ::= "a"?`, n)
			if _, err := CompileText(b.String(), fuzzVocab()); !errors.Is(err, want) {
				t.Errorf("%s%d rules: %v, want %v", form, n, err, want)
			}
		}
	}
}
