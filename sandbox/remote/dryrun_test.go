package remote

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestTrialCutAnywhere cuts the connection after different numbers of bytes, in coarse steps,
// during a command's trial: the command must run once, and its changes must be taken over once.
func TestTrialCutAnywhere(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	s, url := newTestServer(t, func(c *Config) { c.Tenants[0].Quota.Sandboxes = -1 })
	cut := newCutter(t, url)
	sb := openAt(t, Options{URL: "http://" + cut.Addr().String(), Dir: workspace(t)})
	step := tier.Pick[int64](1409, 97, 13)
	cuts := 0
	for at := int64(0); ; at += step {
		cut.left.Store(at)
		cuts++
		trial, err := sb.DryRun(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "echo x >> log; wc -l < log"}})
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		if got := strings.TrimSpace(trial.Exit.Stdout.String()); got != fmt.Sprint(cuts) || len(trial.Changes) != 1 {
			t.Fatalf("cut after %d bytes: %s lines, want %d, %v", at, got, cuts, trial.Changes)
		}
		if err := trial.Commit(t.Context(), nil); err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		if n, _, _ := s.state(); n != 1 {
			t.Fatalf("cut after %d bytes: %d sandboxes are open", at, n)
		}
		if cut.left.Load() < 1<<59 { // the exchange was shorter
			break
		}
		if at > 1_000_000 {
			t.Fatal("the exchange has no end")
		}
	}
	if e := sh(t, sb, "wc -l < log"); strings.TrimSpace(e.Stdout.String()) != fmt.Sprint(cuts) {
		t.Errorf("%s lines after %d trials", e.Stdout, cuts)
	}
	t.Logf("cut at %d places", cuts)
}

// TestAdoptIsDoneOnce checks that a fork that was adopted is not adopted again after later changes,
// and that no tenant can adopt another's fork.
func TestAdoptIsDoneOnce(t *testing.T) {
	s, url := newTestServer(t, func(c *Config) { c.Tenants = append(c.Tenants, Tenant{Name: "b", Token: "another tenant's token"}) })
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	f := forked(t, sb).(*Sandbox)
	sh(t, f, "echo 1 > n")
	other := openAt(t, Options{URL: url, Token: "another tenant's token"})
	if err := other.Adopt(t.Context(), f); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("another's fork: %v", err)
	}
	path := "/adopt/" + f.c.id
	if err := sb.Adopt(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	sh(t, sb, "echo 2 > n")
	if err := sb.ask(t.Context(), "POST", path, nil, nil); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if got := sh(t, sb, "cat n").Stdout.String(); got != "2\n" {
		t.Errorf("left: %s", got)
	}
	if n, _, _ := s.state(); n != 2 { // including the other tenant's
		t.Errorf("%d sandboxes are open, want 2", n)
	}
	if _, err := sb.ChangesSince(t.Context(), 7); err == nil {
		t.Error("a point that there is not")
	}
}
