package review

import "github.com/luthier-dev/luthier/sandbox/internal/tree"

// Write is a change of one file that a program of the host is about to make.
type Write struct {
	Path          string // relative to the workspace, with forward slashes
	Before, After []byte // nil if the file does not exist then, or if its content is not known
	Unknown       bool   // the new content is not known
}

// Change reviews a change of one file in place: it reports whether something on the host later
// obeys or executes the file, whatever the severity at an export.
func Change(w Write, places Places) []Finding {
	var paths Paths
	var out []Finding
	add := func(f Finding) {
		f.Path, f.Why = w.Path, shortened(f.Why)
		out = append(out, f)
	}
	if looksLikeGit(tree.BaseName(w.Path)) || paths.InGit(w.Path) {
		add(Finding{Rule: RuleGitState, Severity: Refuse, Why: "is a file of a git directory"})
	}
	for _, u := range places.Uses(w.Path, nil) {
		add(Finding{Rule: u.Rule, Severity: Refuse, Why: u.Why})
	}
	for _, as := range append(places.As(w.Path), w.Path) {
		if look := paths.look(as); look != nil {
			for _, f := range contentOf(w, look, tree.BaseName(as)) {
				add(f)
			}
			continue
		}
		if k := paths.known(as); k != nil && !k.quiet() {
			add(Finding{Rule: k.rule, Severity: k.severity, Why: k.why})
		}
	}
	return out
}

// contentOf reviews a change of a file of which only some contents matter.
func contentOf(w Write, look look, base string) []Finding {
	if w.Unknown {
		return []Finding{{Rule: RuleInstall, Severity: Notice, Why: "the new content is not known, and programs obey some contents of a " + base}}
	}
	out := look(w.Before, w.After)
	if fold(base) == "package.json" {
		out = append(out, packageScripts(w.Before, w.After)...)
	}
	return out
}

// Walled reports whether a path, at the top of a workspace in place, is one that no command of a
// sandbox needs to write. Of a directory it means everything below it.
func (p *Paths) Walled(rel string, dir bool) bool {
	if dir {
		if a := p.about(rel); a.known > 0 {
			k := &knownPaths[a.known-1]
			return !k.quiet() && !k.written()
		}
		return false
	}
	switch fold(tree.BaseName(rel)) {
	case ".gitmodules", ".gitattributes":
		return true
	}
	k := p.known(rel)
	return k != nil && !k.quiet() && !k.written()
}

// Named reports whether the table, or a rule about contents, knows a path by its name.
func (p *Paths) Named(rel string) bool { return p.known(rel) != nil || p.look(rel) != nil }

// Leads reports whether a directory may hold something that is walled.
func (p *Paths) Leads(dir string) bool { return p.leads(dir) != nil }

// Patterns returns the patterns of the table.
func Patterns() []string {
	var out []string
	for i := range knownPaths {
		pattern, _ := knownPaths[i].whole()
		out = append(out, pattern)
	}
	return out
}

// written reports whether programs that commands run write the path by themselves: package managers
// and builds keep state there.
func (k *known) written() bool {
	switch k.pattern {
	case ".yarn/**", ".bundle/**", ".vs/**", ".settings/**", ".nuget/**", ".jupyter/**", ".ipython/**", ".env", ".env.local", "*.pth",
		"*.desktop", "desktop.ini", "gradle/wrapper/**", "setup.py", "build.rs", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", ".pdbrc", ".dagger/**":
		return true
	}
	return false
}

// IsGitName reports whether some file system treats a name as .git.
func IsGitName(name string) bool { return looksLikeGit(name) }
