package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
)

func acquire(t testing.TB, p *Pool, r Request) *lease {
	t.Helper()
	sb, err := p.Acquire(context.Background(), r)
	if errors.Is(err, ErrFloor) {
		t.Skipf("this host does not grant the tier: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sb.(*lease)
}

// recyclable returns a pool whose sandboxes can be reused, or skips the test.
func recyclable(t testing.TB, cfg PoolConfig) *Pool {
	t.Helper()
	p := newPool(t, cfg)
	l := acquire(t, p, Request{Snapshot: SnapshotDir(t.TempDir()), Domain: "probe"})
	if l.blank == nil {
		_, err := makeBlank(t.Context(), &p.blanks)
		t.Skipf("no sandbox can be made ahead of its workspace here: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Recycled != 1 {
		t.Fatalf("a sandbox in which nothing ran was not kept: %+v", s)
	}
	return p
}

// TestRecycledSandboxIsClean checks that a reused sandbox keeps nothing of its former lease.
//
// Evidence: sandbox · A reused sandbox keeps nothing of its last lease
func TestRecycledSandboxIsClean(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	cfg := PoolConfig{Config: Config{ReadOnly: []string{self(t)}}}
	p := recyclable(t, cfg)
	dir := t.TempDir()
	write(t, dir, "file", "original")
	r := Request{Snapshot: SnapshotDir(dir), Domain: "probe"}
	first := acquire(t, p, r)
	n := uniqueSleep()
	sh(t, first, `echo dirty > file; echo x > new; rm -rf gone; mkdir -p $HOME/.config && echo x > $HOME/.config/x; echo x > $HOME/.bashrc
		echo x > /tmp/x; mkdir /tmp/d && chmod 0 /tmp/d; echo x > /dev/shm/x; echo x > $GOCACHE/x 2>/dev/null
		(setsid sleep `+n+` &) ; (setsid sh -c 'trap "" TERM HUP; sleep `+n+`' &) ; echo ok`)
	if _, err := first.Start(t.Context(), Cmd{Args: []string{"sleep", n}}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, n); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	other := t.TempDir()
	write(t, other, "file", "other")
	for _, tt := range []struct{ dir, want string }{{dir, "original"}, {other, "other"}, {dir, "original"}} {
		r.Snapshot = SnapshotDir(tt.dir)
		next := acquire(t, p, r)
		if next.blank != first.blank {
			t.Fatalf("not the same sandbox; %+v", p.Stats())
		}
		if got := sh(t, next, `cat file; pwd`); got != tt.want+tt.dir+"\n" {
			t.Errorf("the workspace says %q, want %q", got, tt.want+tt.dir)
		}
		if first.Dir() != dir {
			t.Errorf("the closed lease is in %q, want %q", first.Dir(), dir)
		}
		got := sh(t, next, `find /tmp /dev/shm $HOME -mindepth 1 ! -path '`+tt.dir+`*' ! -path '/tmp/Test*' ! -path '/tmp/go-build*' -not -path '*/.cache*' -type f | grep -v `+filepath.Base(self(t))+`; ls; test ! -e $GOCACHE/x; echo; ls /proc | grep -c '^[0-9]'`)
		if want := "file\n\n"; !strings.HasPrefix(got, want) {
			t.Errorf("found of the former lease: %q", got)
		}
		if tt.dir != other {
			if exit := mustExec(t, next, Cmd{Args: []string{"ls", "-d", other}}); exit.Success() {
				t.Errorf("another lease's mount point is left: %s", exit.Stdout)
			}
		}
		if reached, _ := inside(t, next, "caps"); reached {
			t.Error("a recycled sandbox has privileges")
		}
		if reached, _ := inside(t, next, "write", "/luthier-probe"); reached {
			t.Error("the root of a recycled sandbox can be written")
		}
		sh(t, next, "echo dirty > file; echo x > extra")
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, filepath.Join(dir, "file")); got != "original" {
		t.Errorf("the original was changed to %q", got)
	}
	if s := p.Stats(); s.Doubted != 0 || s.Recycled != 5 {
		t.Errorf("%+v", s)
	}
}

// TestDoubtDestroys checks that a sandbox is destroyed if a lease changed things that outlive its
// processes.
func TestDoubtDestroys(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	cfg := PoolConfig{Config: Config{ReadOnly: []string{self(t)}}}
	for _, attack := range []string{"keep-shm", "keep-sem", "keep-queue", "limit-supervisor", "nice-supervisor", "pin-supervisor"} {
		t.Run(attack, func(t *testing.T) {
			p := recyclable(t, cfg)
			r := Request{Snapshot: SnapshotDir(t.TempDir()), Domain: "probe"}
			l := acquire(t, p, r)
			if ok, why := inside(t, l, attack); !ok {
				t.Skipf("refused inside, so there is nothing to find: %s", why)
			}
			before := l.blank
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if s := p.Stats(); s.Doubted != 1 || s.LastDoubt == "" {
				t.Errorf("it was kept: %+v", s)
			} else {
				t.Log(s.LastDoubt)
			}
			next := acquire(t, p, r)
			defer next.Close()
			if next.blank == before {
				t.Error("it was used again")
			}
		})
	}
}

func init() {
	helpers["keep-shm"] = func([]string) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		return err
	}
	helpers["keep-sem"] = func([]string) error {
		if _, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, 0o600); errno != 0 {
			return errno
		}
		return nil
	}
	helpers["keep-queue"] = func([]string) error {
		name := []byte("queue\x00")
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	}
	helpers["limit-supervisor"] = func([]string) error {
		return unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}, nil)
	}
	helpers["nice-supervisor"] = func([]string) error { return unix.Setpriority(unix.PRIO_PROCESS, 1, 19) }
	helpers["pin-supervisor"] = func([]string) error {
		var set, now unix.CPUSet
		if err := unix.SchedGetaffinity(1, &now); err != nil {
			return err
		}
		if now.Count() < 2 {
			return errors.New("there is one processor only")
		}
		for i := range 1024 {
			if now.IsSet(i) {
				set.Set(i)
				break
			}
		}
		return unix.SchedSetaffinity(1, &set)
	}
}

