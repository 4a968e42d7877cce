package charset

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MissingError reports a character that the encoding of a file does not have.
type MissingError struct {
	Rune rune
	Line int    // of the new text, from 1
	Name string // of the encoding
	Sure bool   // false if the encoding of the file is a guess
}

// Error says what to do.
func (e *MissingError) Error() string {
	what := fmt.Sprintf("%q (U+%04X, line %d of the new text)", e.Rune, e.Rune, e.Line)
	switch {
	case e.Rune == utf8.RuneError:
		return fmt.Sprintf("%s stands for bytes that are not valid %s, and cannot be written; leave those lines alone: use edit on the lines that have to change", what, e.Name)
	case !e.Sure:
		return fmt.Sprintf("the encoding of the file is not certain (perhaps %s), so %s cannot be written; use ASCII, an escape of the language, or characters that the file has already, or convert the file to UTF-8 first (iconv -f ENCODING -t UTF-8)", e.Name, what)
	}
	return fmt.Sprintf("the file is %s, which does not have %s; use ASCII or an escape of the language, or convert the whole file first (iconv -f %s -t UTF-8)", e.Name, what, e.Name)
}

// Encode returns s as a file in the encoding of t. What s has in common with the text of t keeps
// its bytes. If a character cannot be written, the error is a [*MissingError].
func (t Text) Encode(s string) ([]byte, error) {
	if t.codec == nil {
		t.codec, t.Sure = utf8Codec, true
	}
	if t.raw != nil || t.codec != utf8Codec {
		s = strings.ToValidUTF8(s, broken)
	}
	w := writer{t: &t, d: newDecoder(t.codec), line: 1}
	w.b.Grow(len(s) + 4)
	w.b.WriteString(t.mark())
	var err error
	if t.raw == nil {
		err = w.add(s)
	} else {
		err = w.merge(s)
	}
	if err != nil {
		return nil, err
	}
	return []byte(w.b.String()), nil
}

// A writer encodes one text.
type writer struct {
	t    *Text
	d    *decoder
	b    strings.Builder
	line int
	old  map[rune]bool // the characters of the old text, made when needed
}

// add encodes a new piece of text.
func (w *writer) add(s string) error {
	if w.t.codec == utf8Codec && !w.t.Broken && w.t.Sure {
		w.b.WriteString(s)
		return nil
	}
	for i, r := range s {
		if r == '\n' {
			w.line++
		}
		bytes, ok := w.d.encode(r)
		if ok && (r < utf8.RuneSelf || w.allowed(r)) {
			if next, n := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):]); n > 1 && unicode.Is(unicode.Mn, next) {
				if joined, ok := w.joined(r, next); ok {
					w.b.WriteString(joined)
					continue
				}
			}
			w.b.WriteString(bytes)
			continue
		}
		if unicode.Is(unicode.Mn, r) && i > 0 {
			if prev, _ := utf8.DecodeLastRuneInString(s[:i]); w.took(prev, r) {
				continue
			}
		}
		return &MissingError{Rune: r, Line: w.line, Name: w.t.codec.name, Sure: w.t.Sure}
	}
	return nil
}

// joined returns the bytes of the character that base and mark form, if the encoding has that
// character but not the mark.
func (w *writer) joined(base, mark rune) (string, bool) {
	if _, has := w.d.encode(mark); has {
		return "", false
	}
	r, ok := compose(base, mark)
	if !ok || !w.allowed(r) {
		return "", false
	}
	return w.d.encode(r)
}

// took reports whether mark was written together with the character before it.
func (w *writer) took(base, mark rune) bool {
	_, ok := w.joined(base, mark)
	return ok
}

// allowed reports whether r, which the encoding has, may be written: a file whose encoding is a
// guess takes only characters that it has already, and U+FFFD stands for broken bytes.
func (w *writer) allowed(r rune) bool {
	if r == utf8.RuneError && w.t.Broken {
		return false
	}
	if w.t.Sure {
		return true
	}
	if w.old == nil {
		w.old = map[rune]bool{}
		for _, r := range w.t.String {
			w.old[r] = true
		}
	}
	return w.old[r]
}

// merge encodes s and takes the bytes of what is unchanged from the old file.
func (w *writer) merge(s string) error {
	c := cursor{d: w.d, raw: w.t.raw}
	at := 0 // in the old text
	for _, e := range changes(w.t.String, s) {
		keep := c.take(e.start - at)
		w.keep(keep, w.t.String[at:e.start])
		c.take(e.end - e.start)
		at = e.end
		if err := w.add(e.text); err != nil {
			return err
		}
	}
	w.b.Write(c.take(len(w.t.String) - at))
	return nil
}

func (w *writer) keep(raw []byte, text string) {
	w.b.Write(raw)
	w.line += strings.Count(text, "\n")
}

// A cursor walks through a file and its text together.
type cursor struct {
	d   *decoder
	raw []byte // the rest of the file
}

// take returns the bytes of the next n bytes of text, which end between two characters.
func (c *cursor) take(n int) []byte {
	end := 0
	for n > 0 && end < len(c.raw) {
		unit := c.raw[end : end+c.d.c.step(c.raw[end:])]
		n -= len(c.d.one(unit))
		end += len(unit)
	}
	out := c.raw[:end]
	c.raw = c.raw[end:]
	return out
}
