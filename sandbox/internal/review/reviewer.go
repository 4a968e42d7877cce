package review

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// maxExported is the largest file that is exported without a finding: a command can make a file of
// any size that takes no space until somebody copies it.
const maxExported = 4 << 30

// reviewer reviews one set of changes.
type reviewer struct {
	ctx      context.Context
	c        *tree.Comparison
	dir      string // the workspace's path: absolute links below it stay inside
	paths    Paths
	steps    int // steps taken along symbolic links
	looked   map[lookup]*tree.Entry
	findings []Finding
}

// Find reviews the differences found by a comparison. dir is the workspace's path on the host:
// absolute links below it stay inside.
func Find(ctx context.Context, c *tree.Comparison, dir string) ([]Finding, error) {
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
	return slices.Compact(r.findings), nil
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

// maxAlike bounds the findings in one file, which may be full of them.
const maxAlike = 100

// addAll adds the findings of one file.
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

// deleted reviews a deleted path: a deletion can only remove protection.
func (r *reviewer) deleted(p tree.Pair) {
	if g := r.paths.git(p.Was.Rel); g != "" && !p.Was.IsDir() && !isGitData(g) {
		r.add(p.Was.Rel, RuleGitState, Refuse, "deletes a file of the git directory")
	}
}

// present reviews a path that now exists.
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

// file reviews a file, or a link in place of one, by its path.
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

// content reviews files of which only some contents matter.
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
