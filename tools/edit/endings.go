package edit

import "strings"

// onlyCR reports whether the lines of a text end with a carriage return alone, as on old Macs.
func onlyCR(s string) bool {
	return strings.IndexByte(s, '\r') >= 0 && strings.IndexByte(s, '\n') < 0
}

// crToLF turns all three kinds of line endings into LF.
func crToLF(s string) string { return strings.ReplaceAll(toLF(s), "\r", lf) }

// withCR turns LF line endings into carriage returns.
func withCR(s string) string { return strings.ReplaceAll(s, lf, "\r") }

// replaceCR is Replace for a body whose lines end with carriage returns.
func replaceCR(mark, body string, r Replacement) (Result, error) {
	r.Old, r.New, r.Base = crToLF(r.Old), crToLF(r.New), crToLF(r.Base)
	res, err := Replace(mark+crToLF(body), r)
	res.Content = withCR(res.Content)
	return res, err
}

// sameEndings writes the texts of a replacement with the line endings of the body, unless it is the
// purpose of the edit to change line endings. Carriage returns that are no line endings must be in
// the file too: otherwise they are the half of a line ending, or nobody can say what they are.
func sameEndings(body string, r Replacement) (Replacement, error) {
	if strings.IndexByte(r.Old, '\r') < 0 && strings.IndexByte(r.New, '\r') < 0 || toLF(r.Old) == toLF(r.New) {
		return r, nil
	}
	if strings.Contains(toLF(body), "\r") {
		if !strings.Contains(body, crlf) && strings.IndexByte(r.Old, '\r') < 0 {
			r.New = toLF(r.New)
		}
		return r, nil
	}
	old, new, ok := lfOnly(toLF(r.Old), toLF(r.New))
	if !ok {
		return r, refuse(Ambiguous, "a text of the edit has carriage returns that are no line endings, which the file has nowhere", `End the lines of both texts with \n alone`)
	}
	if !strings.Contains(body, lf) && strings.IndexByte(r.Old, '\r') < 0 {
		new = r.New // the file has no line ending that the new ones could follow
	}
	r.Old, r.New = old, new
	return r, nil
}

// lfOnly turns the lone carriage returns of both texts of an edit into line endings, if it is clear
// that they are: a text has several and no other line endings, or both texts end with one.
func lfOnly(old, new string) (o, n string, ok bool) {
	if strings.Count(old, "\r") > 1 && onlyCR(old) || onlyCR(new) && strings.IndexByte(old, '\r') >= 0 && strings.Count(new, "\r") > 1 {
		if old = crToLF(old); strings.IndexByte(new, '\n') < 0 {
			new = crToLF(new)
		}
	}
	if strings.Count(new, "\r") > 1 && onlyCR(new) {
		new = crToLF(new)
	}
	if strings.HasSuffix(old, "\r") && strings.HasSuffix(new, "\r") {
		old, new = endLF(old), endLF(new)
	}
	return old, new, strings.IndexByte(old, '\r') < 0 && strings.IndexByte(new, '\r') < 0
}

// endLF turns a carriage return at the end of a text into a line ending.
func endLF(s string) string {
	if t, ok := strings.CutSuffix(s, "\r"); ok {
		return t + lf
	}
	return s
}
