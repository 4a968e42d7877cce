package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

var (
	_ sandbox.Differ    = (*Sandbox)(nil)
	_ sandbox.Exporter  = (*Sandbox)(nil)
	_ sandbox.Reviewer  = (*Sandbox)(nil)
	_ sandbox.Forker    = (*Sandbox)(nil)
	_ sandbox.Restorer  = (*Sandbox)(nil)
	_ sandbox.Approver  = (*Sandbox)(nil)
	_ sandbox.Adopter   = (*Sandbox)(nil)
	_ sandbox.Merger    = (*Sandbox)(nil)
	_ sandbox.DryRunner = (*Sandbox)(nil)
)

// word wraps the error of an operation in this package's words, unless the server's sandbox has
// already done so.
func word(verb string, err error) error {
	var w *wireError
	if err == nil || errors.As(err, &w) && strings.HasPrefix(err.Error(), "sandbox: ") {
		return err
	}
	return fmt.Errorf("sandbox: %s: %w", verb, err)
}

// ask is call for an operation on the open sandbox.
func (s *Sandbox) ask(ctx context.Context, method, path string, in, out any) error {
	if s.c.ctx.Err() != nil {
		return sandbox.ErrClosed
	}
	return s.c.call(ctx, method, "/v1/sandboxes/"+s.c.id+path, in, out)
}

// Changes lists what commands have changed in the workspace.
func (s *Sandbox) Changes(ctx context.Context) ([]sandbox.Change, error) {
	return s.ChangesSince(ctx, sandbox.AtSnapshot)
}

// ChangesSince lists what commands have changed since a point.
func (s *Sandbox) ChangesSince(ctx context.Context, since sandbox.Point) ([]sandbox.Change, error) {
	var out []wireChange
	if err := s.ask(ctx, "GET", fmt.Sprintf("/changes?since=%d", since), nil, &out); err != nil {
		return nil, word("list changes", err)
	}
	return changesFromWire(out), nil
}

// Review reviews the changes as [sandbox.Reviewer] does. An absolute link into the workspace leads
// to a path on the server, so it is refused here.
func (s *Sandbox) Review(ctx context.Context) (*sandbox.Review, error) {
	return s.ReviewSince(ctx, sandbox.AtSnapshot)
}

// ReviewSince reviews what has changed since a point.
func (s *Sandbox) ReviewSince(ctx context.Context, since sandbox.Point) (*sandbox.Review, error) {
	var out wireReview
	if err := s.ask(ctx, "GET", fmt.Sprintf("/review?since=%d", since), nil, &out); err != nil {
		return nil, word("review "+s.Dir(), err)
	}
	return out.review(), nil
}

// Diff writes the changes since a point in git diff format.
func (s *Sandbox) Diff(ctx context.Context, since sandbox.Point, w io.Writer) error {
	o, err := s.output(ctx, outputRequest{Kind: outputDiff, Since: since})
	if err == nil {
		defer o.drop()
		err = o.fetch(ctx, o.Hash, o.Size, w)
	}
	return word("diff "+s.Dir(), err)
}

// Export applies the changes on this machine, after a review, as [sandbox.Exporter] does. The
// server sends the review, the decision is made here, and then the contents of changed files that
// the directory does not have are fetched.
func (s *Sandbox) Export(ctx context.Context, o sandbox.ExportOptions) (*sandbox.Review, error) {
	r, err := s.export(ctx, o)
	return r, word("export "+s.Dir(), err)
}

func (s *Sandbox) export(ctx context.Context, opts sandbox.ExportOptions) (*sandbox.Review, error) {
	kind := outputTree
	if opts.Patch != nil {
		kind = outputPatch
	}
	o, err := s.output(ctx, outputRequest{Kind: kind})
	if err != nil {
		return nil, err
	}
	defer o.drop()
	r := o.Review.review()
	if opts.WithoutGit {
		r = r.WithoutGit()
	}
	if err := refusal(r, opts.Allow); err != nil {
		return r, err
	}
	if kind == outputPatch {
		if o.Error != nil {
			return r, o.Error
		}
		return r, o.fetch(ctx, o.Hash, o.Size, opts.Patch)
	}
	dir := s.from.dir
	if opts.Dir != "" {
		dir = opts.Dir
	}
	if dir == "" {
		return r, errors.New("the workspace began empty, so that it is no directory's; set ExportOptions.Dir")
	}
	return r, o.apply(ctx, dir, s.from.files, r.Changes)
}

// Fork opens a second sandbox on the server, which continues from this one's state as
// [sandbox.Forker] describes. It counts against the quota and has its own lease.
func (s *Sandbox) Fork(ctx context.Context) (sandbox.Sandbox, error) {
	c := s.c.sibling()
	var reply openReply
	if err := s.ask(ctx, "PUT", "/forks/"+c.id, nil, &reply); err != nil {
		if ctx.Err() != nil { // it may have been made nevertheless
			s.c.work.Go(func() { _ = c.release() })
		}
		c.cancel()
		return nil, word("fork "+s.Dir(), err)
	}
	return c.sandbox(reply, s.from), nil
}

