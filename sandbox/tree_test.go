package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// aTree opens the workspace of a sandbox, for as long as the test.
func aTree(t testing.TB, sb Sandbox) *Tree {
	t.Helper()
	tree, err := sb.(Treer).Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return tree
}

// viewOf and changeIn run f with a tree and end the test if it fails.
func viewOf(t testing.TB, tree *Tree, f func(*os.Root) error) {
	t.Helper()
	if err := tree.View(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func changeIn(t testing.TB, tree *Tree, f func(*os.Root) error) {
	t.Helper()
	if err := tree.Change(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// inTree reads a file through a tree.
func inTree(t testing.TB, tree *Tree, name string) (text string) {
	t.Helper()
	viewOf(t, tree, func(root *os.Root) error {
		b, err := root.ReadFile(name)
		text = string(b)
		return err
	})
	return text
}

// inView runs a call on a tree that begins before inView returns and ends with end.
func inView(t *testing.T, tree *Tree) (end func() error) {
	t.Helper()
	begun, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- tree.View(context.Background(), func(*os.Root) error {
			close(begun)
			<-release
			return nil
		})
	}()
	select {
	case <-begun:
	case err := <-done:
		t.Fatal(err)
	}
	return sync.OnceValue(func() error {
		close(release)
		return <-done
	})
}

// TestTreeCallsComeFirst checks that a fork, a restore, an adoption, an export and a dry run wait
// for calls on the tree, with the limit of their context, and that calls that come later wait for
// them.
//
// Evidence: sandbox · Forks wait for the calls that use a workspace's tree
func TestTreeCallsComeFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "f", "f")
	sb := open(t, Config{Snapshot: SnapshotDir(dir), Floor: TierNone})
	tree := aTree(t, sb)
	child := fork(t, sb)
	for name, do := range map[string]func(context.Context) error{
		"fork": func(ctx context.Context) error {
			k, err := sb.(Forker).Fork(ctx)
			if err == nil {
				err = k.Close()
			}
			return err
		},
		"restore": func(ctx context.Context) error { return sb.(Restorer).Restore(ctx, AtSnapshot) },
		"export": func(ctx context.Context) error {
			_, err := sb.(Exporter).Export(ctx, ExportOptions{Patch: io.Discard})
			return err
		},
		"dry run": func(ctx context.Context) error {
			trial, err := sb.(DryRunner).DryRun(ctx, Cmd{Args: []string{"true"}})
			if err == nil {
				err = trial.Drop()
			}
			return err
		},
		"adopt": func(ctx context.Context) error { return sb.(Adopter).Adopt(ctx, child) },
	} {
		end := inView(t, tree)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := do(ctx); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s during a call: %v", name, err)
		}
		cancel()
		if name == "adopt" { // it cannot be done twice
			if err := end(); err != nil {
				t.Error(err)
			}
			continue
		}
		did := make(chan error, 1)
		go func() { did <- do(t.Context()) }()
		eventually(t, "let calls wait for the "+name, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			return errors.Is(tree.View(ctx, func(*os.Root) error { return nil }), context.DeadlineExceeded)
		})
		select {
		case err := <-did:
			t.Errorf("%s during a call: %v", name, err)
		default:
		}
		if err := errors.Join(end(), <-did); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := inTree(t, tree, "f"); got != "f" {
			t.Errorf("after the %s: %q", name, got)
		}
	}
}

// TestTreeFollowsTheWorkspace checks that a tree shows the workspace after it was restored, adopted
// from a fork, exported and dry-run, and counts the generations.
func TestTreeFollowsTheWorkspace(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "old")
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		tree := aTree(t, sb)
		set := func(tree *Tree, text string) {
			t.Helper()
			changeIn(t, tree, func(root *os.Root) error { return root.WriteFile("f", []byte(text), 0o644) })
		}
		see := func(want string, generations uint64) {
			t.Helper()
			if got, now := inTree(t, tree, "f"), tree.Generation(); got != want || now != generations {
				t.Errorf("f is %q in generation %d, want %q in %d", got, now, want, generations)
			}
			if got := sh(t, sb, "cat f"); got != want {
				t.Errorf("a command sees %q, want %q", got, want)
			}
		}
		set(tree, "changed")
		see("changed", 0)
		if err := sb.(Restorer).Restore(t.Context(), AtSnapshot); err != nil {
			t.Fatal(err)
		}
		see("old", 1)
		child, err := sb.(Forker).Fork(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of := aTree(t, child)
		set(of, "adopted")
		see("old", 2)
		if err := sb.(Adopter).Adopt(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		see("adopted", 3)
		if err := of.View(t.Context(), func(*os.Root) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("the tree of an adopted fork: %v", err)
		}
		trial, err := sb.(DryRunner).DryRun(t.Context(), Cmd{Args: []string{"sh", "-c", "printf tried > f"}})
		if err != nil {
			t.Fatal(err)
		}
		see("adopted", 4)
		if err := trial.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		see("tried", 5)
		if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		see("tried", 5)
		if got := read(t, filepath.Join(dir, "f")); got != "tried" {
			t.Errorf("exported %q", got)
		}
	})
}

