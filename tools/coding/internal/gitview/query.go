package gitview

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// Query is one question to a repository. Op is status, diff, log, blame or show; the other fields
// correspond to the options of the git command of that name.
type Query struct {
	Op        string
	Path      string // limits the answer to a file or directory, relative to the workspace; required for blame
	Rev       string // commit, branch or tag; for log and diff also a range, for show also REV:PATH
	Staged    bool   // diff: the index against the last commit
	Stat      bool   // diff and show: only the summary of files
	Context   int    // diff and show: unchanged lines around a change; 0 means 3
	Limit     int    // log: maximum number of commits; 0 means 20
	Grep      string // log: only commits whose message matches this regular expression
	Ignored   bool   // status: also list ignored files
	StartLine int    // blame: first line
	EndLine   int    // blame: last line
}

// maxLog is the maximum number of commits in a listing.
const maxLog = 500

// Answer returns the answer to a query as text for a model.
func (g *Repo) Answer(ctx context.Context, in Query) (string, error) {
	under, err := g.path(in.Path)
	if err != nil {
		return "", err
	}
	switch in.Op {
	case "status":
		return g.statusText(ctx, under, in.Ignored)
	case "diff":
		return g.diffOp(ctx, in, under)
	case "log":
		return g.logOp(ctx, in, under)
	case "show":
		return g.showOp(ctx, in, under)
	case "blame":
		if in.Path == "" {
			return "", errors.New("blame needs the path of a file")
		}
		c, err := g.commit(in.Rev)
		if err != nil {
			return "", err
		}
		return g.blame(c, under, in.StartLine, in.EndLine)
	}
	return "", fmt.Errorf("op %q is none of status, diff, log, blame and show; other git commands go through shell", in.Op)
}

