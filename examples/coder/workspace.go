package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// workspace returns where the agent works, if that is not the directory in place.
func (o options) workspace() (from luthier.Source, elsewhere bool, err error) {
	var flags []string
	for _, f := range []struct {
		name string
		set  bool
		from func() luthier.Source
	}{
		{"-snapshot", o.snapshot, func() luthier.Source { return luthier.Snapshot(o.dir) }},
		{"-commit", o.commit != "", func() luthier.Source { return luthier.Commit(o.dir, o.commit) }},
		{"-remote", o.remote != "", func() luthier.Source {
			return luthier.Remote(remote.Options{URL: o.remote, Token: os.Getenv("LUTHIER_TOKEN"), Dir: o.dir})
		}},
		{"-exec", o.exec != "", func() luthier.Source { return luthier.Command("sh", "-c", o.exec) }},
	} {
		if f.set {
			flags, from = append(flags, f.name), f.from()
		}
	}
	switch {
	case len(flags) > 1:
		return from, true, fmt.Errorf("%s each say where to work; give one of them", strings.Join(flags, " and "))
	case len(flags) == 1 && (o.noSandbox || o.unprotect != ""):
		return from, true, fmt.Errorf("-no-sandbox and -unprotect are for work in place, and %s works elsewhere; give one of them (coder toolhost has both)", flags[0])
	case o.export != "" && (len(flags) == 0 || o.exec != ""):
		return from, len(flags) > 0, errors.New("-export brings changes from a copy, and this works in place; give -snapshot, -commit or -remote too")
	case o.prompt != "" && len(flags) == 1 && o.exec == "" && o.export == "":
		return from, true, errors.New("the copy ends with this program, and the changes with it; say with -export what becomes of them: dir, patch=FILE, branch=NAME or drop")
	}
	return from, len(flags) > 0, nil
}

// openWorkspace opens where the agent works; nil means the directory in place.
func (o options) openWorkspace() (luthier.Workspace, error) {
	from, elsewhere, err := o.workspace()
	if err != nil || !elsewhere {
		return nil, err
	}
	return luthier.Open(context.Background(), from)
}

// copied reports whether the agent works on a copy, whose changes can be exported.
func (o options) copied() bool { return o.snapshot || o.commit != "" || o.remote != "" }

// changes lists what is different in the copy.
func (a *app) changes(ctx context.Context) ([]sandbox.Change, error) {
	d, ok := sandbox.As[sandbox.Differ](a.place.Sandbox())
	if !ok {
		return nil, errors.New("the workspace cannot list its changes")
	}
	all, err := d.Changes(ctx)
	var out []sandbox.Change
	for _, c := range all {
		if !c.Mode.IsDir() && !sandbox.InGit(c.Path) {
			out = append(out, c)
		}
	}
	return out, err
}

// export brings the changes out of the copy: "dir" (or nothing) to the directory, "patch FILE" or
// "branch NAME". A = may stand for the blank.
func (a *app) export(ctx context.Context, how string) error {
	if a.place == nil {
		return errors.New("the agent works in place: there is nothing to export")
	}
	kind, name, _ := strings.Cut(strings.Replace(strings.TrimSpace(how), "=", " ", 1), " ")
	name = strings.TrimSpace(name)
	switch {
	case kind == "drop":
		return nil
	case kind == "" || kind == "dir":
		r, err := a.place.Export(ctx, sandbox.ExportOptions{Allow: a.allow(ctx)})
		if err != nil {
			return refused(r, err)
		}
		a.ui.note("exported to the directory: %d changes", len(r.Changes))
	case kind == "patch" && name != "":
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		r, err := a.place.Export(ctx, sandbox.ExportOptions{Patch: f, Allow: a.allow(ctx)})
		if err = errors.Join(err, f.Close()); err != nil {
			return refused(r, err)
		}
		a.ui.note("wrote %s; git apply takes it over", name)
	case kind == "branch" && name != "":
		commit, r, err := luthier.ExportBranch(ctx, a.place, luthier.Branch{Name: name, Allow: a.allow(ctx)})
		if err != nil {
			return refused(r, err)
		}
		a.ui.note("made the branch %s, commit %.12s; git merge takes it over", name, commit)
	default:
		return fmt.Errorf("export %q: use dir, patch FILE or branch NAME", how)
	}
	a.exported = true
	return nil
}

// refused adds to an error what the review has found.
func refused(r *sandbox.Review, err error) error {
	if r == nil {
		return err
	}
	for _, f := range r.Refused() {
		err = errors.Join(err, errors.New(f.String()))
	}
	return err
}

// allow asks the person about findings of the review; without one they are refused.
func (a *app) allow(ctx context.Context) func(sandbox.Finding) bool {
	if a.lines == nil {
		return nil
	}
	return func(f sandbox.Finding) bool {
		a.ui.note("%s: take it over? [y/n]", agent.Visible(f.String()))
		select {
		case line, ok := <-a.lines:
			return ok && strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y")
		case <-ctx.Done():
			return false
		}
	}
}

// leave reports whether the program may end: it reminds once of changes that were not exported.
func (a *app) leave(ctx context.Context) bool {
	if a.place == nil || !a.copied || a.exported || a.reminded {
		return true
	}
	changes, err := a.changes(ctx)
	if err == nil && len(changes) == 0 {
		return true
	}
	a.reminded = true
	a.summary(ctx)
	a.ui.note("leave again to drop them")
	return false
}

// summary shows what changed in the copy and how to take it over.
func (a *app) summary(ctx context.Context) {
	changes, err := a.changes(ctx)
	if err != nil {
		a.ui.problem(err)
		return
	}
	for i, c := range changes {
		if i == 20 {
			a.ui.note("and %d more", len(changes)-i)
			break
		}
		a.ui.note("%-8s %s", c.Kind, agent.Visible(c.Path))
	}
	a.ui.note("%d changes are only in the copy: /export, /export patch FILE or /export branch NAME takes them over", len(changes))
}
