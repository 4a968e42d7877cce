package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCutter(t *testing.T) {
	for _, c := range []struct {
		pre, text string
		want      []string
	}{
		{"gpt-2", "12*\tif x.y_z != 345 {\n  }", []string{"12", "*", "\t", "if", " x", ".", "y", "_", "z", " !=", " 345", " {", "\n ", " }"}},
		{"qwen2", "x = 345)\n", []string{"x", " =", " ", "3", "4", "5", ")\n"}},
		{"starcoder", "a 12", []string{"a", " ", "1", "2"}}, // two stages
		{"gpt-2", "", nil},
	} {
		cut, err := NewCutter(c.pre)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(cut.Words(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s cuts %q (-want +got):\n%s", c.pre, c.text, diff)
		}
		for range cut.Words(c.text) {
			break // must be allowed
		}
	}
	if _, err := NewCutter("nonsense"); err == nil || !strings.Contains(err.Error(), "gpt-2") {
		t.Errorf("the error of an unknown name is %v; it must list the known ones", err)
	}
}

func TestSpellBytes(t *testing.T) {
	if got, want := SpellBytes(" a\n\xff"), "ĠaĊÿ"; got != want {
		t.Errorf("the bytes are spelt %q, want %q", got, want)
	}
}