// statusText returns the status in the form of git status --short.
func (g *Repo) statusText(ctx context.Context, under string, ignored bool) (string, error) {
	st, err := g.status(ctx, under, ignored)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(g.branchLine() + "\n")
	lines := st.short(g.local)
	if len(lines) == 0 {
		b.WriteString("nothing to commit, work tree clean\n")
	}
	shown := lines[:min(len(lines), g.cfg.ListEntries)]
	for _, l := range shown {
		b.WriteString(l + "\n")
	}
	if n := len(lines) - len(shown) + st.more; n > 0 {
		fmt.Fprintf(&b, "... and %d more; pass path to see them\n", n)
	}
	for _, n := range st.notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// short returns the lines of git status --short: staged and unstaged letters, then conflicts,
// untracked and ignored.
func (st *workStatus) short(local func(string) string) []string {
	type xy struct {
		x, y byte
		old  string
	}
	var order []string
	by := map[string]*xy{}
	at := func(p string) *xy {
		if by[p] == nil {
			by[p] = &xy{x: ' ', y: ' '}
			order = append(order, p)
		}
		return by[p]
	}
	for _, c := range st.staged {
		s := at(c.path)
		s.x, s.old = c.letter(), c.oldPath
	}
	for _, c := range st.unstaged {
		at(c.path).y = c.letter()
	}
	var out []string
	for _, p := range st.unmerged {
		out = append(out, "UU "+show.Path(local(p)))
	}
	for _, p := range order {
		s := by[p]
		name := show.Path(local(p))
		if s.old != "" {
			name = show.Path(local(s.old)) + " -> " + name
		}
		out = append(out, fmt.Sprintf("%c%c %s", s.x, s.y, name))
	}
	for _, p := range st.untracked {
		out = append(out, "?? "+show.Path(local(p)))
	}
	for _, p := range st.ignored {
		out = append(out, "!! "+show.Path(local(p)))
	}
	return out
}

// branchLine describes where HEAD is and which operation, such as a merge, is in progress.
func (g *Repo) branchLine() string {
	line := "HEAD is detached"
	head, err := g.r.Reference(plumbing.HEAD, false)
	switch {
	case err != nil:
		line = "HEAD cannot be read: " + err.Error()
	case head.Type() == plumbing.SymbolicReference:
		line = "on branch " + head.Target().Short()
		if _, err := g.r.Head(); err != nil {
			line += ", no commit yet"
		}
	default:
		line += " at " + head.Hash().String()[:10]
	}
	for _, s := range []struct{ file, what string }{
		{"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"}, {"BISECT_LOG", "bisect"},
	} {
		if g.has(s.file) {
			line += ", in the middle of a " + s.what
		}
	}
	return line
}

func (g *Repo) newDiff(in Query) *diffText {
	d := &diffText{g: g, room: g.cfg.OutputBytes, context: 3}
	if in.Context > 0 {
		d.context = in.Context
	}
	return d
}

func (g *Repo) diffOp(ctx context.Context, in Query, under string) (string, error) {
	changes, err := g.diffChanges(ctx, in, under)
	if err != nil {
		return "", err
	}
	return g.renderDiff(ctx, in, changes)
}

func (g *Repo) renderDiff(ctx context.Context, in Query, changes []fileChange) (string, error) {
	d := g.newDiff(in)
	for _, c := range changes {
		if err := d.add(ctx, c); errors.Is(err, errStopDiff) {
			d.cut += len(changes) - len(d.stat)
			break
		} else if err != nil {
			return "", err
		}
	}
	return d.text(in.Stat), nil
}

func (g *Repo) diffChanges(ctx context.Context, in Query, under string) ([]fileChange, error) {
	if a, b, dots := cutRange(in.Rev); dots != "" {
		from, to, err := g.rangeEnds(a, b, dots)
		if err != nil {
			return nil, err
		}
		return g.commitChanges(ctx, from, to, under)
	}
	var tree *object.Tree
	if in.Rev != "" || in.Staged {
		c, err := g.commit(in.Rev)
		if err != nil && (in.Rev != "" || !in.Staged) {
			return nil, err
		}
		if c != nil {
			if tree, err = c.Tree(); err != nil {
				return nil, err
			}
		}
	}
	if in.Staged {
		idx, err := g.r.Storer.Index()
		if err != nil {
			return nil, err
		}
		return g.againstIndex(tree, idx, under)
	}
	return g.workChanges(ctx, tree, under)
}

// cutRange splits A..B and A...B.
func cutRange(rev string) (a, b, dots string) {
	for _, dots := range []string{"...", ".."} {
		if a, b, ok := strings.Cut(rev, dots); ok {
			return a, b, dots
		}
	}
	return rev, "", ""
}

// rangeEnds returns the two commits of a range; with three dots the first is the merge base.
func (g *Repo) rangeEnds(a, b, dots string) (from, to *object.Commit, err error) {
	if from, err = g.commit(a); err != nil {
		return nil, nil, err
	}
	if to, err = g.commit(b); err != nil {
		return nil, nil, err
	}
	if dots == "..." {
		bases, err := from.MergeBase(to)
		if err != nil {
			return nil, nil, err
		}
		if len(bases) == 0 {
			return nil, nil, fmt.Errorf("%s and %s have no common ancestor%s", a, b, g.shallowHint())
		}
		from = bases[0]
	}
	return from, to, nil
}

// commitChanges lists the differences between two commits; a nil from means the empty tree.
func (g *Repo) commitChanges(ctx context.Context, from, to *object.Commit, under string) ([]fileChange, error) {
	var a *object.Tree
	var err error
	if from != nil {
		if a, err = from.Tree(); err != nil {
			return nil, err
		}
	}
	b, err := to.Tree()
	if err != nil {
		return nil, err
	}
	return g.treeChanges(ctx, a, b, under)
}

func (g *Repo) logOp(ctx context.Context, in Query, under string) (string, error) {
	q := logQuery{path: under, limit: min(in.Limit, maxLog)}
	if in.Limit == 0 {
		q.limit = 20
	}
	var err error
	if in.Grep != "" {
		if q.grep, err = regexp.Compile("(?i)" + in.Grep); err != nil {
			return "", fmt.Errorf("grep is no regular expression: %w", err)
		}
	}
	a, b, dots := cutRange(in.Rev)
	switch dots {
	case "":
		q.from, err = g.commit(a)
	case "..":
		if q.without, err = g.commit(a); err == nil {
			q.from, err = g.commit(b)
		}
	default:
		err = errors.New("log takes A..B, not A...B")
	}
	if err != nil {
		return "", err
	}
	commits, err := g.log(ctx, q)
	if err != nil && len(commits) == 0 {
		return "", err
	}
	if len(commits) == 0 {
		return "No commits match.", nil
	}
	var out strings.Builder
	for _, c := range commits {
		out.WriteString(commitLine(c) + "\n")
	}
	switch {
	case err != nil:
		fmt.Fprintf(&out, "[stopped here: %v]\n", err)
	case len(commits) == q.limit:
		fmt.Fprintf(&out, "[the first %d; pass a larger limit for more]\n", q.limit)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

func (g *Repo) showOp(ctx context.Context, in Query, under string) (string, error) {
	if rev, p, ok := strings.Cut(in.Rev, ":"); ok {
		return g.showFile(rev, p)
	}
	head := ""
	rev := in.Rev
	if ref, err := g.r.Tag(rev); rev != "" && err == nil {
		if tag, err := g.r.TagObject(ref.Hash()); err == nil {
			head = show.Clean([]byte(fmt.Sprintf("tag %s\nTagger: %s <%s>\n\n%s\n", tag.Name, tag.Tagger.Name, tag.Tagger.Email, show.Ends(strings.TrimSpace(tag.Message), 4<<10))))
		}
	}
	c, err := g.commit(rev)
	if err != nil {
		return "", err
	}
	parents, err := g.parents(c)
	if err != nil {
		return "", err
	}
	var parent *object.Commit
	if len(parents) > 0 {
		parent = parents[0]
	}
	changes, err := g.commitChanges(ctx, parent, c, under)
	if err != nil {
		return "", err
	}
	diff, err := g.renderDiff(ctx, in, changes)
	if err != nil {
		return "", err
	}
	if len(c.ParentHashes) > 1 {
		diff = "(against the first parent)\n" + diff
	}
	return head + commitHeader(c) + "\n" + diff, nil
}

// showFile returns a file or directory as it is in a commit. The path is relative to the workspace.
func (g *Repo) showFile(rev, p string) (string, error) {
	c, err := g.commit(rev)
	if err != nil {
		return "", err
	}
	tree, err := c.Tree()
	if err != nil {
		return "", err
	}
	full, err := g.path(p)
	if err != nil {
		return "", err
	}
	if full != "" && full != "." {
		e, err := tree.FindEntry(full)
		if err != nil {
			return "", fmt.Errorf("%s is not in commit %s; show %s: lists what is", show.Path(p), c.Hash.String()[:10], c.Hash.String()[:10])
		}
		if e.Mode == filemode.Submodule {
			return fmt.Sprintf("%s is a submodule at commit %s", show.Path(p), e.Hash), nil
		}
		if e.Mode != filemode.Dir {
			return g.showBlob(e, p)
		}
		if tree, err = g.r.TreeObject(e.Hash); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	for i, e := range tree.Entries {
		if i == g.cfg.ListEntries {
			fmt.Fprintf(&b, "... and %d more\n", len(tree.Entries)-i)
			break
		}
		name := show.Path(e.Name)
		if e.Mode == filemode.Dir {
			name += "/"
		}
		b.WriteString(name + "\n")
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func (g *Repo) showBlob(e *object.TreeEntry, p string) (string, error) {
	d := &diffText{g: g}
	data, note, err := d.blob(&fileEntry{e.Hash, e.Mode})
	switch {
	case err != nil:
		return "", err
	case note != "":
		return "", fmt.Errorf("%s: %s", show.Path(p), note)
	case isBinary(data):
		return fmt.Sprintf("%s is binary, %s", show.Path(p), show.Size(int64(len(data)))), nil
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if limit := g.cfg.OutputBytes; len(text) > limit {
		text = show.Ends(text, limit)
	}
	return text, nil
}
