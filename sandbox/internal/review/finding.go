// Package review checks changes for what the host would execute later, and for what may mislead it:
// files of git, settings of editors and agents, links, names.
package review

import "fmt"

// Severity decides what Export does with a finding.
type Severity int

// The severities.
const (
	// Notice is worth a look; Export goes on.
	Notice Severity = iota + 1
	// Refuse stops Export unless the host allows the finding.
	Refuse
)

// String returns "notice" or "refuse".
func (s Severity) String() string {
	switch s {
	case Notice:
		return "notice"
	case Refuse:
		return "refuse"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a severity's name. A name that it does not know is Refuse.
func (s *Severity) UnmarshalText(text []byte) error {
	if *s = Refuse; string(text) == Notice.String() {
		*s = Notice
	}
	return nil
}

// Rule identifies the kind of a finding.
type Rule string

// The rules of a review.
const (
	RuleGitHook       Rule = "git-hook"       // a program that git runs by itself
	RuleGitConfig     Rule = "git-config"     // a setting that makes git run programs or look elsewhere
	RuleGitState      Rule = "git-state"      // other files of a git directory
	RuleGitLink       Rule = "git-link"       // a .git that leads to another directory
	RuleGitBare       Rule = "git-bare"       // a directory that git treats as a repository
	RuleGitAttributes Rule = "git-attributes" // files that git processes by running programs
	RuleGitModules    Rule = "git-modules"    // the sources of submodules
	RuleGitDisguise   Rule = "git-disguise"   // a name that some systems treat as .git
	RuleEditor        Rule = "editor"         // settings that make editors run programs
	RuleAgent         Rule = "agent"          // settings and instructions of coding agents
	RuleShell         Rule = "shell-startup"  // files that shells run when they start or enter a directory
	RuleUser          Rule = "user-config"    // files that belong in a home directory
	RuleInstall       Rule = "install-script" // scripts that package managers run
	RuleContinuous    Rule = "ci"             // configuration that a CI service runs
	RuleSetID         Rule = "setuid"         // setuid or setgid bits
	RuleSpecial       Rule = "special-file"   // device, pipe or socket
	RuleLinkEscape    Rule = "symlink-escape" // a symbolic link that leaves the tree
	RuleLinkGit       Rule = "symlink-git"    // a symbolic link into a git directory
	RuleHardLink      Rule = "hard-link"      // a file with several names
	RuleNameCollision Rule = "name-collision" // names that are the same on other systems
	RuleNameOdd       Rule = "name-odd"       // names that mislead or are not allowed on other systems
	RuleUnreadable    Rule = "unreadable"     // paths that could not be examined
	RuleLarge         Rule = "large-file"     // a file of more than 4 GiB, even if it is sparse
)

// Finding is one thing in the changes that the host may execute later, or that may mislead it.
type Finding struct {
	Path     string   `json:"path"` // relative to the workspace, with forward slashes
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	Why      string   `json:"why"`
}

// String returns one line for people, safe to print whatever the path contains.
func (f Finding) String() string {
	return fmt.Sprintf("%v: %q: %s: %s", f.Severity, f.Path, f.Rule, f.Why)
}
