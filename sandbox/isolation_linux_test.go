package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// inside runs a helper in the sandbox and reports whether it reached its goal.
func inside(t *testing.T, sb Sandbox, name string, args ...string) (reached bool, why string) {
	t.Helper()
	exit := mustExec(t, sb, Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + name}, Timeout: time.Minute})
	if exit.Code > 1 && exit.Signal == 0 {
		t.Fatalf("helper %s: %v %s", name, exit, exit.Stderr)
	}
	return exit.Code == 0, exit.Stderr.String()
}

// outside is the control run, which shows that the attack succeeds if nothing stops it.
func outside(t *testing.T, name string, args ...string) bool {
	t.Helper()
	cmd := exec.Command(self(t), args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+name)
	return cmd.Run() == nil
}

// walled returns a configuration in which the test binary can run.
func walled(t *testing.T, tier Tier) Config {
	return Config{Floor: tier, Ceiling: tier, ReadOnly: []string{self(t)}}
}

// isolated runs f at every tier that isolates.
func isolated(t *testing.T, f func(t *testing.T, cfg Config)) {
	tiers := []Tier{TierLandlock, TierBubblewrap, TierNamespaces}
	if testing.Short() {
		tiers = []Tier{TierNamespaces}
	}
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) { f(t, walled(t, tier)) })
	}
}

// Evidence: sandbox · The network cannot be reached
func TestNetworkIsUnreachable(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	unixPath := filepath.Join(t.TempDir(), "host.sock")
	sock, err := net.Listen("unix", unixPath)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	abstract := "@luthier-" + strconv.Itoa(os.Getpid())
	hidden, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer hidden.Close()
	for _, l := range []net.Listener{tcp, sock, hidden} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
	}
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		for _, target := range [][]string{
			{"tcp", tcp.Addr().String()}, {"unix", unixPath}, {"unix", abstract},
		} {
			if !outside(t, "dial", target...) {
				t.Errorf("control: %v cannot be reached from outside either", target)
			}
			if reached, _ := inside(t, sb, "dial", target...); reached {
				t.Errorf("%v was reached from inside", target)
			}
		}
		for _, target := range [][]string{{"tcp", "192.0.2.1:80"}, {"udp", "192.0.2.1:53"}, {"tcp", "[2001:db8::1]:80"}} {
			if reached, _ := inside(t, sb, "dial", target...); reached {
				t.Errorf("%v was reached from inside", target)
			}
		}
		if w := sb.Isolation().Wall(WallNetwork); !w.Enforced {
			t.Errorf("the report does not say so: %+v", w)
		}
	})
}

