package sandbox

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/patch"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Exporter is implemented by sandboxes whose changes can be shown and exported.
type Exporter interface {
	// Diff writes the changes since a point in git diff format, for people to read. Binary files
	// and those too large to compare are noted, not shown.
	Diff(ctx context.Context, since Point, w io.Writer) error
	// Export exports the changes since the snapshot from the sandbox, after a review. If the review
	// has a finding of severity Refuse that ExportOptions.Allow does not permit, Export does
	// nothing and fails with a [ReviewError]. If a command is running, it fails with [ErrBusy].
	Export(ctx context.Context, o ExportOptions) (*Review, error)
}

// ExportOptions configures where changes go.
type ExportOptions struct {
	// Dir is the directory to which the changes are applied; empty means the one that the snapshot
	// was taken of. Every file is replaced as a whole or not at all. If a file there is neither as
	// in the snapshot nor as in the sandbox, Export does nothing and fails with [ErrConflict].
	// Holes in files are preserved.
	Dir string
	// Patch receives the changes as a patch that git apply understands, and nothing is applied. A
	// patch leaves out empty directories and the contents of any .git.
	Patch io.Writer
	// Allow decides about findings of severity Refuse, such as a file of more than 4 GiB; nil
	// allows none. It must not use the sandbox's tree, which waits for the export. Devices, pipes
	// and sockets are left out and setuid bits are dropped in any case.
	Allow func(Finding) bool
	// WithoutGit leaves out what changed in the workspace's own .git, such as commits and an index
	// that git has refreshed, as Snapshot.WithGit does.
	WithoutGit bool
}

// ErrConflict means that the directory to be changed has changed in the meantime.
var ErrConflict = tree.ErrConflict

// ReviewError means that the review's findings prevented an export.
type ReviewError struct {
	Findings []Finding // those that were not allowed
}

// Error lists the first findings.
func (e *ReviewError) Error() string {
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%d findings of the review refuse it; look at them, and let those pass that are meant by ExportOptions.Allow:", len(e.Findings))
	for i, f := range e.Findings {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(e.Findings)-most)
			break
		}
		fmt.Fprintf(&b, " %q (%s: %s);", f.Path, f.Rule, f.Why)
	}
	return strings.TrimSuffix(b.String(), ";")
}

func (l *local) Diff(ctx context.Context, since Point, w io.Writer) error {
	c, err := l.compare(ctx, since)
	if err == nil {
		defer c.Close()
		err = patch.Write(ctx, w, c.Pairs, false)
	}
	if err != nil {
		return fmt.Errorf("sandbox: diff %s: %w", l.ws.dir, err)
	}
	return nil
}

func (l *local) Export(ctx context.Context, o ExportOptions) (*Review, error) {
	unlock, err := l.alone(ctx) // otherwise commands could change what was reviewed
	var r *Review
	if err == nil {
		defer unlock()
		r, err = l.export(ctx, o)
	}
	if err != nil {
		return r, fmt.Errorf("sandbox: export %s: %w", l.ws.dir, err)
	}
	return r, nil
}

func (l *local) export(ctx context.Context, o ExportOptions) (*Review, error) {
	if err := l.still(ctx); err != nil {
		return nil, err
	}
	c, err := l.ws.compare(ctx, AtSnapshot)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if o.WithoutGit || l.cfg.Snapshot.git {
		leaveOutGit(c)
	}
	dir := l.ws.origin
	if o.Dir != "" {
		if dir, err = resolveDir("ExportOptions.Dir", o.Dir); err != nil {
			return nil, err
		}
	}
	r, err := reviewOf(ctx, c, l.ws.original(), placesFor(c, l.ws.original(), dir))
	if err != nil {
		return nil, err
	}
	if err := r.refusal(o.Allow); err != nil {
		return r, err
	}
	if o.Patch != nil {
		return r, patch.Write(ctx, o.Patch, c.Pairs, true)
	}
	var since time.Time
	if lower, err := filepath.EvalSymlinks(l.ws.lower); err == nil && lower == dir {
		since = l.ws.opened // the snapshot itself: only its timestamps reveal changes
	}
	return r, c.Apply(ctx, dir, since)
}

// leaveOutGit removes what changed in the workspace's own .git.
func leaveOutGit(c *tree.Comparison) {
	c.Pairs = slices.DeleteFunc(c.Pairs, func(p tree.Pair) bool { return ownGit(p.Path()) })
}

func ownGit(path string) bool { return path == ".git" || strings.HasPrefix(path, ".git/") }

// WithoutGit returns the review without what changed in the workspace's own .git.
func (r *Review) WithoutGit() *Review {
	return &Review{
		Changes:  slices.DeleteFunc(slices.Clone(r.Changes), func(c Change) bool { return ownGit(c.Path) }),
		Findings: slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return ownGit(f.Path) }),
	}
}

// refusal returns the error for findings that are not allowed, or nil.
func (r *Review) refusal(allow func(Finding) bool) error {
	var out []Finding
	for _, f := range r.Refused() {
		if allow == nil || !allow(f) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &ReviewError{out}
}

// DiffWithoutGit leaves out of a diff in git format what changed in a .git.
func DiffWithoutGit(diff string) string {
	const head = "diff --git "
	var out strings.Builder
	for i, file := range strings.Split("\n"+strings.TrimSuffix(diff, "\n"), "\n"+head) {
		name, _, _ := strings.Cut(file, "\n")
		if i > 0 && !strings.HasPrefix(name, "a/.git/") && !strings.Contains(name, "/.git/") {
			out.WriteString(head + file + "\n")
		}
	}
	return out.String()
}