// TestDomainsAndUses checks that a sandbox is never used outside its domain, and is not reused
// after MaxUses leases.
func TestDomainsAndUses(t *testing.T) {
	t.Parallel()
	p := recyclable(t, PoolConfig{MaxUses: 3})
	seen := map[*blank]string{}
	for i, domain := range []string{"a", "b", "a", "", "c", "b", "a", "a", "a", "a"} {
		l := acquire(t, p, Request{Snapshot: SnapshotDir(t.TempDir()), Domain: domain})
		if domain == "" {
			if l.blank != nil && seen[l.blank] != "" {
				t.Errorf("lease %d without a domain got a used sandbox", i)
			}
			l.Close()
			continue
		}
		if was, ok := seen[l.blank]; ok && was != domain {
			t.Errorf("lease %d of domain %s got a sandbox of %s", i, domain, was)
		}
		seen[l.blank] = domain
		if l.blank.uses > 3 {
			t.Errorf("lease %d is use %d of its sandbox", i, l.blank.uses)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 4 { // a has two of them
		t.Errorf("%d sandboxes, want 4", len(seen))
	}
}

func TestAttachOddNames(t *testing.T) {
	p := recyclable(t, PoolConfig{})
	base := t.TempDir()
	for _, name := range []string{"a:b", "a,b", `a\b`, "a b", "ü", "-rf", "a\nb", "upperdir=x"} {
		dir := filepath.Join(base, name)
		write(t, dir, "f", name)
		l := acquire(t, p, Request{Snapshot: SnapshotDir(dir), Domain: "probe"})
		if l.blank == nil {
			t.Errorf("%q was not attached", name)
		}
		if got := sh(t, l, "cat f; echo x > f"); got != name {
			t.Errorf("%q: read %q", name, got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.Stats(); s.Doubted > 0 {
		t.Errorf("%+v", s)
	}
}

// TestNoCommandCrossesLeases checks that a command that is being started while its lease is closed
// never runs in the next lease.
func TestNoCommandCrossesLeases(t *testing.T) {
	t.Parallel()
	p := recyclable(t, PoolConfig{})
	for range tier.Pick(5, 20, 200) {
		l := acquire(t, p, Request{Snapshot: SnapshotDir(t.TempDir()), Domain: "probe"})
		n := uniqueSleep()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := l.Start(context.Background(), Cmd{Args: []string{"sleep", n}}); err != nil {
					return
				}
			}
		}()
		time.Sleep(2 * time.Millisecond)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		<-done
		if left := processesWith(t, n); len(left) > 0 {
			t.Fatalf("crossed: %q", left)
		}
	}
}

// TestHoldEndsTheLease checks that a lease ends after Hold, even while a command runs.
func TestHoldEndsTheLease(t *testing.T) {
	p := recyclable(t, PoolConfig{})
	l := acquire(t, p, Request{Snapshot: SnapshotDir(t.TempDir()), Domain: "probe", Hold: 100 * time.Millisecond})
	n := uniqueSleep()
	_, _ = l.Exec(t.Context(), Cmd{Args: []string{"sleep", n}})
	eventually(t, "the end of the lease", func() bool { return p.Stats().Leased == 0 })
	if left := processesWith(t, n); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if _, err := l.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("Exec after the end: %v", err)
	}
}

// TestBrokerDeath checks that sandboxes end with a broker that is killed, and that the next ones
// get another broker.
//
// Evidence: sandbox · A new broker takes over from a killed one
func TestBrokerDeath(t *testing.T) {
	dir := t.TempDir()
	sb := open(t, Config{Dir: dir})
	n := uniqueSleep()
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"sleep", n}})
	if err != nil {
		t.Fatal(err)
	}
	killed := theBrokerOf(t, os.Getpid())
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	eventually(t, "death of all", func() bool { return len(processesWith(t, n)) == 0 })
	t.Logf("gone after %v", time.Since(begun))
	if _, err := p.Wait(); !errors.Is(err, ErrClosed) {
		t.Errorf("the command's end: %v", err)
	}
	if _, err := sb.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("Exec in what died: %v", err)
	}
	again := open(t, Config{Dir: dir})
	sh(t, again, "true")
	if theBrokerOf(t, os.Getpid()) == killed {
		t.Error("the broker lives")
	}
}

