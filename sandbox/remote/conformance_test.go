package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// opener opens a sandbox over a snapshot of a directory.
type opener func(t *testing.T, dir string) sandbox.Sandbox

// kindsOf returns the ways to open a sandbox that must behave the same for a program.
func kindsOf(t *testing.T, cfg sandbox.Config) map[string]opener {
	closing := func(t *testing.T, sb sandbox.Sandbox) sandbox.Sandbox {
		t.Cleanup(func() {
			if err := sb.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return sb
	}
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: cfg, Max: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("close pool: %v", err)
		}
	})
	_, url := newTestServer(t, func(c *Config) { c.Sandbox, c.Tenants[0].Quota.Sandboxes = cfg, -1 })
	return map[string]opener{
		"local": func(t *testing.T, dir string) sandbox.Sandbox {
			cfg := cfg
			cfg.Snapshot = sandbox.SnapshotDir(dir)
			sb, err := sandbox.Local(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			return closing(t, sb)
		},
		"pool": func(t *testing.T, dir string) sandbox.Sandbox {
			sb, err := pool.Acquire(t.Context(), sandbox.Request{Snapshot: sandbox.SnapshotDir(dir), Domain: "test"})
			if err != nil {
				t.Fatal(err)
			}
			return closing(t, sb)
		},
		"remote": func(t *testing.T, dir string) sandbox.Sandbox {
			return openAt(t, Options{URL: url, Dir: dir})
		},
	}
}

// granted skips the test if this host does not support the tier.
func granted(t *testing.T, tier sandbox.Tier) sandbox.Config {
	cfg := sandbox.Config{Floor: tier, Ceiling: tier}
	probe := cfg
	probe.Dir = t.TempDir()
	sb, err := sandbox.Local(t.Context(), probe)
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skipf("this host does not grant the tier: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestConformance checks that a sandbox behaves the same wherever it runs.
//
// Evidence: remote · A remote sandbox behaves as a local one
func TestConformance(t *testing.T) {
	t.Parallel()
	tiers := []sandbox.Tier{sandbox.TierNamespaces, sandbox.TierNone}
	if testing.Short() {
		tiers = tiers[:1]
	}
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			t.Parallel()
			for kind, open := range kindsOf(t, granted(t, tier)) {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					for _, b := range behaviours {
						t.Run(b.name, func(t *testing.T) {
							t.Parallel() // the test mostly waits
							b.check(t, open)
						})
					}
				})
			}
		})
	}
}

var behaviours = []struct {
	name  string
	check func(t *testing.T, open opener)
}{
	{"commands", checkCommands},
	{"output", checkOutput},
	{"processes", checkProcesses},
	{"limits of time", checkTime},
	{"files as they were", checkFiles},
	{"changes", checkChanges},
	{"diff", checkDiff},
	{"review", checkReview},
	{"export", checkExport},
	{"patch", checkPatch},
	{"conflict", checkConflict},
	{"fork", checkFork},
	{"restore", checkRestore},
	{"dry run", checkDryRun},
	{"adopt", checkAdopt},
	{"busy", checkBusy},
	{"approval", checkApproval},
	{"closed", checkClosed},
	{"denials", checkDenials},
}

