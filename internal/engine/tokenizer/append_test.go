package tokenizer

import "testing"

// TestAppendGoesOn checks that if a text is appended in two halves, no space is put before the
// second half.
func TestAppendGoesOn(t *testing.T) {
	tok := mustNew(t, tinyChars())
	ids := tok.Append(tok.Encode("hel", false), "lo", false)
	if got := tok.Decode(ids); got != "hello" {
		t.Errorf("the halves make %q", got)
	}
}
