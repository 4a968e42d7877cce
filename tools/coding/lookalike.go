package coding

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// Two names look alike if they differ only in how a letter is composed, in the form of quotation
// marks, dashes and blanks, in characters that cannot be seen, or in case. A model cannot tell such
// names apart in a listing, and would make a second file in place of the one that it means.

// sameLooks lists characters that look like one of ASCII.
var sameLooks = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "′", "'", "ʼ", "'", "ʹ", "'", "´", "'", "`", "'", "＇", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`, "«", `"`, "»", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-", "﹘", "-", "﹣", "-", "－", "-", "ー", "-",
	"…", "...", "×", "x", "⁄", "/", "∕", "/", "ı", "i",
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ј", "j", "ѕ", "s",
	"ο", "o", "ν", "v", "α", "a", "ι", "i", "ρ", "p", "χ", "x", "υ", "u",
)

// looks returns a form of a name that is the same for all names that look like it.
func looks(name string) string {
	ascii := strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	if !ascii {
		name = norm.NFKC.String(strings.Map(visible, name))
	}
	name = strings.ToLower(strings.ToUpper(name))
	if !ascii {
		name = norm.NFC.String(sameLooks.Replace(name))
	}
	return strings.Join(strings.Fields(name), " ")
}

// visible drops the characters that take no room.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// lookalike returns the entry of a directory that looks like name and is another one, and reports
// whether only upper and lower case tell them apart.
func (w opened) lookalike(dir, name string) (found string, onlyCase, ok bool) {
	entries, err := w.readDir(dir)
	if err != nil {
		return "", false, false
	}
	want := looks(name)
	for _, e := range entries {
		if e.Name() != name && looks(e.Name()) == want {
			return e.Name(), strings.EqualFold(e.Name(), name), true
		}
	}
	return "", false, false
}

// firstMissing splits a path of a file that does not exist into the directory that does and the
// name that is missing in it.
func (w opened) firstMissing(rel string) (dir, name string) {
	for dir, name = path.Dir(rel), path.Base(rel); dir != "."; dir, name = path.Dir(dir), path.Base(dir) {
		if _, err := w.root.Lstat(dir); err == nil {
			break
		}
	}
	return dir, name
}

// checkLooks refuses to make a file or a directory that looks like another one. anyCase allows
// names that differ in case.
func (w opened) checkLooks(t target, anyCase bool) error {
	if t.info != nil || w.folds {
		return nil
	}
	dir, name := w.firstMissing(t.rel)
	other, onlyCase, found := w.lookalike(dir, name)
	switch {
	case !found || onlyCase && anyCase:
		return nil
	case onlyCase:
		return fmt.Errorf("%s would be a second name like %s, in other case; use that path, or another name (write makes both if overwrite is set)", show.Path(t.rel), show.Path(path.Join(dir, other)))
	}
	return fmt.Errorf("%s looks the same as %s, which exists: the path in JSON is %s; use that path, or a name that differs clearly", show.Path(t.rel), show.Path(path.Join(dir, other)), escaped(path.Join(dir, other)))
}

// escaped returns a path as a JSON string in ASCII, so that characters that look alike differ.
func escaped(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range p {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
