package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// hoard uses memory in several processes, each of which stays within the limit.
const hoard = `for i in 1 2 3 4; do sh -c 'x=$(head -c 60000000 /dev/zero | tr "\0" a); sleep 20' & done; wait`

func limitNamed(t *testing.T, sb Sandbox, name string) Limit {
	t.Helper()
	for _, l := range sb.Isolation().Limits {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no limit %q in %v", name, sb.Isolation().Limits)
	return Limit{}
}

// TestMemoryTotal checks the limit on memory used by many processes, which no process limit covers.
//
// Evidence: sandbox · Memory is limited for the sandbox as a whole
func TestMemoryTotal(t *testing.T) {
	cfg := walled(t, TierNamespaces)
	cfg.Limits.MemoryTotal = 128 << 20
	sb := open(t, cfg)
	l := limitNamed(t, sb, "memory of all")
	t.Logf("%+v", l)
	if !l.Enforced || l.Value != 128<<20 {
		t.Errorf("%+v", l)
	}
	var files []string
	if g := sb.(*local).run.(*guestSpawner).bounds.group; g != nil {
		files = g.Files()
	}
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", hoard}})
	if err != nil {
		t.Fatal(err)
	}
	if g := sb.(*local).run.(*guestSpawner).bounds.group; g != nil {
		eventually(t, "a killing by the kernel", func() bool { return g.Kills() > 0 })
		_ = p.Kill() // the remaining processes would keep sleeping
	}
	if exit, err := p.Wait(); err != nil || strings.HasPrefix(l.By, "watchdog") && exit.Exceeded != ExceededMemory {
		t.Errorf("240 MB were had against a limit of 128 MiB: %v, %v", exit, err)
	}
	if exit := mustExec(t, sb, Cmd{Args: []string{"true"}}); !exit.Success() || exit.Exceeded != "" {
		t.Errorf("afterwards: %v", exit)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	for _, f := range files {
		if _, err := os.Stat(f); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", f, err)
		}
	}
}

// TestMemoryWatchdog checks the same limit if no control group can be made.
//
// Evidence: sandbox · Memory is limited for the sandbox as a whole
func TestMemoryWatchdog(t *testing.T) {
	tier.Normal(t)
	cfg := walled(t, TierNamespaces)
	cfg, err := cfg.withDir(t).normalize()
	if err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Limits.MemoryTotal = 128 << 20
	r, err := raiseWatched(t, &cfg, ws)
	if err != nil {
		_ = ws.remove()
		t.Skipf("this host does not grant the tier: %v", err)
	}
	sb := newLocal(ws, r.plan.env, r.iso, r.run)
	defer sb.Close()
	for what, script := range map[string]string{
		"processes": hoard,
		"/dev/shm":  "head -c 200000000 /dev/zero > /dev/shm/a; sleep 20",
	} {
		exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}, Timeout: 30 * time.Second})
		if exit.Exceeded != ExceededMemory || exit.TimedOut || exit.Success() {
			t.Errorf("%s: %v", what, exit)
		}
		eventually(t, "a sandbox that can be used again", func() bool {
			return mustExec(t, sb, Cmd{Args: []string{"sleep", "0.2"}}).Success()
		})
	}
	if exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "x=$(head -c 20000000 /dev/zero | tr '\\0' a)"}}); !exit.Success() {
		t.Errorf("within the limit: %v %s", exit, exit.Stderr)
	}
}

func (c Config) withDir(t *testing.T) Config {
	c.Dir = t.TempDir()
	return c
}

// raiseWatched starts a supervisor as if no control group were available.
func raiseWatched(t *testing.T, cfg *Config, ws *workspace) (*raised, error) {
	t.Helper()
	id := hostIdentity()
	p, err := makePlan(cfg, ws, id.inUID, id.inGID)
	if err == nil {
		err = ws.own(id.owner())
	}
	if err != nil {
		return nil, err
	}
	sp := &spec{Tier: TierNamespaces, Root: true, Mounts: p.mounts, Hostname: "sandbox", Limits: cfg.Limits}
	none := bounds{why: errors.New("the test wants none")}
	sp.Watch = none.watch(cfg.Limits)
	run, f, err := launch(t.Context(), sp, launchOptions{broker: &spawnOrder{User: id.wire(), Owned: p.ownedList(), Scratch: cfg.ScratchDir}})
	if err != nil {
		return nil, err
	}
	return &raised{plan: p, iso: none.isolation(sp, f, id, cfg, ws), run: run}, nil
}

func TestLimitsAreReported(t *testing.T) {
	sb := open(t, walled(t, TierNamespaces))
	want := []string{"memory per process", "memory of all", "processes", "open files per process", "file size", "processors", "shared memory", "disk", "files on disk"}
	var got []string
	for _, l := range sb.Isolation().Limits {
		got = append(got, l.Name)
		if l.By == "" || l.Enforced && l.Value == 0 {
			t.Errorf("%+v", l)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("limits %q", got)
	}
	if l := limitNamed(t, sb, "processes"); !l.Enforced || l.Value != defaultProcesses {
		t.Errorf("%+v", l)
	}
	t.Log(sb.Isolation())
}
