package tokenizer

import "testing"

// TestAppendGoesOn cuts a text in two: behind the first half no space is put before the second.
func TestAppendGoesOn(t *testing.T) {
	tok := mustNew(t, tinyChars())
	ids := tok.Append(tok.Encode("hel", false), "lo", false)
	if got := tok.Decode(ids); got != "hello" {
		t.Errorf("the halves make %q", got)
	}
}
