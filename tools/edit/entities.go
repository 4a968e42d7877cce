package edit

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// entityPattern matches a character reference of HTML: named, decimal or hexadecimal.
var entityPattern = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// maxRounds limits how many times a text may have been escaped.
const maxRounds = 3

// markup are the characters that escaping for HTML replaces.
const markup = `<>&"'`

// entities returns the references in a text by what they stand for.
func entities(s string) map[string]string {
	if strings.IndexByte(s, '&') < 0 {
		return nil
	}
	out := map[string]string{}
	for _, m := range entityPattern.FindAllString(s, -1) {
		if c := html.UnescapeString(m); c != m {
			out[c] = m
		}
	}
	return out
}

// decodeEntities replaces the references that stand for one of chars.
func decodeEntities(s string, chars map[string]string) string {
	return entityPattern.ReplaceAllStringFunc(s, func(m string) string {
		if c := html.UnescapeString(m); chars[c] != "" {
			return c
		}
		return m
	})
}

// hasRaw reports whether a text has a character as itself, outside references.
func hasRaw(s, char string) bool {
	return strings.Contains(entityPattern.ReplaceAllString(s, ""), char)
}

// unescapedRound is both texts of an edit with one round of escaping for HTML undone.
type unescapedRound struct {
	old   string
	new   string            // if this is the last round
	next  string            // the new text for a further round: only what old has is undone
	chars map[string]string // what was undone in old
	sure  bool              // the new text is either escaped like the old one or not at all
}

// unescapeRound undoes one round of escaping. The new text is taken as escaped like the old one if
// it has references and none of the characters as themselves, and as plain if it has no references.
func unescapeRound(old, new string) unescapedRound {
	u := unescapedRound{old: old, new: new, next: new, chars: entities(old), sure: true}
	if len(u.chars) == 0 {
		return u
	}
	u.old = decodeEntities(old, u.chars)
	found := entities(new)
	if len(found) == 0 {
		return u
	}
	escapes := map[string]string{}
	for c, m := range found {
		switch {
		case hasRaw(new, c) || hasRaw(old, c): // this character is not always escaped
			u.sure = false
		case u.chars[c] != "" || len(c) == 1 && strings.Contains(markup, c):
			escapes[c] = m
		case u.chars["&"] != "":
			u.sure = false // escaping would have replaced its &
		}
	}
	for c := range u.chars {
		u.sure = u.sure && !hasRaw(new, c)
	}
	u.new, u.next = decodeEntities(new, escapes), decodeEntities(new, u.chars)
	return u
}

// further reports whether the new text can have been escaped once more than this round says, like
// the old text: it changed, or has no references.
func (u *unescapedRound) further(new string) bool { return u.next != new || len(entities(new)) == 0 }

// unescapedHTML tries the old text with its HTML entities undone.
func (t *target) unescapedHTML(r Replacement) (*found, error) {
	sure := true
	for range maxRounds {
		u := unescapeRound(r.Old, r.New)
		if len(u.chars) == 0 {
			return nil, nil
		}
		f, err := t.plain(Replacement{Old: u.old, New: u.new, All: r.All})
		if err != nil {
			return nil, err
		}
		if f == nil {
			sure = sure && u.further(r.New)
			r.Old, r.New = u.old, u.next
			continue
		}
		if why := t.entityDoubt(u.chars, sure && u.sure); why != "" {
			return nil, refuse(OverEscaped, "the old text matches once its HTML entities are undone, but "+why, plainAdvice)
		}
		f.strategy = "unescaped+" + f.strategy
		f.notes = append(f.notes, entityNote(u.chars))
		return f, nil
	}
	return nil, nil
}

const plainAdvice = "Send both texts with the plain characters, exactly as they should be in the file"

func entityNote(chars map[string]string) string {
	return fmt.Sprintf("the HTML entities of the edit (such as %s) were undone, since the file has the plain characters; send those next time", anyOf(chars))
}

// anyOf returns the first reference in order, as an example.
func anyOf(chars map[string]string) string {
	best := ""
	for _, m := range chars {
		if best == "" || m < best {
			best = m
		}
	}
	return best
}

// entityDoubt says why an edit cannot be made with its entities undone, or "".
func (t *target) entityDoubt(chars map[string]string, sure bool) string {
	if !sure {
		return "the new text has entities and plain characters"
	}
	in := entities(t.lf)
	for c := range chars {
		if in[c] != "" {
			return "the file has entities too (" + in[c] + ")"
		}
	}
	return ""
}

// escapedNew refuses a new text that looks escaped for HTML while the old text does not: it has
// references to markup, none of that markup as itself, and the file has no such references. An edit
// that only replaces characters by their references is meant so. added is the part of the new text
// that is not context.
func (t *target) escapedNew(old, new, added string) *Error {
	found := entities(added)
	for c, m := range found {
		if !strings.HasPrefix(m, "&#") && (len(c) != 1 || !strings.Contains(markup, c)) || strings.Contains(old, m) {
			delete(found, c)
		}
	}
	if len(found) == 0 || hasRaw(added, "<") || hasRaw(added, ">") || hasRaw(added, "&") {
		return nil
	}
	for c := range entities(old) {
		if len(c) == 1 && strings.Contains(markup, c) {
			return nil // the old text is of a file with entities
		}
	}
	in := entities(t.lf)
	for c := range found {
		if hasRaw(added, c) || in[c] != "" {
			return nil
		}
	}
	for plain, i := new, 0; i < maxRounds; i++ {
		if plain = decodeEntities(plain, entities(plain)); plain == old {
			return nil
		}
	}
	return refuse(OverEscaped, fmt.Sprintf("the new text has HTML entities (such as %s), which the file has nowhere", anyOf(found)),
		"Send the new text with the plain characters. If the entities are meant, write the plain characters first and replace them in an edit that does nothing else")
}

// htmlEscaped reports whether an old text that is nowhere in the file has HTML entities that the
// file does not have.
func (t *target) htmlEscaped(old string) bool {
	chars := entities(old)
	in := entities(t.lf)
	for c := range chars {
		if in[c] == "" && strings.Contains(t.lf, c) {
			return true
		}
	}
	return false
}