// TestTreeClose checks that a sandbox that is closed during a call ends that call with an error,
// and that nothing can be done afterwards.
//
// Evidence: sandbox · Closing a sandbox ends the calls that use its tree
func TestTreeClose(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Snapshot, cfg.ScratchDir = SnapshotDir(t.TempDir()), t.TempDir()
		sb := open(t, cfg)
		tree := aTree(t, sb)
		begun, done := make(chan struct{}), make(chan error, 1)
		go func() {
			done <- tree.View(context.Background(), func(root *os.Root) error {
				close(begun)
				for {
					if _, err := root.Stat("."); err != nil {
						return err
					}
				}
			})
		}()
		<-begun
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("the call that ran: %v", err)
		}
		if err := tree.Change(t.Context(), func(*os.Root) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("a call afterwards: %v", err)
		}
		if _, err := sb.(Treer).Tree(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("a tree afterwards: %v", err)
		}
		if left, _ := filepath.Glob(cfg.ScratchDir + "/*"); len(left) > 0 {
			t.Errorf("left on the host: %v", left)
		}
	})
}

// TestTreeHandles checks that trees of one sandbox are independent, and that the errors of a call
// are the caller's own.
func TestTreeHandles(t *testing.T) {
	t.Parallel()
	sb := open(t, Config{Snapshot: SnapshotDir(t.TempDir()), Floor: TierNone})
	a, b := aTree(t, sb), aTree(t, sb)
	changeIn(t, a, func(root *os.Root) error { return root.WriteFile("f", []byte("x"), 0o644) })
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := a.View(t.Context(), func(*os.Root) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed tree: %v", err)
	}
	if got := inTree(t, b, "f"); got != "x" {
		t.Errorf("the other tree: %q", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	c := aTree(t, sb)
	if got := inTree(t, c, "f"); got != "x" {
		t.Errorf("a third tree: %q", got)
	}
	own := errors.New("own")
	if err := c.View(t.Context(), func(*os.Root) error { return own }); err != own {
		t.Errorf("the call's own error: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	end := inView(t, c)
	k := make(chan error, 1)
	go func() {
		f, err := sb.(Forker).Fork(t.Context())
		if err == nil {
			err = f.Close()
		}
		k <- err
	}()
	waiting := make(chan error, 1)
	cancel(own)
	eventually(t, "let the fork wait", func() bool {
		waiting <- c.View(ctx, func(*os.Root) error { return nil })
		return errors.Is(<-waiting, own)
	})
	if err := errors.Join(end(), <-k); err != nil {
		t.Error(err)
	}
}

// TestTreeInPlace checks the trees of a directory itself, of which one belongs to a sandbox.
func TestTreeInPlace(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Dir = t.TempDir()
		sb := open(t, cfg)
		plain, err := DirTree(cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		of := aTree(t, sb)
		if plain.Name() != sb.Dir() || of.Name() != sb.Dir() || plain.ID() != of.ID() || strings.ContainsAny(of.ID(), "./\\") {
			t.Errorf("trees %s (%s) and %s (%s) of %s", plain.Name(), plain.ID(), of.Name(), of.ID(), sb.Dir())
		}
		for i, tree := range []*Tree{plain, of} {
			name := fmt.Sprint("f", i)
			changeIn(t, tree, func(root *os.Root) error { return root.WriteFile(name, []byte("x"), 0o644) })
			if got := sh(t, sb, "echo y >> "+name+"; cat "+name); got != "xy\n" {
				t.Errorf("a command sees %q", got)
			}
			if got := inTree(t, tree, name); got != "xy\n" || read(t, filepath.Join(cfg.Dir, name)) != got {
				t.Errorf("the tree has %q", got)
			}
		}
	})
	if _, err := DirTree(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// TestTreeReadOnly checks that a workspace that commands cannot write is not written through its
// tree.
func TestTreeReadOnly(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Dir, cfg.ReadOnlyDir = t.TempDir(), true
		write(t, cfg.Dir, "f", "x")
		tree := aTree(t, open(t, cfg))
		if err := tree.Change(t.Context(), func(root *os.Root) error { return root.Remove("f") }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("changed a read-only workspace: %v", err)
		}
		if got := inTree(t, tree, "f"); got != "x" {
			t.Errorf("read %q", got)
		}
	})
}

// TestTreeTogether uses a tree from many goroutines while the workspace is forked and restored; the
// race detector watches. Each call sees one state: a file and its copy are equal.
func TestTreeTogether(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, Config{Snapshot: SnapshotDir(t.TempDir()), Floor: TierNone})
	tree := aTree(t, sb)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			for n := 0; ctx.Err() == nil; n++ {
				text := []byte(fmt.Sprint(n))
				err := tree.Change(ctx, func(root *os.Root) error {
					return errors.Join(root.WriteFile(a, text, 0o644), root.WriteFile(b, text, 0o644))
				})
				if err == nil {
					err = tree.View(ctx, func(root *os.Root) error {
						x, err := root.ReadFile(a)
						if errors.Is(err, os.ErrNotExist) { // restored
							return nil
						}
						y, err2 := root.ReadFile(b)
						if string(x) != string(y) {
							err = fmt.Errorf("%q and %q", x, y)
						}
						return errors.Join(err, err2)
					})
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range tier.Pick(3, 10, 100) {
		k, err := sb.(Forker).Fork(t.Context())
		if err != nil {
			t.Error(err)
			break
		}
		if err := errors.Join(k.Close(), sb.(Restorer).Restore(t.Context(), AtFork)); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
}
