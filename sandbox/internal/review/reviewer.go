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
	places   Places
	steps    int // steps taken along symbolic links
	looked   map[lookup]*tree.Entry
	findings []Finding
}

// Places reports what paths of a workspace mean to the host beyond their names.
type Places interface {
	// As returns the paths by which the host reaches a path through links.
	As(rel string) []string
	// Uses returns what the host's own settings do with a file; fi may be nil.
	Uses(rel string, fi fs.FileInfo) []Use
}

// Use is a file that a setting of the host names.
type Use struct {
	Rule Rule // RuleGitConfig if git reads settings from it
	Why  string
}

// Find reviews the differences found by a comparison. dir is the workspace's path on the host:
// absolute links below it stay inside.
func Find(ctx context.Context, c *tree.Comparison, dir string, places Places) ([]Finding, error) {
	r := &reviewer{ctx: ctx, c: c, dir: dir, places: places}
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
	rel, link := p.Now.Rel, p.Now.Info.Mode()&fs.ModeSymlink != 0
	if g := r.paths.git(rel); g != "" {
		r.git(p, g)
		return
	}
	if fold(tree.BaseName(rel)) == ".git" {
		r.add(rel, RuleGitLink, Refuse, "git would follow it to another git directory and use the configuration there")
		return
	}
	r.used(p)
	for _, as := range append(r.places.As(rel), rel) {
		if r.content(p, as) {
			continue
		}
		if k := r.paths.known(as); k != nil {
			r.add(rel, k.rule, k.severity, k.why)
		}
	}
	if !link {
		return
	}
	if k := r.paths.leads(rel); k != nil {
		r.add(rel, k.rule, k.severity, "is a link that puts other files in a place of which is true: "+k.why)
	}
}

// used reviews a file that the host's own git executes or reads settings from.
func (r *reviewer) used(p tree.Pair) {
	for _, u := range r.places.Uses(p.Now.Rel, p.Now.Info) {
		if u.Rule == RuleGitConfig && p.Now.Info.Mode().IsRegular() {
			r.gitConfig(p)
			continue
		}
		r.add(p.Now.Rel, u.Rule, Refuse, u.Why)
	}
}

// content reviews files of which only some contents matter. as is the path by which programs read
// the file.
func (r *reviewer) content(p tree.Pair, as string) bool {
	look := r.paths.look(as)
	if look == nil {
		return false
	}
	if p.Now.Info.Mode()&fs.ModeSymlink != 0 {
		r.add(p.Now.Rel, RuleInstall, Notice, "is a link: programs read what it leads to as "+tree.BaseName(as))
		return true
	}
	before, after, err := contents(p)
	if err != nil {
		r.add(p.Now.Rel, RuleUnreadable, Refuse, err.Error())
		return true
	}
	r.addAll(p.Now.Rel, look(before, after))
	return true
}
