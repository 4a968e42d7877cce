package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Severity decides what Export does with a finding: [Notice] or [Refuse]. Its text is the name in
// lower case.
type Severity = review.Severity

// The severities.
const (
	// Notice is worth a look; Export goes on.
	Notice = review.Notice
	// Refuse stops Export unless the host allows the finding.
	Refuse = review.Refuse
)

// Rule identifies the kind of a finding; it is a string such as "git-hook".
type Rule = review.Rule

// The rules of a review.
const (
	RuleGitHook       = review.RuleGitHook       // "git-hook": a program that git runs by itself
	RuleGitConfig     = review.RuleGitConfig     // "git-config": a setting that makes git run programs or look elsewhere
	RuleGitState      = review.RuleGitState      // "git-state": other files of a git directory
	RuleGitLink       = review.RuleGitLink       // "git-link": a .git that leads to another directory
	RuleGitBare       = review.RuleGitBare       // "git-bare": a directory that git treats as a repository
	RuleGitAttributes = review.RuleGitAttributes // "git-attributes": files that git processes by running programs
	RuleGitModules    = review.RuleGitModules    // "git-modules": the sources of submodules
	RuleGitDisguise   = review.RuleGitDisguise   // "git-disguise": a name that some systems treat as .git
	RuleEditor        = review.RuleEditor        // "editor": settings that make editors run programs
	RuleAgent         = review.RuleAgent         // "agent": settings and instructions of coding agents
	RuleShell         = review.RuleShell         // "shell-startup": files that shells run when they start or enter a directory
	RuleUser          = review.RuleUser          // "user-config": files that belong in a home directory
	RuleInstall       = review.RuleInstall       // "install-script": scripts that package managers run
	RuleContinuous    = review.RuleContinuous    // "ci": configuration that a CI service runs
	RuleSetID         = review.RuleSetID         // "setuid": setuid or setgid bits
	RuleSpecial       = review.RuleSpecial       // "special-file": device, pipe or socket
	RuleLinkEscape    = review.RuleLinkEscape    // "symlink-escape": a symbolic link that leaves the tree
	RuleLinkGit       = review.RuleLinkGit       // "symlink-git": a symbolic link into a git directory
	RuleHardLink      = review.RuleHardLink      // "hard-link": a file with several names
	RuleNameCollision = review.RuleNameCollision // "name-collision": names that are the same on other systems
	RuleNameOdd       = review.RuleNameOdd       // "name-odd": names that mislead or are not allowed on other systems
	RuleUnreadable    = review.RuleUnreadable    // "unreadable": paths that could not be examined
	RuleLarge         = review.RuleLarge         // "large-file": a file of more than 4 GiB, even if it is sparse
)

// Finding is one thing in the changes that the host may execute later, or that may mislead it.
type Finding struct {
	Path     string   `json:"path"` // relative to the workspace, with forward slashes
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	Why      string   `json:"why"`
}

// String returns one line for people, safe to print whatever the path contains.
func (f Finding) String() string { return review.Finding(f).String() }

// Review lists changes, and what in them deserves attention.
type Review struct {
	Changes  []Change
	Findings []Finding
}

// Refused returns the findings that stop an export unless they are allowed.
func (r *Review) Refused() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Severity == Refuse {
			out = append(out, f)
		}
	}
	return out
}

// Reviewer is implemented by sandboxes that can check what commands left for things that the host
// would execute later.
type Reviewer interface {
	// Review lists the changes since the snapshot with their findings. For a workspace in place it
	// checks the whole tree and lists the findings about files that were touched since the sandbox
	// was opened, by commands or by somebody else; Changes is then empty.
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
	if since == AtSnapshot && l.cfg.Snapshot.git {
		leaveOutGit(c)
	}
	r, err := reviewOf(ctx, c, l.ws.original(), placesFor(c, l.ws.original()))
	if err != nil {
		return nil, fmt.Errorf("sandbox: review %s: %w", l.ws.dir, err)
	}
	return r, nil
}

// original returns the workspace's path on the host.
func (ws *workspace) original() string {
	if ws.origin != "" {
		return ws.origin
	}
	return ws.dir
}

// placesFor finds what the host makes of the changed paths in the directories given.
func placesFor(c *tree.Comparison, dirs ...string) *obeyed.Places {
	var changed []string
	for _, p := range c.Pairs {
		changed = append(changed, p.Path())
	}
	out := &obeyed.Places{}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		out.Add(obeyed.Find(dir, obeyed.Above(dir, changed)...))
	}
	return out
}

// reviewOf lists changes with their findings.
func reviewOf(ctx context.Context, c *tree.Comparison, dir string, places *obeyed.Places) (*Review, error) {
	found, err := review.Find(ctx, c, dir, places)
	if err != nil {
		return nil, err
	}
	r := &Review{Changes: changesOf(c)}
	for _, f := range found {
		r.Findings = append(r.Findings, Finding(f))
	}
	return r, nil
}

// clockSlack is the time by which a file system's times may lag behind the clock, where they come
// from another clock or one that cannot be read.
const clockSlack = 100 * time.Millisecond

// errElsewhere means that the workspace's path is not on this host.
var errElsewhere = errors.New("the workspace is not on this host")

// reviewInPlace reviews what was touched since the sandbox was opened.
func (l *local) reviewInPlace(ctx context.Context) (*Review, error) {
	if l.once.closed() {
		return nil, ErrClosed
	}
	if l.ws.source == "" {
		return nil, errElsewhere
	}
	since := l.ws.opened // no earlier: a clone made just before has nothing to review
	if !tree.LocalClock(l.ws.dir) {
		since = since.Add(-clockSlack)
	}
	c, err := tree.Touched(ctx, l.ws.dir, since)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r, err := reviewOf(ctx, c, l.ws.dir, placesFor(c, l.ws.dir))
	if err != nil {
		return nil, err
	}
	r.Changes = nil
	return r, nil
}