func TestLoopbackWorks(t *testing.T) {
	t.Parallel()
	sb := open(t, walled(t, TierNamespaces))
	for _, name := range []string{"loopback", "unix-socket", "descriptors"} {
		if ok, why := inside(t, sb, name); !ok {
			t.Errorf("%s: %s", name, why)
		}
	}
	// Across commands too: the next command can reach a server that an earlier one left.
	python(t, sb)
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"python3", "-m", "http.server", "8231", "--bind", "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "answer of the server", func() bool {
		ok, _ := inside(t, sb, "dial", "tcp", "127.0.0.1:8231")
		return ok
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// Evidence: sandbox · Files outside the workspace cannot be changed
func TestFilesOutsideCannotBeChanged(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		other := t.TempDir()
		write(t, other, "victim", "precious")
		cfg.Dir = t.TempDir()
		write(t, cfg.Dir, "mine", "")
		if err := os.Symlink(filepath.Join(other, "victim"), filepath.Join(cfg.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		sb := open(t, cfg)
		for _, path := range []string{
			filepath.Join(other, "victim"), filepath.Join(other, "new"), filepath.Join(cfg.Dir, "link"),
			"/etc/luthier-probe", "/usr/luthier-probe", "/luthier-probe", "/usr/bin/env", "/etc/passwd", self(t),
			"/proc/self/root" + other + "/victim", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
			"/dev/luthier-probe", "/var/luthier-probe", "/run/luthier-probe", "/root/luthier-probe",
		} {
			if reached, _ := inside(t, sb, "write", path); reached {
				t.Errorf("%s was written", path)
			}
		}
		if reached, _ := inside(t, sb, "remove", filepath.Join(other, "victim")); reached {
			t.Error("the victim was removed")
		}
		if got := read(t, filepath.Join(other, "victim")); got != "precious" {
			t.Errorf("the victim now reads %q", got)
		}
		for _, path := range []string{"mine", "new", "$TMPDIR/x", "$HOME/x"} {
			sh(t, sb, "echo x > "+path)
		}
		if got := read(t, filepath.Join(cfg.Dir, "mine")); got != "x\n" {
			t.Errorf("in place, but the host reads %q", got)
		}
		if w := sb.Isolation().Wall(WallFilesystem); !w.Enforced {
			t.Errorf("the report does not say so: %+v", w)
		}
	})
}

func TestSecretsCannotBeRead(t *testing.T) {
	t.Setenv("SOME_API_KEY", "luthier-secret-value")
	secret := exec.Command("sleep", "300") // a host process with the secret in its environment
	if err := secret.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		secret.Process.Kill()
		secret.Wait()
	}()
	home := t.TempDir()
	write(t, home, ".ssh/id_rsa", "key")
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		for _, path := range []string{"/etc/shadow", "/etc/gshadow", filepath.Join(home, ".ssh/id_rsa"), "/proc/1/environ", "/proc/kcore"} {
			if reached, _ := inside(t, sb, "read", path); reached {
				t.Errorf("%s was read", path)
			}
		}
		if !outside(t, "environ", "luthier-secret-value") {
			t.Error("control: the secret is in no environment outside either")
		}
		if reached, _ := inside(t, sb, "environ", "luthier-secret-value"); reached {
			t.Error("the secret was read from another process's environment")
		}
		if env := sh(t, sb, "env"); strings.Contains(env, "luthier-secret-value") {
			t.Errorf("the secret is in the command's environment: %s", env)
		}
	})
}

func TestHostProcessesAreOutOfReach(t *testing.T) {
	victim := exec.Command("sleep", "300")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		victim.Process.Kill()
		victim.Wait()
	}()
	pid := strconv.Itoa(victim.Process.Pid)
	if !outside(t, "signal", pid) {
		t.Error("control: cannot be signalled from outside either")
	}
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		if sb.Isolation().Tier == TierLandlock && landlockVersion() < 6 {
			t.Skip("this kernel's Landlock does not confine signals")
		}
		if reached, _ := inside(t, sb, "signal", pid); reached {
			t.Error("a host process can be signalled")
		}
		if !sb.Isolation().Wall(WallProcesses).Enforced {
			return // visible, as the report says
		}
		// Only the sandbox's own few processes are visible.
		names := strings.Fields(sh(t, sb, "ls /proc"))
		numbers := slices.DeleteFunc(names, func(n string) bool { _, err := strconv.Atoi(n); return err != nil })
		if len(numbers) > 8 || !slices.Contains(numbers, "1") {
			t.Errorf("processes %v are visible", numbers)
		}
	})
}

