package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Severity says what Export does with a finding.
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

// Rule names what a finding is about.
type Rule string

// The rules of a review.
const (
	RuleGitHook       Rule = "git-hook"       // a program git runs by itself
	RuleGitConfig     Rule = "git-config"     // a setting by which git runs programs or looks elsewhere
	RuleGitState      Rule = "git-state"      // other files of a git directory
	RuleGitLink       Rule = "git-link"       // a .git that leads to another directory
	RuleGitBare       Rule = "git-bare"       // a directory that git takes for a repository
	RuleGitAttributes Rule = "git-attributes" // files that git passes through programs
	RuleGitModules    Rule = "git-modules"    // where submodules come from
	RuleGitDisguise   Rule = "git-disguise"   // a name that some system takes for .git
	RuleEditor        Rule = "editor"         // settings by which editors run programs
	RuleAgent         Rule = "agent"          // settings and instructions of coding agents
	RuleShell         Rule = "shell-startup"  // what shells run when they start or enter a directory
	RuleUser          Rule = "user-config"    // what belongs in a home directory
	RuleInstall       Rule = "install-script" // what package managers run
	RuleContinuous    Rule = "ci"             // what a build service runs
	RuleSetID         Rule = "setuid"         // setuid or setgid bits
	RuleSpecial       Rule = "special-file"   // device, pipe or socket
	RuleLinkEscape    Rule = "symlink-escape" // a symbolic link that leaves the tree
	RuleLinkGit       Rule = "symlink-git"    // a symbolic link into a git directory
	RuleHardLink      Rule = "hard-link"      // a file with several names
	RuleNameCollision Rule = "name-collision" // names that are one on other systems
	RuleNameOdd       Rule = "name-odd"       // names that mislead or that other systems cannot have
	RuleUnreadable    Rule = "unreadable"     // what could not be looked at
	RuleLarge         Rule = "large-file"     // a file of more than 4 GiB, on the disk or only in name
)

// Finding is one thing in a change that the host may execute later, or that may
// mislead it.
type Finding struct {
	Path     string   `json:"path"` // relative to the workspace, with forward slashes
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	Why      string   `json:"why"`
}

// String is one line for people, safe to print whatever the path holds.
func (f Finding) String() string {
	return fmt.Sprintf("%v: %q: %s: %s", f.Severity, f.Path, f.Rule, f.Why)
}

// Review is what a change holds, and what in it deserves attention.
type Review struct {
	Changes  []Change
	Findings []Finding
}

// Refused are the findings that stop an export unless they are allowed.
func (r *Review) Refused() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Severity == Refuse {
			out = append(out, f)
		}
	}
	return out
}

// Reviewer is implemented by sandboxes that can look through what commands left
// for things that the host would execute later.
type Reviewer interface {
	// Review lists the change since the snapshot with its findings. For a
	// workspace in place it looks through the whole tree and lists the findings
	// about files that were touched since the sandbox was opened, which commands
	// or someone else may have done; there are no Changes then.
	Review(ctx context.Context) (*Review, error)
}

func (l *local) Review(ctx context.Context) (*Review, error) {
	if l.ws.inPlace() {
		r, err := l.reviewInPlace(ctx)
		if err != nil {
			return nil, fmt.Errorf("sandbox: review %s: %w", l.ws.dir, err)
		}
		return r, nil
	}
	return l.ReviewSince(ctx, AtSnapshot)
}

func (l *local) ReviewSince(ctx context.Context, since Point) (*Review, error) {
	c, err := l.compare(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("sandbox: review %s: %w", l.ws.dir, err)
	}
	defer c.Close()
	r, err := reviewOf(ctx, c, l.ws.original())
	if err != nil {
		return nil, fmt.Errorf("sandbox: review %s: %w", l.ws.dir, err)
	}
	return r, nil
}

// original is the workspace's path as the host knows it.
func (ws *workspace) original() string {
	if ws.origin != "" {
		return ws.origin
	}
	return ws.dir
}

// reviewer looks through one change.
type reviewer struct {
	ctx      context.Context
	c        *tree.Comparison
	dir      string // the workspace's path: absolute links below it stay inside
	paths    paths
	steps    int // taken along symbolic links
	looked   map[lookup]*tree.Entry
	findings []Finding
}

