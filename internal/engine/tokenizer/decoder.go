package tokenizer

import "unicode/utf8"

// A Decoder turns a stream of tokens into text. A character may be spread over several tokens; its
// bytes are held back until it is complete, so that every string a Decoder returns is valid UTF-8.
// Bytes that can never become a character are replaced by U+FFFD. The zero value is not usable; see
// Tokenizer.NewDecoder.
type Decoder struct {
	tokenizer *Tokenizer
	held      []byte
}

// NewDecoder returns a Decoder. Unlike Decode, it keeps the space at the start of a first ▁word,
// because it usually decodes the continuation of a text.
func (t *Tokenizer) NewDecoder() *Decoder { return &Decoder{tokenizer: t} }

// Write adds a token and returns the text that is now complete, which may be empty.
func (d *Decoder) Write(id int32) string {
	d.held = d.tokenizer.AppendPiece(d.held, id)
	return d.take(false)
}

// Flush returns the text held back, with U+FFFD for a character that was never completed, and
// resets the Decoder for another text.
func (d *Decoder) Flush() string { return d.take(true) }

// take returns the held bytes up to the first incomplete character that more bytes could complete.
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
		text = string([]rune(text)) // each byte that is not UTF-8 becomes U+FFFD
	}
	d.held = append(d.held[:0], d.held[end:]...)
	return text
}
