package edit

import (
	"path"
	"strings"
)

// wrapper is the shell command around a patch: models put here what they would type to apply it.
// Directories that it changes to count; a command that does anything else is refused, since only
// the patch is applied.
type wrapper struct {
	dir    string // where the paths of the patch begin
	end    string // the word that ends the here-document
	tabs   bool   // <<-: tabs before the lines of the here-document are removed
	quote  byte   // the quote around the patch, if it is inside one
	failed string // the part that is not understood
}

// maxDir is the longest directory that a system opens, in bytes.
const maxDir = 4096

// parseWrapper parses the lines before the patch.
func parseWrapper(lines []string) wrapper {
	w := &wrapper{}
	var text []string
	for _, l := range lines {
		if t := strings.TrimSpace(l); t == "" || strings.HasPrefix(t, "```") || strings.HasPrefix(t, "#") {
			continue
		}
		text = append(text, l)
	}
	w.parse(strings.ReplaceAll(strings.Join(text, lf), "\\\n", " "))
	return *w
}

// parse reads the commands of a text. The last one must be apply_patch, and the text ends where the
// patch begins.
func (w *wrapper) parse(text string) {
	words, rest, ok := shellWords(text)
	if !ok {
		w.failed = text
		return
	}
	switch {
	case len(words) == 0 && rest == "":
		return
	case w.command(words, rest):
	case w.failed == "":
		w.failed = text
	}
}

// command runs through the words of the commands up to the patch. rest is an open quote and what
// follows it, if the words end with one.
func (w *wrapper) command(words []shellWord, rest string) bool {
	for len(words) > 0 {
		switch cmd := words[0]; {
		case cmd.is("(", "{"):
			words = words[1:]
		case cmd.is(";", lf, "&&"):
			words = words[1:]
		case cmd.is("cd", "pushd"):
			var ok bool
			if words, ok = w.changeDir(words[1:]); !ok {
				return false
			}
		case cmd.is("set") && len(words) > 1 && strings.HasPrefix(words[1].text, "-"):
			for words = words[1:]; len(words) > 0 && !words[0].op; words = words[1:] {
			}
		case cmd.is("bash", "sh", "zsh", "/bin/bash", "/bin/sh"):
			for words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0].text, "-"); words = words[1:] {
			}
			if len(words) > 0 || rest == "" {
				return false
			}
			w.quote = rest[0]
			w.parse(rest[1:])
			return w.failed == ""
		default:
			return w.applies(words, rest)
		}
	}
	return false
}

// changeDir reads the rest of a cd command: one directory, what is to happen on failure, and the
// operator after it.
func (w *wrapper) changeDir(words []shellWord) ([]shellWord, bool) {
	for len(words) > 0 && words[0].is("--", "-P", "-L") {
		words = words[1:]
	}
	if len(words) == 0 || words[0].op || words[0].expands || words[0].text == "" || strings.HasPrefix(words[0].text, "-") ||
		strings.HasPrefix(words[0].text, "~") && !words[0].quoted {
		return nil, false
	}
	switch dir := words[0].text; {
	case strings.HasPrefix(dir, "/"):
		w.dir = dir
	default:
		w.dir = path.Join(w.dir, dir)
	}
	if len(w.dir) > maxDir {
		return nil, false
	}
	words = words[1:]
	for len(words) > 1 && words[0].is(">", "2>", "&>", "2>&1") {
		if words[0].text != "2>&1" {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) > 2 && words[0].is("||") && words[1].is("exit", "return") {
		words = words[2:]
		for len(words) > 0 && !words[0].op {
			words = words[1:]
		}
	}
	if len(words) == 0 || !words[0].is("&&", ";", lf) {
		return nil, false
	}
	return words[1:], true
}

// applies reads the command that applies the patch: apply_patch with a here-document, with a quoted
// argument, or after a cat of a here-document.
func (w *wrapper) applies(words []shellWord, rest string) bool {
	if words[0].is("env") {
		words = words[1:]
	}
	for len(words) > 0 && words[0].assigns() {
		words = words[1:]
	}
	name := len(words) > 0 && words[0].is("apply_patch", "applypatch")
	if cat := len(words) > 0 && words[0].is("cat"); name || cat {
		words = words[1:]
		for i, x := range words {
			if cat && x.is("|") && len(words) == i+2 && words[i+1].is("apply_patch", "applypatch") {
				words, name = words[:i], true
			}
		}
	}
	switch {
	case len(words) == 0 && rest != "" && name: // apply_patch "PATCH" or apply_patch "$(cat <<EOF PATCH EOF)"
		if doc, ok := strings.CutPrefix(rest, `"$(cat `); ok {
			words, rest, ok = shellWords(doc)
			if !ok || rest != "" {
				return false
			}
			break
		}
		w.quote = rest[0]
		return strings.TrimSpace(rest[1:]) == ""
	case rest != "":
		return false
	}
	if len(words) != 2 || !words[0].is("<<", "<<-") || words[1].op {
		return false
	}
	w.end, w.tabs = words[1].text, words[0].text == "<<-"
	return true
}

// under puts the directory before a path of the patch.
func (w *wrapper) under(name string) string {
	if w.dir == "" || w.dir == "." || name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return w.dir + "/" + name
}

// ends reports whether a line after the patch only closes what the lines before it opened.
func (w *wrapper) ends(l string) bool {
	l = strings.TrimSpace(l)
	switch {
	case l == "" || strings.HasPrefix(l, "```") || l == "EOF" || l == "PATCH" || l == "popd" || w.end != "" && l == w.end:
		return true
	}
	return strings.Trim(strings.TrimPrefix(l, w.end), `'"()}; `) == ""
}

// body returns the lines of the patch as the shell would pass them; ok is false if the quotes
// around them make that unclear.
func (w *wrapper) body(lines []string) ([]string, bool) {
	if w.tabs {
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
	}
	for _, l := range lines {
		if w.quote == '\'' && strings.Contains(l, "'") || w.quote == '"' && strings.ContainsAny(l, "\"$`\\") {
			return nil, false
		}
	}
	return lines, true
}
