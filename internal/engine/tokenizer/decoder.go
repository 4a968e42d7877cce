package tokenizer

import "unicode/utf8"

// A Decoder turns tokens into text as they come. A character may be spread over several tokens; its
// bytes are held back until it is whole, so that every string a Decoder returns is valid UTF-8.
// Bytes that can never become a character are replaced by U+FFFD. The zero value is of no use; see
// Tokenizer.NewDecoder.
type Decoder struct {
	tokenizer *Tokenizer
	held      []byte
}

// NewDecoder makes a Decoder. Unlike Decode it keeps the space that starts a first ▁word, because
// what it decodes is usually the continuation of a text.
func (t *Tokenizer) NewDecoder() *Decoder { return &Decoder{tokenizer: t} }

// Write takes a token and returns the text that is now whole, which may be empty.
func (d *Decoder) Write(id int32) string {
	d.held = d.tokenizer.AppendPiece(d.held, id)
	return d.take(false)
}

// Flush returns what is held back, U+FFFD for a character that never became whole, and makes the
// Decoder ready for another text.
func (d *Decoder) Flush() string { return d.take(true) }

// take returns the held bytes up to the first character that more bytes could complete.
func (d *Decoder) take(all bool) string {
	end := 0
	valid := true
	for end < len(d.held) && (all || utf8.FullRune(d.held[end:])) {
		r, n := utf8.DecodeRune(d.held[end:])
		valid = valid && (r != utf8.RuneError || n > 1)
		end += n
	}
	text := string(d.held[:end])
	if !valid {
		text = string([]rune(text)) // each byte that is no UTF-8 becomes U+FFFD
	}
	d.held = append(d.held[:0], d.held[end:]...)
	return text
}