// TestKilledHostLeavesNothing checks that a killed host leaves neither processes nor files. If its
// broker is killed too, the next host removes them.
//
// Evidence: sandbox · Nothing outlives a killed host
func TestKilledHostLeavesNothing(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("broker too %v", both), func(t *testing.T) {
			open(t, Config{}) // skips if the tier is not available
			kept, n := t.TempDir(), uniqueSleep()
			host := exec.Command(self(t), kept, t.TempDir(), n)
			host.Env = append(os.Environ(), helperEnv+"=pool-host")
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "start", func() bool { return len(processesWith(t, n)) >= 3 })
			if both {
				for _, pid := range brokerPIDs(t, host.Process.Pid) {
					_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it can do nothing any more
					defer syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			host.Process.Kill()
			host.Wait()
			begun := time.Now()
			eventually(t, "death of all", func() bool { return len(processesWith(t, n)) == 0 })
			t.Logf("processes gone after %v", time.Since(begun))
			if both {
				if left, _ := filepath.Glob(kept + "/*"); len(left) == 0 {
					t.Error("control: nothing was left to sweep")
				}
				open(t, Config{Dir: t.TempDir(), ScratchDir: kept})
			}
			eventually(t, "removal of the files", func() bool {
				left, err := filepath.Glob(kept + "/" + scratch.Prefix + "*")
				return err == nil && (len(left) == 0 || both && len(left) == 1)
			})
			t.Logf("files gone after %v", time.Since(begun))
		})
	}
}

func init() {
	helpers["pool-host"] = func(a []string) error {
		p, err := NewPool(PoolConfig{Config: Config{ScratchDir: a[0]}, Warm: 2})
		if err != nil {
			return err
		}
		sb, err := p.Acquire(context.Background(), Request{Snapshot: SnapshotDir(a[1]), Domain: "d"})
		if err != nil {
			return err
		}
		_, err = sb.Exec(context.Background(), Cmd{Args: []string{"sh", "-c", "touch x /tmp/x; setsid sleep " + a[2] + " & sleep " + a[2]}})
		return err
	}
	helpers["pool-user"] = func(a []string) error {
		p, err := NewPool(PoolConfig{Config: Config{ScratchDir: a[0]}})
		if err != nil {
			return err
		}
		defer p.Close()
		for i := range 3 {
			sb, err := p.Acquire(context.Background(), Request{Snapshot: SnapshotDir(a[1]), Domain: "d"})
			if err != nil {
				return err
			}
			e, err := sb.Exec(context.Background(), Cmd{Args: []string{"sh", "-c", "cat f && echo dirty > f && ! test -e /tmp/x && touch /tmp/x && (setsid sleep 1000 &)"}})
			if err != nil || e.Code != 0 || e.Stdout.String() != "clean" {
				return fmt.Errorf("lease %d: %v %v %s %s", i, err, e, e.Stdout, e.Stderr)
			}
			if err := sb.Close(); err != nil {
				return err
			}
		}
		if s := p.Stats(); s.Recycled != 3 || s.Hits != 2 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	}
}

// TestRecycleAsOrdinaryUser checks that recycling also works for an ordinary user, whose broker has
// namespaces of its own.
func TestRecycleAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("", "luthier-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	write(t, base, "work/f", "clean")
	exe := filepath.Join(base, "test")
	placeSelf(t, exe)
	cmd := exec.Command(exe, filepath.Join(base, "scratch"), filepath.Join(base, "work"))
	cmd.Env = append(os.Environ(), helperEnv+"=pool-user", "HOME="+base)
	if err := os.Mkdir(filepath.Join(base, "scratch"), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		const uid = 54321
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		for _, p := range []string{base, base + "/scratch", base + "/work", base + "/work/f"} {
			if err := os.Chown(p, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), ErrFloor.Error()) {
		t.Skipf("an ordinary user gets no namespaces here: %s", out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
