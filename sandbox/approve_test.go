package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// approving opens a sandbox of a tier that every system has, since only the token is tested.
func approving(t *testing.T, cfg Config) *local {
	t.Helper()
	return open(t, cfg).(*local)
}

// Evidence: sandbox · An approval holds for one exact command, once
func TestApprovalIsForOneCommandOnce(t *testing.T) {
	l := approving(t, plain())
	other := approving(t, plain())
	cmd := Cmd{Args: []string{"sh", "-c", "echo $X"}, Dir: ".", Env: []string{"X=1"}}
	approve := func() string {
		t.Helper()
		a, err := l.Approve(cmd, Terms{Outside: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Digest) != 64 || strings.Contains(a.Token, a.Digest) || !a.Expires.After(time.Now()) {
			t.Errorf("%+v", a)
		}
		return a.Token
	}
	token := approve()
	exit, err := l.ExecApproved(t.Context(), token, cmd)
	if err != nil || exit.Stdout.String() != "1\n" {
		t.Fatalf("%v, %v", exit, err)
	}
	for name, try := range map[string]func(token string) (*Exit, error){
		"other sandbox": func(tok string) (*Exit, error) { return other.ExecApproved(t.Context(), tok, cmd) },
		"arguments": func(tok string) (*Exit, error) {
			c := cmd
			c.Args = []string{"sh", "-c", "echo $X", ""}
			return l.ExecApproved(t.Context(), tok, c)
		},
		"arguments joined differently": func(tok string) (*Exit, error) {
			c := cmd
			c.Args = []string{"sh", "-cecho $X"}
			return l.ExecApproved(t.Context(), tok, c)
		},
		"environment": func(tok string) (*Exit, error) {
			c := cmd
			c.Env = []string{"X=2"}
			return l.ExecApproved(t.Context(), tok, c)
		},
		"directory": func(tok string) (*Exit, error) {
			c := cmd
			c.Dir = "/"
			return l.ExecApproved(t.Context(), tok, c)
		},
		"half a token": func(tok string) (*Exit, error) {
			public, _, _ := strings.Cut(tok, ".")
			return l.ExecApproved(t.Context(), public+".", cmd)
		},
		"no token":   func(string) (*Exit, error) { return l.ExecApproved(t.Context(), "", cmd) },
		"used token": func(string) (*Exit, error) { return l.ExecApproved(t.Context(), token, cmd) },
	} {
		if exit, err := try(approve()); !errors.Is(err, ErrApproval) || exit != nil {
			t.Errorf("%s: %v, %v", name, exit, err)
		}
	}
	// A token that was tried with another command is used up.
	token = approve()
	changed := cmd
	changed.Dir = "/"
	_, _ = l.ExecApproved(t.Context(), token, changed)
	if _, err := l.ExecApproved(t.Context(), token, cmd); !errors.Is(err, ErrApproval) {
		t.Errorf("after a misuse: %v", err)
	}
}

func TestApprovalExpires(t *testing.T) {
	l := approving(t, plain())
	now := time.Now()
	l.asked.now = func() time.Time { return now }
	cmd := Cmd{Args: []string{"true"}}
	a, err := l.Approve(cmd, Terms{Outside: true, For: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if _, err := l.ExecApproved(t.Context(), a.Token, cmd); !errors.Is(err, ErrApproval) || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	for i := range maxApprovals + 1 {
		if _, err := l.Approve(cmd, Terms{Outside: true}); (err != nil) != (i == maxApprovals) {
			t.Fatalf("approval %d: %v", i, err)
		}
	}
	for _, bad := range []Terms{{}, {Outside: true, Net: "x"}, {Outside: true, For: -1}} {
		if _, err := l.Approve(cmd, bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestApprovalOpensOneWall checks that in an isolated sandbox only the approved command passes the
// wall.
func TestApprovalOpensOneWall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tier is Linux's")
	}
	outsideDir := t.TempDir()
	cfg := Config{Dir: t.TempDir(), Floor: TierNamespaces}
	l := approving(t, cfg)
	cmd := Cmd{Args: []string{"sh", "-c", "echo x > " + filepath.Join(outsideDir, "f")}}
	written := func() bool {
		_, err := os.Stat(filepath.Join(outsideDir, "f"))
		_ = os.Remove(filepath.Join(outsideDir, "f"))
		return err == nil
	}
	if exit := mustExec(t, l, cmd); exit.Success() || written() {
		t.Errorf("control: the wall does not stand: %v", exit)
	}
	for _, c := range []struct {
		terms Terms
		tier  Tier
	}{{Terms{Outside: true}, TierNone}, {Terms{Writable: outsideDir}, TierNamespaces}} {
		a, err := l.Approve(cmd, c.terms)
		if err != nil {
			t.Fatal(err)
		}
		exit, err := l.ExecApproved(t.Context(), a.Token, cmd)
		if err != nil || !exit.Success() || !written() || exit.Isolation.Tier != c.tier {
			t.Errorf("%+v: %v, %v, tier %v", c.terms, exit, err, exit.Isolation.Tier)
		}
		if exit := mustExec(t, l, cmd); exit.Success() || written() {
			t.Errorf("%+v: the wall does not stand any more: %v", c.terms, exit)
		}
	}
	snap := approving(t, Config{Snapshot: SnapshotDir(t.TempDir()), Floor: TierNamespaces})
	if _, err := snap.Approve(cmd, Terms{Outside: true}); err == nil || !strings.Contains(err.Error(), "export") {
		t.Errorf("over a snapshot: %v", err)
	}
}