// Adopt takes over the state of a fork of this sandbox, as [sandbox.Adopter] describes, and closes
// the fork.
func (s *Sandbox) Adopt(ctx context.Context, fork sandbox.Sandbox) error {
	return s.take(ctx, "adopt", "", fork)
}

// Merge takes over the changes of a fork of this sandbox, as [sandbox.Merger] describes, and closes
// the fork.
func (s *Sandbox) Merge(ctx context.Context, fork sandbox.Sandbox) error {
	return s.take(ctx, "merge", "?merge=1", fork)
}

func (s *Sandbox) take(ctx context.Context, verb, query string, fork sandbox.Sandbox) error {
	f, ok := sandbox.As[*Sandbox](fork)
	if !ok || f == s || f.c.base != s.c.base {
		return fmt.Errorf("sandbox: %s: it is no fork of this sandbox", verb)
	}
	if f.c.ctx.Err() != nil {
		return fmt.Errorf("sandbox: %s: the fork: %w", verb, sandbox.ErrClosed)
	}
	err := s.ask(ctx, "POST", "/adopt/"+f.c.id+query, nil, nil)
	if err == nil {
		err = f.Close()
	}
	return word(verb, err)
}

// DryRun runs a command in a fork, which the server ends when the trial is dropped. The fork counts
// against the quota.
func (s *Sandbox) DryRun(ctx context.Context, cmd sandbox.Cmd) (*sandbox.Trial, error) {
	return sandbox.DryRunFork(ctx, s, cmd)
}

// Restore drops the changes since a point.
func (s *Sandbox) Restore(ctx context.Context, to sandbox.Point) error {
	s.restoring.Lock() // the server accepts them in the order of their numbers
	defer s.restoring.Unlock()
	s.restored++
	return word("restore "+s.Dir(), s.ask(ctx, "POST", fmt.Sprintf("/restore?to=%d&n=%d", to, s.restored), nil, nil))
}

// errNoGrant is the reason why nothing can be approved: the server's operator decides what a
// command may do beyond its sandbox, and the workspace is a snapshot.
var errNoGrant = errors.New("its workspace is a snapshot's, which exists inside the sandbox only; export the changes and run the command on those")

// errFarSide is the same for a workspace at the other end of a pipe.
var errFarSide = errors.New("the far side decides what commands may do; change the configuration of its sandbox")

// Approve fails, as for every workspace that is a snapshot.
func (s *Sandbox) Approve(cmd sandbox.Cmd, _ sandbox.Terms) (sandbox.Approval, error) {
	err := errNoGrant
	if s.c.pipe != nil {
		err = errFarSide
	}
	return sandbox.Approval{}, fmt.Errorf("sandbox: approve %q: %w", first(cmd.Args), err)
}

// ExecApproved fails: no token belongs to this sandbox.
func (s *Sandbox) ExecApproved(_ context.Context, _ string, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	err := sandbox.ErrClosed
	if s.c.ctx.Err() == nil {
		err = fmt.Errorf("%w: the token is not one of this sandbox's, or was used before", sandbox.ErrApproval)
	}
	return nil, fmt.Errorf("sandbox: start %q: %w", first(cmd.Args), err)
}

func first(args []string) string { return strings.Join(args[:min(1, len(args))], "") }

// fetched is an output on the server while it is being fetched.
type fetched struct {
	outputReply
	c  *client
	id string
}

func (s *Sandbox) output(ctx context.Context, q outputRequest) (*fetched, error) {
	o := &fetched{c: s.c, id: newID()}
	err := s.ask(ctx, "PUT", "/outputs/"+o.id, q, &o.outputReply)
	if err != nil {
		if ctx.Err() != nil { // it may have been made nevertheless
			o.drop()
		}
		return nil, err
	}
	if err := o.check(); err != nil {
		o.drop()
		return nil, fmt.Errorf("server sends %w", err)
	}
	return o, nil
}

// check rejects an answer without the required form. The code that writes the paths checks where
// they lead.
func (o *fetched) check() error {
	for _, e := range o.Files {
		if err := checkEntry(e); err != nil {
			return err
		}
	}
	if o.Hash != "" && (!validHash(o.Hash) || o.Size < 0) {
		return errors.New("a malformed hash")
	}
	if !slices.IsSortedFunc(o.Files, func(a, b entry) int { return strings.Compare(a.Path, b.Path) }) {
		return errors.New("paths out of order")
	}
	return nil
}

// drop frees the server's space. If the request is lost, the output expires.
func (o *fetched) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = o.c.call(ctx, "DELETE", "/v1/outputs/"+o.id, nil, nil)
}