// Evidence: sandbox · Processes have no privileges
func TestPrivilegesAreGone(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		cfg.Dir = t.TempDir()
		sb := open(t, cfg)
		for _, attack := range [][]string{
			{"caps"}, {"unshare"}, {"mount", cfg.Dir}, {"chroot", cfg.Dir}, {"keyctl"}, {"iouring"},
			{"userfaultfd"}, {"vsock"}, {"packet"}, {"tiocsti"}, {"ptrace-supervisor"},
			{"setuid", filepath.Join(cfg.Dir, "suid")},
		} {
			if attack[0] == "ptrace-supervisor" && !sb.Isolation().Wall(WallProcesses).Enforced {
				continue // process 1 is the host's at this tier
			}
			if reached, _ := inside(t, sb, attack[0], attack[1:]...); reached {
				t.Errorf("%v succeeded", attack)
			}
		}
		for _, wall := range []string{WallPrivileges, WallSyscalls} {
			if w := sb.Isolation().Wall(wall); !w.Enforced {
				t.Errorf("the report does not say so: %+v", w)
			}
		}
	})
	if !outside(t, "setuid", filepath.Join(t.TempDir(), "suid")) {
		t.Error("control: set-id bits cannot be set outside either")
	}
	if os.Geteuid() == 0 && !outside(t, "caps") {
		t.Error("control: root has no capabilities outside either")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	cfg.Limits = Limits{Memory: 256 << 20, Files: 64}
	small := open(t, cfg)
	if got := sh(t, small, "ulimit -n; ulimit -d; ulimit -Hd; ulimit -c"); got != "64\n262144\n262144\n0\n" {
		t.Errorf("limits inside: %q", got)
	}
	if exit := mustExec(t, small, Cmd{Args: []string{"sh", "-c", "ulimit -d unlimited"}}); exit.Success() {
		t.Error("the limit was raised")
	}
	cfg.Limits = Limits{Processes: 100, FileSize: 1 << 20, SharedMemory: 1 << 20}
	sb := open(t, cfg)
	if reached, _ := inside(t, sb, "shm", strconv.Itoa(4<<20)); reached {
		t.Error("4 MiB of shared memory were used against a limit of 1 MiB")
	}
	exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "head -c 3000000 /dev/zero > big"}})
	if exit.Success() {
		t.Error("a file of 3 MB was written against a limit of 1 MiB")
	}
	if reached, _ := inside(t, sb, "many-processes", "200"); reached {
		t.Error("200 processes were started against a limit of 100")
	}
	// The default is different.
	free := open(t, walled(t, TierNamespaces))
	for _, name := range [][]string{{"many-processes", "200"}, {"shm", strconv.Itoa(4 << 20)}} {
		if ok, why := inside(t, free, name[0], name[1]); !ok {
			t.Errorf("control: %v: %s", name, why)
		}
	}
}

func TestForkBombEnds(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	cfg.Limits.Processes = 100
	sb := open(t, cfg)
	// The shell becomes the sleep: a shell that forked it would end with an error when the bomb has
	// used up the limit.
	exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "f() { f | f & }; f & exec sleep 60"}, Timeout: 2 * time.Second})
	if !exit.TimedOut {
		t.Errorf("%v", exit)
	}
	eventually(t, "a quiet sandbox", func() bool {
		e, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}})
		return err == nil && e.Success()
	})
}

// TestSupervisorDeath checks that the supervisor's death ends all commands and is reported as such.
func TestSupervisorDeath(t *testing.T) {
	t.Parallel()
	sb := open(t, Config{})
	n := uniqueSleep()
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", "setsid sleep " + n + " & sleep " + n}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "start", func() bool { return len(processesWith(t, n)) >= 2 })
	if err := sb.(*local).run.(*guestSpawner).sup.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
	eventually(t, "death of all", func() bool { return len(processesWith(t, n)) == 0 })
	if _, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("Exec: %v", err)
	}
}

// TestHostDeathEndsEverything checks that a host that is killed leaves nothing running.
func TestHostDeathEndsEverything(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		open(t, cfg) // skips if the tier is not available
		n := uniqueSleep()
		host := exec.Command(self(t), strconv.Itoa(int(cfg.Floor)), t.TempDir(), n)
		host.Env = append(os.Environ(), helperEnv+"=host")
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "start", func() bool { return len(processesWith(t, n)) >= 3 }) // two sleeps and the host
		host.Process.Kill()
		host.Wait()
		begun := time.Now()
		eventually(t, "death of all", func() bool { return len(processesWith(t, n)) == 0 })
		t.Logf("gone after %v", time.Since(begun))
	})
}

func init() {
	helpers["host"] = func(a []string) error {
		tier, _ := strconv.Atoi(a[0])
		// Below the test's own directory, which is removed with it: a killed host cannot clean up.
		sb, err := Local(context.Background(), Config{Dir: a[1], ScratchDir: filepath.Dir(a[1]), Floor: Tier(tier), Ceiling: Tier(tier)})
		if err != nil {
			return err
		}
		_, err = sb.Exec(context.Background(), Cmd{Args: []string{"sh", "-c", "setsid sleep " + a[2] + " & sleep " + a[2]}})
		return err
	}
}

