package review

import (
	"context"
	"io/fs"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// fold maps names to the same text if some common file system treats them as equal: it folds case,
// composed letters, the code points that HFS+ ignores, and the trailing dots and spaces that
// Windows drops.
func fold(name string) string {
	if isPlainASCII(name) {
		return strings.TrimRight(strings.ToLower(name), ". ")
	}
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
	return strings.TrimRight(norm.NFD.String(cases.Fold().String(norm.NFC.String(name))), ". ")
}

// FoldPath folds the names of a path.
func FoldPath(rel string) string {
	parts := strings.Split(rel, "/")
	for i, name := range parts {
		parts[i] = fold(name)
	}
	return strings.Join(parts, "/")
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ignoredByHFS reports whether HFS+ ignores a code point when it compares names (Apple's Technical
// Note TN1150).
func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// names yields what a name in a path means on the file systems that are most generous: the parts
// between backslashes, without NTFS streams, folded.
func names(base string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(base, `\`) {
			if before, _, ok := strings.Cut(part, ":"); ok && before != "" {
				part = before
			}
			if !yield(fold(part)) {
				return
			}
		}
	}
}

// mayBeShort reports whether a folded name has the form of a short name on NTFS.
func mayBeShort(name string) bool {
	head, number, ok := strings.Cut(name, "~")
	number, _, _ = strings.Cut(number, ".")
	return ok && head != "" && len(name) <= 12 && number != "" && strings.Trim(number, "0123456789") == ""
}

// shortParts returns what NTFS takes a short name from: the letters of a name, and the first three
// of its extension with the dot.
func shortParts(name string) (stem, ext string) {
	stem = strings.TrimLeft(name, ".")
	if i := strings.LastIndexByte(stem, '.'); i >= 0 {
		stem, ext = stem[:i], "."+stem[i+1:min(len(stem), i+4)]
	}
	return strings.NewReplacer(".", "", " ", "", "+", "_").Replace(stem), ext
}

// isShortOf reports whether a folded name is the short form that NTFS gives to a pattern's name:
// its first letters, a tilde and a number, and three letters of its extension.
func isShortOf(name, pattern string) bool {
	if !mayBeShort(name) || strings.ContainsAny(pattern, "*?[") {
		return false
	}
	stem, ext := shortParts(pattern)
	name, ok := strings.CutSuffix(name, ext)
	head, number, cut := strings.Cut(name, "~")
	return ok && cut && head != "" && number != "" && strings.Trim(number, "0123456789") == "" &&
		strings.HasPrefix(stem, head) && (len(head)+len(number) == 7 || len(stem) == len(head))
}

// looksLikeGit reports whether some file system treats a name as .git: NTFS has short names and
// streams after a colon, and treats a backslash as a slash.
func looksLikeGit(name string) bool {
	for _, part := range strings.Split(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		if isShort(part, ".git", "git") {
			return true
		}
	}
	return false
}

// isShort reports whether name, folded, is full or its short form on NTFS.
func isShort(name, full, stem string) bool {
	f := fold(name)
	if f == full {
		return true
	}
	rest, ok := strings.CutPrefix(f, stem+"~")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// name checks how a path is spelled.
func (r *reviewer) name(rel string) {
	base := tree.BaseName(rel)
	if looksLikeGit(base) && base != ".git" {
		r.add(rel, RuleGitDisguise, Refuse, "is .git on some file systems")
	}
	for full, stem := range map[string]string{".gitmodules": "gitmod", ".gitattributes": "gitatt", ".gitignore": "gitign"} {
		part, _, _ := strings.Cut(base, ":")
		if base != full && isShort(part, full, stem) {
			r.add(rel, RuleGitDisguise, Refuse, "is "+full+" on some file systems")
		}
	}
	if !utf8.ValidString(base) {
		r.add(rel, RuleNameOdd, Notice, "is not UTF-8")
	}
	for _, c := range base {
		switch {
		case c < ' ' || c == 0x7f:
			r.add(rel, RuleNameOdd, Notice, "has a control character, which terminals obey")
			return
		case unicode.Is(unicode.Bidi_Control, c) || ignoredByHFS(c) || c == 0x200b || unicode.Is(unicode.Cf, c):
			r.add(rel, RuleNameOdd, Refuse, "has invisible characters, so that it is not what it seems")
			return
		}
	}
	if strings.ContainsAny(base, `\:*?"<>|`) || base != strings.TrimRight(base, ". ") || isDeviceName(base) {
		r.add(rel, RuleNameOdd, Notice, "cannot be a name on Windows, or means something else there")
	}
}

// isDeviceName reports names that Windows reserves for devices, whatever their extension.
func isDeviceName(base string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(base), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '1' && stem[3] <= '9'
}

// collisions finds new names that are equal to a sibling's on other systems: what is written to one
// then ends up in the other.
func (r *reviewer) collisions() error {
	var dirs []*tree.Entry // in an order in which neighbours are close to each other in the tree
	added := map[*tree.Entry][]string{}
	for _, p := range r.c.Pairs {
		if p.Now == nil || p.Was != nil || p.Now.Up == nil {
			continue
		}
		dir := p.Now.Up
		if added[dir] == nil {
			dirs = append(dirs, dir)
		}
		added[dir] = append(added[dir], p.Now.Rel)
	}
	for _, dir := range dirs {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		siblings := r.siblings(dir)
		for _, rel := range added[dir] {
			alike := siblings[fold(tree.BaseName(rel))]
			if alike.names < 2 {
				continue
			}
			s := Notice
			if alike.linked {
				s = Refuse
			}
			r.add(rel, RuleNameCollision, s, "is the same as another name where case or accents do not count")
		}
	}
	return nil
}

// alike holds the names of a directory that are equal on other systems.
type alike struct {
	names  int
	linked bool // one of them is a symbolic link: a file may be written through it
}

func (r *reviewer) siblings(dir *tree.Entry) map[string]alike {
	out := map[string]alike{}
	names, err := r.c.After.Names(dir)
	if err != nil {
		r.add(dir.Rel, RuleUnreadable, Refuse, err.Error())
	}
	for _, n := range names {
		c, err := r.c.After.Child(dir, n)
		if err == nil && c == nil {
			continue
		}
		key := fold(n)
		a := out[key]
		a.names++
		a.linked = a.linked || err != nil || c.Info.Mode()&fs.ModeSymlink != 0
		out[key] = a
	}
	return out
}
