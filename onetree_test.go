package luthier_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools/coding"
)

// wrapped hides everything that a sandbox has besides the interface.
type wrapped struct{ sandbox.Sandbox }

// TestNewRefusesASecondTree: New accepts a sandbox that works on the directory and refuses every
// other one with an error that says what to do, whether it is given in Options or in Customize. It
// leaves nothing in the workspace.
//
// Evidence: luthier · A sandbox that works on another tree than the workspace is refused
func TestNewRefusesASecondTree(t *testing.T) {
	tier.Normal(t)
	ctx := context.Background()
	local := func(t *testing.T, cfg sandbox.Config) sandbox.Sandbox {
		box, err := sandbox.Local(ctx, cfg)
		if errors.Is(err, sandbox.ErrFloor) {
			t.Skipf("no sandbox on this host: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { box.Close() })
		return box
	}
	type opener func(t *testing.T, dir string, floor sandbox.Tier) sandbox.Sandbox
	snapshot := func(t *testing.T, dir string, floor sandbox.Tier) sandbox.Sandbox {
		return local(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: floor, Ceiling: floor})
	}
	fork := func(t *testing.T, dir string, floor sandbox.Tier) sandbox.Sandbox {
		box, err := snapshot(t, dir, floor).(sandbox.Forker).Fork(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { box.Close() })
		return box
	}
	inPlace := func(t *testing.T, dir string, floor sandbox.Tier) sandbox.Sandbox {
		return local(t, sandbox.Config{Dir: dir, Floor: floor, Ceiling: floor})
	}
	lease := func(t *testing.T, dir string, floor sandbox.Tier) sandbox.Sandbox {
		pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{Floor: floor, Ceiling: floor}, Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close() })
		box, err := pool.Acquire(ctx, sandbox.Request{Snapshot: sandbox.SnapshotDir(dir), Tenant: "a", Domain: "a"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { box.Close() })
		return box
	}
	for name, tt := range map[string]struct {
		open opener
		want bool
	}{
		"in place":          {inPlace, true},
		"in place, wrapped": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox { return wrapped{inPlace(t, dir, f)} }, true},
		"in place, by another name": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(dir, link); err != nil {
				t.Skip(err)
			}
			return inPlace(t, link, f)
		}, true},
		"in place, read-only": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			return local(t, sandbox.Config{Dir: dir, ReadOnlyDir: true, Floor: f, Ceiling: f})
		}, true},
		"snapshot": {snapshot, false},
		"snapshot of a commit": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			return local(t, sandbox.Config{Snapshot: sandbox.SnapshotCommit(dir, "HEAD"), Floor: f, Ceiling: f})
		}, false},
		"snapshot, wrapped": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox { return wrapped{snapshot(t, dir, f)} }, false},
		"fork":              {fork, false},
		"fork, wrapped":     {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox { return wrapped{fork(t, dir, f)} }, false},
		"lease":             {lease, false},
		"lease, wrapped":    {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox { return wrapped{lease(t, dir, f)} }, false},
		"another directory": {func(t *testing.T, _ string, f sandbox.Tier) sandbox.Sandbox { return inPlace(t, t.TempDir(), f) }, false},
		"the parent": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			return inPlace(t, filepath.Dir(dir), f)
		}, false},
		"a copy": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			work := filepath.Join(t.TempDir(), "repo")
			if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			return wrapped{inPlace(t, work, f)}
		}, false},
		"remote": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			return remoteBox(t, dir, sandbox.Config{Floor: f, Ceiling: f})
		}, false},
		"remote, wrapped": {func(t *testing.T, dir string, f sandbox.Tier) sandbox.Sandbox {
			return wrapped{remoteBox(t, dir, sandbox.Config{Floor: f, Ceiling: f})}
		}, false},
	} {
		for _, floor := range []sandbox.Tier{sandbox.TierNone, sandbox.TierNamespaces} {
			t.Run(name+"/"+floor.String(), func(t *testing.T) {
				t.Parallel()
				dir := faultyRepo(t)
				if real, err := filepath.EvalSymlinks(dir); err == nil {
					dir = real
				}
				if name == "in place, read-only" && floor == sandbox.TierNone {
					t.Skip("plain processes can write everywhere")
				}
				box := tt.open(t, dir, floor)
				for _, customize := range []bool{false, true} {
					opts := luthier.Options{Model: agenttest.Script(), NoIndex: true, NoCheckpoints: true, StateDir: t.TempDir()}
					if opts.Sandbox = box; customize {
						opts.Sandbox, opts.NoSandbox = nil, true
						opts.Customize = func(c *coding.Config, _ *agent.Config) { c.Proc.Sandbox = box }
					}
					c, err := luthier.New(ctx, dir, opts)
					switch {
					case tt.want && err != nil:
						t.Errorf("customize %t: %v", customize, err)
					case !tt.want && (err == nil || !strings.Contains(err.Error(), "Options.Workspace")):
						t.Errorf("customize %t: no error that says what to do: %v", customize, err)
					}
					if c != nil {
						c.Close()
					}
				}
				if left, _ := filepath.Glob(filepath.Join(dir, ".luthier*")); len(left) > 0 {
					t.Errorf("%v was left", left)
				}
			})
		}
	}
}

// remoteBox uploads dir to a server over loopback.
func remoteBox(t *testing.T, dir string, cfg sandbox.Config) sandbox.Sandbox {
	t.Helper()
	srv, err := remote.NewServer(remote.Config{Dir: t.TempDir(), Tenants: []remote.Tenant{{Name: "ci", Token: "a long random token"}}, Sandbox: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	listener := httptest.NewServer(srv)
	t.Cleanup(listener.Close)
	box, err := remote.Open(context.Background(), remote.Options{URL: listener.URL, Token: "a long random token", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}