func reviewOf(ctx context.Context, c *tree.Comparison, dir string) (*Review, error) {
	r := &reviewer{ctx: ctx, c: c, dir: dir}
	for _, rel := range c.Unreadable {
		r.add(rel, RuleUnreadable, Refuse, "may not be read by the host's user: nobody knows what is in it")
	}
	for _, p := range c.Pairs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if p.Now == nil {
			r.deleted(p)
			continue
		}
		r.present(p)
	}
	if err := r.collisions(); err != nil {
		return nil, err
	}
	r.repositories()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return &Review{Changes: changesOf(c), Findings: slices.Compact(r.findings)}, nil
}

func (r *reviewer) add(path string, rule Rule, s Severity, why string) {
	r.findings = append(r.findings, Finding{path, rule, s, shortened(why)})
}

// maxWhy bounds the text of a finding, which may quote what a command wrote.
const maxWhy = 1000

func shortened(why string) string {
	if len(why) <= maxWhy {
		return why
	}
	return strings.ToValidUTF8(why[:maxWhy], "") + "..."
}

// maxAlike bounds the findings in one file: it may be full of them.
const maxAlike = 100

// addAll adds what was found in one file.
func (r *reviewer) addAll(path string, found []Finding) {
	for i, f := range found {
		if i == maxAlike {
			r.add(path, f.Rule, worst(found[i:]), fmt.Sprintf("and %d more findings in this file", len(found)-i))
			return
		}
		r.add(path, f.Rule, f.Severity, f.Why)
	}
}

func worst(found []Finding) Severity {
	return slices.MaxFunc(found, func(a, b Finding) int { return int(a.Severity - b.Severity) }).Severity
}

// deleted looks at what is gone: only protection can be lost by that.
func (r *reviewer) deleted(p tree.Pair) {
	if g := r.paths.git(p.Was.Rel); g != "" && !p.Was.IsDir() && !isGitData(g) {
		r.add(p.Was.Rel, RuleGitState, Refuse, "deletes a file of the git directory")
	}
}

// present looks at a path that is there now.
func (r *reviewer) present(p tree.Pair) {
	rel, mode := p.Now.Rel, p.Now.Info.Mode()
	var before fs.FileMode
	if p.Was != nil {
		before = p.Was.Info.Mode()
	}
	if set := mode & (fs.ModeSetuid | fs.ModeSetgid); set&^before != 0 {
		r.add(rel, RuleSetID, Refuse, "would run, or hand on its group, with another's rights; an export never sets these bits")
	}
	if mode.IsRegular() && tree.Links(p.Now.Info) > 1 {
		r.add(rel, RuleHardLink, Notice, "has several names; an export makes a file of its own of each")
	}
	if size := p.Now.Info.Size(); mode.IsRegular() && size > maxExported {
		r.add(rel, RuleLarge, Refuse, fmt.Sprintf("is %d bytes long, of which an export would write those that are no hole", size))
	}
	switch {
	case mode&fs.ModeSymlink != 0:
		r.link(p.Now)
	case !mode.IsRegular() && !mode.IsDir():
		r.add(rel, RuleSpecial, Refuse, "is a device, pipe or socket, which an export leaves out")
		return
	}
	r.name(rel)
	if !mode.IsDir() {
		r.file(p)
	}
}

// file looks at a file, or a link in the place of one, by its path.
func (r *reviewer) file(p tree.Pair) {
	rel := p.Now.Rel
	if g := r.paths.git(rel); g != "" {
		r.git(p, g)
		return
	}
	base := fold(tree.BaseName(rel))
	if base == ".git" {
		r.add(rel, RuleGitLink, Refuse, "git would follow it to another git directory and use the configuration there")
		return
	}
	if special := r.content(p, base); special {
		return
	}
	if k := r.paths.known(rel); k != nil {
		r.add(rel, k.rule, k.severity, k.why)
	}
}

// content looks into files of which only some contents matter.
func (r *reviewer) content(p tree.Pair, base string) bool {
	var look func(before, after []byte) []Finding
	switch base {
	case ".gitattributes":
		look = reviewAttributes
	case ".gitmodules":
		look = reviewModules
	case "package.json":
		look = reviewPackage
	default:
		return false
	}
	before, after, err := contents(p)
	if err != nil {
		r.add(p.Now.Rel, RuleUnreadable, Refuse, err.Error())
		return true
	}
	r.addAll(p.Now.Rel, look(before, after))
	return true
}