// TestFailsClosed checks that below its floor a sandbox does not open, and says why.
//
// Evidence: sandbox · A sandbox below the required tier does not open
func TestFailsClosed(t *testing.T) {
	hooked.Store(false)
	defer hooked.Store(true)
	_, err := Local(t.Context(), Config{Dir: t.TempDir()})
	if !errors.Is(err, ErrFloor) || !errors.Is(err, ErrInit) {
		t.Errorf("without Init: %v", err)
	}
	sb, err := Local(t.Context(), Config{Dir: t.TempDir(), Floor: TierNone})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	iso := sb.Isolation()
	if iso.Tier != TierNone || len(iso.Tried) != len(isolatingTiers()) {
		t.Errorf("lowered floor: %v", iso)
	}
}

// TestFallsToTheNextRung checks that the next lower tier is used if the one above is not available
// and the floor allows it.
func TestFallsToTheNextRung(t *testing.T) {
	t.Parallel()
	if os.Getenv(helperEnv) != "" {
		return
	}
	// The helper runs inside a sandbox, where no namespace can be made.
	sb := open(t, walled(t, TierNamespaces))
	for floor, want := range map[Tier]string{TierNamespaces: "error", TierLandlock: "landlock", TierNone: "landlock"} {
		exit := mustExec(t, sb, Cmd{Args: []string{self(t), strconv.Itoa(int(floor))}, Env: []string{helperEnv + "=nested"}})
		got := strings.TrimSpace(exit.Stdout.String())
		if got != want && !(got == "bubblewrap" && want == "landlock") {
			t.Errorf("floor %v: got %q, want %q\n%s", floor, got, want, exit.Stderr)
		}
	}
}

func init() {
	helpers["nested"] = func(a []string) error {
		floor, _ := strconv.Atoi(a[0])
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			return err
		}
		sb, err := Local(context.Background(), Config{Dir: dir, Floor: Tier(floor)})
		if err != nil {
			fmt.Println("error")
			return nil
		}
		defer sb.Close()
		fmt.Println(sb.Isolation().Tier)
		_, err = sb.Exec(context.Background(), Cmd{Args: []string{"true"}})
		return err
	}
}

// TestCancelDuringStart checks that nothing is left of a start that is interrupted.
func TestCancelDuringStart(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	scratch := t.TempDir()
	for i := range tier.Pick(10, 40, 400) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		sb, err := Local(ctx, Config{Dir: t.TempDir(), ScratchDir: scratch})
		if err == nil {
			err = sb.Close()
		} else if errors.Is(err, ErrFloor) && !errors.Is(err, context.DeadlineExceeded) {
			t.Skipf("this host does not grant the tier: %v", err)
		} else if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		if err != nil {
			t.Error(err)
		}
		cancel()
	}
	left, err := os.ReadDir(scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the scratch directory: %v, %v", left, err)
	}
}

// TestAsOrdinaryUser checks that an ordinary user gets the same isolation: the tests run again as
// that user.
//
// Evidence: sandbox · An ordinary user gets the same isolation
func TestAsOrdinaryUser(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("is one already")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "luthier-user-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "sandbox.test")
	placeSelf(t, exe)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
		os.Chown(filepath.Join(dir, "tmp"), nobody, nobody), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	which := "^Test(Network|Loopback|Files|Secrets|Host|Privileges|Limits|Falls|ExecReports|Timeout|Close|Snapshot|ReadOnly|Python|Git|Denials|Core|Memory|Without|Approval|Disk|Tree)"
	if testing.Short() {
		which = "^Test(Network|Files|Privileges|Close|ReadOnly)"
	}
	args := []string{"-test.v", "-test.run", which}
	if !tier.Long() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, out)
	}
	t.Logf("as uid %d: %d passed, %d skipped", nobody, strings.Count(string(out), "--- PASS"), strings.Count(string(out), "--- SKIP"))
}