func mustRun(t *testing.T, sb sandbox.Sandbox, cmd sandbox.Cmd) *sandbox.Exit {
	t.Helper()
	exit, err := sb.Exec(t.Context(), cmd)
	if err != nil {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return exit
}

func checkCommands(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	if e := sh(t, sb, "cat a.txt link; ./run.sh it; echo err >&2; exit 7"); e.Code != 7 || e.Stdout.String() != "text a\ntext b\nran it\n" || e.Stderr.String() != "err\n" || e.Success() {
		t.Errorf("%v %q %q", e, e.Stdout, e.Stderr)
	}
	e := mustRun(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", "pwd; cat; echo $X >&2"}, Dir: "sub", Env: []string{"X=y"}, Stdin: strings.NewReader("in\n"), MergeStderr: true})
	if e.Stdout.String() != sb.Dir()+"/sub\nin\ny\n" || e.Stderr.Total != 0 {
		t.Errorf("%q, %q", e.Stdout, e.Stderr)
	}
	if e := mustRun(t, sb, sandbox.Cmd{Args: []string{"printf", "%s", "\xff\x00"[:1]}}); e.Stdout.String() != "\xff" {
		t.Errorf("an argument that is no text arrived as %q", e.Stdout.String())
	}
	if e := sh(t, sb, "kill -TERM $$"); e.Signal != syscall.SIGTERM || e.Code != 128+15 {
		t.Errorf("%+v", e)
	}
	if e.Isolation.Tier != sb.Isolation().Tier || len(e.Isolation.Walls) == 0 {
		t.Errorf("isolation of a command: %+v", e.Isolation)
	}
	if e.Wall <= 0 || e.MaxRSS <= 0 {
		t.Errorf("a command that took %v and %d bytes", e.Wall, e.MaxRSS)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
	for _, bad := range []sandbox.Cmd{{}, {Args: []string{""}}, {Args: []string{"true"}, Env: []string{"x"}}, {Args: []string{"true"}, Timeout: -1}} {
		if _, err := sb.Exec(t.Context(), bad); err == nil {
			t.Errorf("%+v was run", bad)
		}
	}
}

func checkOutput(t *testing.T, open opener) {
	sb := open(t, t.TempDir())
	var spill, seen bytes.Buffer
	e := mustRun(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo END"}, Limit: 1000, Spill: &spill,
		OnOutput: func(s sandbox.Stream, b []byte) {
			if s == sandbox.Stdout {
				seen.Write(b)
			}
		}})
	want := strings.Repeat("x", 300000) + "END\n"
	if spill.String() != want || seen.String() != want || e.Stdout.Total != int64(len(want)) || e.Stdout.Omitted() != int64(len(want))-1000 {
		t.Errorf("%d spilled, %d seen, %d in all, %d omitted", spill.Len(), seen.Len(), e.Stdout.Total, e.Stdout.Omitted())
	}
}

func checkProcesses(t *testing.T, open opener) {
	sb := open(t, t.TempDir())
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"one ", "two"} {
		if _, err := io.WriteString(p, s); err != nil {
			t.Error(err)
		}
	}
	_ = p.CloseStdin()
	if e, err := p.Wait(); err != nil || e.Stdout.String() != "one two" {
		t.Errorf("%v %v", e, err)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal to one that has ended: %v", err)
	}
	if p, err = sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if e, err := p.Wait(); err != nil || e.Signal != syscall.SIGINT {
		t.Errorf("%v %v", e, err)
	}
	if p, err = sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if e, err := p.Wait(); err != nil || e.Signal != syscall.SIGKILL || e.Canceled || e.TimedOut {
		t.Errorf("%+v %v", e, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if p, err = sb.Start(ctx, sandbox.Cmd{Args: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	cancel(why)
	if e, err := p.Wait(); !e.Canceled || !errors.Is(err, why) {
		t.Errorf("%+v %v", e, err)
	}
}

func checkTime(t *testing.T, open opener) {
	sb := open(t, t.TempDir())
	for range 10 { // the clocks of two machines must not race
		if e := mustRun(t, sb, sandbox.Cmd{Args: []string{"sleep", "1000"}, Timeout: 20 * time.Millisecond}); !e.TimedOut {
			t.Fatalf("%v: %+v", e, e)
		}
	}
	e := mustRun(t, sb, sandbox.Cmd{Args: []string{"sh", "-c", "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done"}, Timeout: 3 * time.Second, Grace: time.Minute})
	if !e.TimedOut || e.Code != 3 || e.Stdout.String() != "ready\nasked\n" {
		t.Errorf("grace: %+v, %q", e, e.Stdout)
	}
}

func checkApproval(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	a := sb.(sandbox.Approver)
	cmd := sandbox.Cmd{Args: []string{"touch", "ran"}}
	if got, err := a.Approve(cmd, sandbox.Terms{Outside: true}); err == nil || got.Token != "" {
		t.Errorf("approved over a snapshot: %+v", got)
	}
	if _, err := a.ExecApproved(t.Context(), "A.B", cmd); !errors.Is(err, sandbox.ErrApproval) {
		t.Errorf("%v, want ErrApproval", err)
	}
	if c := changed(t, sb); len(c) > 0 {
		t.Errorf("%v", c)
	}
}

func checkClosed(t *testing.T, open opener) {
	sb := open(t, workspace(t))
	other := forked(t, sb)
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	}
	if e, _ := p.Wait(); e.Success() {
		t.Errorf("a command outlived its sandbox: %+v", e)
	}
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["exec"] = sb.Exec(ctx, sandbox.Cmd{Args: []string{"true"}})
	_, errs["changes"] = sb.(sandbox.Differ).Changes(ctx)
	errs["diff"] = sb.(sandbox.Exporter).Diff(ctx, sandbox.AtSnapshot, io.Discard)
	_, errs["export"] = sb.(sandbox.Exporter).Export(ctx, sandbox.ExportOptions{Dir: t.TempDir()})
	_, errs["review"] = sb.(sandbox.Reviewer).Review(ctx)
	_, errs["dry run"] = sb.(sandbox.DryRunner).DryRun(ctx, sandbox.Cmd{Args: []string{"true"}})
	errs["adopt"] = sb.(sandbox.Adopter).Adopt(ctx, other)
	_, errs["since"] = sb.(sandbox.Adopter).ChangesSince(ctx, sandbox.AtFork)
	_, errs["fork"] = sb.(sandbox.Forker).Fork(ctx)
	errs["restore"] = sb.(sandbox.Restorer).Restore(ctx, sandbox.AtSnapshot)
	_, errs["approved"] = sb.(sandbox.Approver).ExecApproved(ctx, "A.B", sandbox.Cmd{Args: []string{"true"}})
	for what, err := range errs {
		if !errors.Is(err, sandbox.ErrClosed) || !strings.HasPrefix(err.Error(), "sandbox: ") {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
}

// checkDenials checks that a refusal is reported wherever the sandbox runs.
func checkDenials(t *testing.T, open opener) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	sb := open(t, t.TempDir())
	if !sb.Isolation().Wall(sandbox.WallNetwork).Enforced || slices.ContainsFunc(sb.Isolation().Missing, func(m string) bool { return strings.Contains(m, "not recorded") }) {
		t.Skip("nothing is refused or recorded here")
	}
	e := mustRun(t, sb, sandbox.Cmd{Args: []string{bash, "-c", "echo > /dev/tcp/192.0.2.1/443"}})
	want := sandbox.Denial{Call: "connect", Host: "192.0.2.1:443", Errno: syscall.ENETUNREACH, Wall: sandbox.WallNetwork, Count: 1}
	for _, d := range e.Denials {
		if d.Call == want.Call && d.Host == want.Host && d.Errno == want.Errno && d.Wall == want.Wall && d.Count == want.Count && d.Rule != "" && d.Grant != "" {
			return
		}
	}
	t.Errorf("denials %+v, want one like %+v", e.Denials, want)
}
