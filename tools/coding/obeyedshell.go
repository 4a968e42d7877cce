package coding

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// markShell adds to the effects of a command line that it writes a file which something later obeys
// or executes, where its text shows that.
func (w opened) markShell(e agent.Effects, in shellIn) agent.Effects {
	if w.cfg.Reviewed || e.IsReadOnly() {
		return e
	}
	command := in.Command
	if !e.Known {
		e = w.markOpaque(e, in)
	}
	var changes []fileChange
	for _, p := range e.Writes {
		rel, err := w.relative(p)
		if err != nil || cleanRel(rel) == "." || len(changes) > maxWords {
			continue
		}
		// The path may be a directory that receives a file.
		for _, target := range []string{p, p + "/file"} {
			changes = append(changes, fileChange{path: target, unknown: suspect(command, p)})
		}
	}
	return becauseObeyed(e, w.obeyed(changes...))
}

// maxWords is the most words of a command that are looked at.
const maxWords = 500

// suspicious matches what a command has in its text if it writes those contents of a manifest that
// programs obey: scripts, other tool chains, other places of packages.
var suspicious = regexp.MustCompile(`(?i)://|script|install|prepare|prepublish|prepack|husky|hook|replace|toolchain|=>|backend|backend-path|cmdclass|index-url|find-links|\bbuild\b|\bfilter\b|` +
	`[a-z0-9-]\.(?:com|net|org|io|dev|example|test|app|xyz|sh|co|me|ru|cn|info|site|online|top|cloud|ai|page|link|live|cc|tk|invalid)\b`)

// suspect reports whether a command that writes the file p may write such contents.
func suspect(command, p string) bool {
	return suspicious.MatchString(strings.ReplaceAll(command, path.Base(filepath.ToSlash(p)), ""))
}

// settles matches commands that change settings or manifests of package managers in place.
var settles = regexp.MustCompile(`\b(?:npm|pnpm|yarn)\s+(?:pkg\s+set\s.*(?:scripts|husky|lint-staged|hooks)|set-script|config\s+set|set)\b|\bgo\s+(?:mod|work)\s+edit\s.*-(?:replace|toolchain)|` +
	`\b(?:bundle|poetry|composer|pip3?|conda|gem)\s+(?:config|source\s+add|sources)\b|\bhusky\s+(?:install|init|add|set)\b|\blefthook\s+install\b|\bdirenv\s+allow\b`)

// inPlace matches programs that edit the files they are given.
var inPlace = regexp.MustCompile(`\b(?:sed|perl|ruby|awk|gawk)\s(?:[^|;&]*\s)?-\w*i|--in-place|inplace`)

// markOpaque marks a command whose effects are not known if its text shows that it writes what is
// obeyed. What exists already is protected by the walls of the sandbox, so its name alone, which
// the command may only read, is no sign.
func (w opened) markOpaque(e agent.Effects, in shellIn) agent.Effects {
	if m := settles.FindString(in.Command); m != "" {
		e = becauseObeyed(e, []string{"it changes what a package or hook manager obeys: " + show.Line(m, 100)})
	}
	edits := inPlace.MatchString(in.Command)
	seen := map[string]bool{}
	var changes []fileChange
	for _, word := range strings.FieldsFunc(in.Command, isBetweenWords) {
		rel, err := w.relative(word)
		if err != nil || strings.HasPrefix(word, "-") || seen[word] || len(seen) == maxWords {
			continue
		}
		seen[word] = true
		if !filepath.IsAbs(word) && in.Dir != "" {
			rel = path.Join(filepath.ToSlash(in.Dir), rel)
		}
		rel = cleanRel(rel)
		_, err = w.root.Lstat(rel)
		switch {
		case err == nil && edits:
			changes = append(changes, fileChange{path: rel, unknown: suspect(in.Command, rel)})
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, fileChange{path: rel})
		}
	}
	return becauseObeyed(e, w.obeyed(changes...))
}

func isBetweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>'\"`=,{}[]", r) }

// cleanRel cleans a path relative to the workspace.
func cleanRel(rel string) string { return path.Clean(filepath.ToSlash(rel)) }
