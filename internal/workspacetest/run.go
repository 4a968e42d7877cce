package workspacetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A Suite holds the sessions in place, with which arrangements are compared.
type Suite struct {
	inPlace, noLog Open
	mu             sync.Mutex
	want           map[Caps]*Outcome
}

// New returns a suite that records the session in inPlace, and in noLog for arrangements whose
// index has no git log. Each is recorded when it is first needed.
func New(inPlace, noLog Open) *Suite {
	return &Suite{inPlace: inPlace, noLog: noLog, want: map[Caps]*Outcome{}}
}

// An Outcome holds what a session led to.
type Outcome struct {
	Results []string // what the model read, without what may differ between two runs
	Tree    manifest // the files at the end, as commands see them
	Others  []string // those that belong to another user than the one that commands run as
	Git     []string // git's index, references and commits
}

// patience limits a session. It ends one that hangs.
const patience = 5 * time.Minute

// Run opens an arrangement over a new repository, runs the session there, and compares what it led
// to with the session in place.
func (s *Suite) Run(t *testing.T, caps Caps, open Open) {
	t.Helper()
	want := s.reference(t, caps)
	dir := repository(t, false)
	before := hostState(t, filepath.Dir(dir), caps)
	w := open(t, dir)
	got, err := Play(t, w)
	if err != nil {
		t.Errorf("the session stopped: %v", err)
	}
	if caps.Commit {
		got.asClone()
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the session differs from that in place (-in place +here):\n%s", d)
	}
	must(t, w.Close())
	if caps.InPlace {
		return
	}
	if d := cmp.Diff(before, hostState(t, filepath.Dir(dir), caps)); d != "" {
		t.Errorf("the host's directory changed (-before +after):\n%s", d)
	}
}

// reference returns the outcome of the session in place.
func (s *Suite) reference(t *testing.T, caps Caps) *Outcome {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	caps.InPlace = true
	if s.want[caps] == nil {
		open := s.inPlace
		if caps.NoLog {
			open = s.noLog
		}
		w := open(t, repository(t, caps.Commit))
		got, err := Play(t, w)
		must(t, err)
		must(t, w.Close())
		if caps.Commit {
			got.asClone()
		}
		s.want[caps] = got
	}
	return s.want[caps]
}

// asClone leaves out what differs between two clones of a repository: how git keeps it, and the
// times of the files, by which glob orders what it finds.
func (o *Outcome) asClone() {
	o.Tree = slices.DeleteFunc(o.Tree, func(l string) bool { return strings.HasPrefix(pathOf(l), ".git/") })
	for i, r := range o.Results {
		if head, found, _ := strings.Cut(r, "\n"); strings.HasPrefix(head, "result of glob") {
			lines := strings.Split(found, "\n")
			slices.Sort(lines)
			o.Results[i] = head + "\n" + strings.Join(lines, "\n")
		}
	}
}

// repository makes the fixture in a directory of its own.
func repository(t *testing.T, clean bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(dir, 0o755))
	Fixture(t, dir, clean)
	return dir
}

// Play runs the session in a workspace. It also checks that this process and the commands see the
// same tree.
func Play(t *testing.T, w Workspace) (*Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out := &Outcome{}
	for i, turn := range script {
		if turn[0].tool == undo {
			if err := w.Undo(ctx); err != nil {
				return out, fmt.Errorf("undo: %w", err)
			}
			continue
		}
		results, err := w.Play(ctx, calls(turn))
		for j, r := range results {
			kind := "result"
			if r.IsError {
				kind = "error"
			}
			out.Results = append(out.Results, fmt.Sprintf("%s of %s %s\n%s", kind, turn[j].tool, turn[j].args, normal(r.Text, w.Name())))
		}
		if err != nil {
			return out, fmt.Errorf("turn %d: %w", i+1, err)
		}
		if len(results) != len(turn) {
			return out, fmt.Errorf("turn %d: %d results of %d calls", i+1, len(results), len(turn))
		}
	}
	if f, ok := w.(Finisher); ok {
		if err := f.Finish(ctx); err != nil {
			return out, fmt.Errorf("finish: %w", err)
		}
	}
	tree, err := commandManifest(ctx, w)
	if err != nil {
		return out, fmt.Errorf("look at the workspace: %w", err)
	}
	out.Tree, out.Others, out.Git = tree.Tree, tree.Others, tree.Git
	return out, sameView(ctx, t, w, tree.Tree)
}

// sameView checks that this process sees the tree that commands see.
func sameView(ctx context.Context, t *testing.T, w Workspace, tree manifest) error {
	v, ok := w.(Viewer)
	if !ok {
		return nil
	}
	err := v.View(ctx, func(root *os.Root) error {
		got, err := viewManifest(root)
		if d := cmp.Diff(tree, got); err == nil && d != "" {
			t.Errorf("this process sees another tree than commands (-commands +this process):\n%s", d)
		}
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
