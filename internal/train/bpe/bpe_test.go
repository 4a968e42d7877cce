package bpe

import (
	"slices"
	"strings"
	"testing"
)

func TestTrainQuick(t *testing.T) {
	v, err := Train(slices.Values([]string{strings.Repeat("if x != nil { return x }\n", 100)}), 270, []string{"<|im_end|>", "<tool_call>"}, "42")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(v.Tokens[256:], v.Merges)
}
