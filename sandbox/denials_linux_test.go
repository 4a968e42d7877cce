//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/tier"
)

// attempt runs a helper inside and returns the denials recorded for it.
func attempt(t *testing.T, sb Sandbox, name string, args ...string) []Denial {
	t.Helper()
	exit := mustExec(t, sb, Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + name}, Timeout: time.Minute})
	return exit.Denials
}

func noted(t *testing.T, sb Sandbox) {
	t.Helper()
	if slices.ContainsFunc(sb.Isolation().Missing, func(m string) bool { return strings.Contains(m, "not recorded") }) {
		t.Skip("the kernel gives no listener here")
	}
}

// TestDenialsAreEvidence checks that refused calls are reported with what they concerned.
//
// Evidence: sandbox · A denial names the call, the target and the smallest grant
func TestDenialsAreEvidence(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	cfg.Dir = t.TempDir()
	sb := open(t, cfg)
	noted(t, sb)
	suid := filepath.Join(cfg.Dir, "suid")
	for _, c := range []struct {
		args       []string
		call, path string
		host       string
		wall       string
		errno      syscall.Errno
	}{
		{[]string{"unshare"}, "unshare", "", "", WallSyscalls, unix.EPERM},
		{[]string{"keyctl"}, "keyctl", "", "", WallSyscalls, unix.EPERM},
		{[]string{"vsock"}, "socket", "", "", WallNetwork, unix.EAFNOSUPPORT},
		{[]string{"tiocsti"}, "ioctl", "", "", WallSyscalls, unix.EPERM},
		{[]string{"setuid", suid}, "fchmodat", suid, "", WallPrivileges, unix.EPERM},
		{[]string{"dial", "tcp", "192.0.2.1:443"}, "connect", "", "192.0.2.1:443", WallNetwork, unix.ENETUNREACH},
		{[]string{"dial", "udp", "[2001:db8::1]:53"}, "connect", "", "[2001:db8::1]:53", WallNetwork, unix.ENETUNREACH},
	} {
		got := attempt(t, sb, c.args[0], c.args[1:]...)
		i := slices.IndexFunc(got, func(d Denial) bool { return d.Call == c.call && d.Path == c.path && d.Host == c.host })
		if i < 0 {
			t.Errorf("%v: not among %v", c.args, got)
			continue
		}
		if d := got[i]; d.Wall != c.wall || d.Errno != c.errno || d.Count < 1 || d.Rule == "" {
			t.Errorf("%v: %+v", c.args, d)
		}
	}
	// Calls that are allowed are not reported.
	for _, name := range []string{"loopback", "unix-socket"} {
		if got := attempt(t, sb, name); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDenialsBelongToTheirCommand checks that each command gets its own refusals, including those
// of its children.
func TestDenialsBelongToTheirCommand(t *testing.T) {
	t.Parallel()
	sb := open(t, walled(t, TierNamespaces))
	noted(t, sb)
	quiet, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", "read x"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	exit := mustExec(t, sb, Cmd{
		Args: []string{"sh", "-c", `setsid -w sh -c '"$0"; "$0"' "$0"`, self(t)},
		Env:  []string{helperEnv + "=unshare"},
	})
	if len(exit.Denials) != 1 || exit.Denials[0].Count != 2 {
		t.Errorf("of a child in another session, twice: %v", exit.Denials)
	}
	if err := quiet.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	if e, err := quiet.Wait(); err != nil || len(e.Denials) > 0 {
		t.Errorf("of a command that did nothing: %v, %v", e.Denials, err)
	}
}

func TestDenialsOfWrites(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		other := t.TempDir()
		write(t, other, "victim", "precious")
		cfg.Dir, cfg.TraceWrites = t.TempDir(), true
		sb := open(t, cfg)
		noted(t, sb)
		for _, path := range []string{filepath.Join(other, "victim"), "/usr/luthier-probe"} {
			if !slices.ContainsFunc(attempt(t, sb, "write", path), func(d Denial) bool {
				return d.Path == path && d.Wall == WallFilesystem && (d.Grant != "") == (d.Path[:5] != "/usr/")
			}) && (sb.Isolation().Tier == TierLandlock || path[:5] == "/usr/") {
				t.Errorf("the write to %s is not among the denials", path)
			}
		}
		if got := attempt(t, sb, "write", filepath.Join(cfg.Dir, "mine")); len(got) > 0 {
			t.Errorf("a write to the workspace: %v", got)
		}
		exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "cd /etc && touch here"}})
		if !slices.ContainsFunc(exit.Denials, func(d Denial) bool { return d.Path == "/etc/here" }) {
			t.Errorf("a relative path: %v", exit.Denials)
		}
	})
}

// TestDenialsAreBounded checks that a command that tries without end produces a bounded list and
// affects no other command.
func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	sb := open(t, cfg)
	noted(t, sb)
	if got := attempt(t, sb, "many-refusals", "300"); len(got) > maxDenials || len(got) < 2 {
		t.Errorf("%d denials of 300 different ones", len(got))
	}
	var l denials
	for i := range 1000 {
		l.add(Denial{Call: "x", Path: strings.Repeat("p", i*10)})
		l.add(Denial{Call: "y"})
	}
	if len(l.list) != maxDenials || l.list[1].Count != 1000 || len(l.list[maxDenials-1].Path) > maxDenialText {
		t.Errorf("%d entries, %v", len(l.list), l.list[1])
	}
}

func init() {
	helpers["many-refusals"] = func(a []string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		for i := range 300 {
			_ = unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 1000 + i})
		}
		return os.ErrPermission
	}
	helpers["core"] = func([]string) error { // runs if the limit is changed, or seems to allow dumps
		var was, now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &was); err != nil {
			return err
		}
		low, high := unix.Rlimit{}, unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &low) // may succeed, without effect
		_ = setLimitDirectly(unix.RLIMIT_CORE, &low)
		for name, set := range map[string]func() error{
			"prlimit":   func() error { return unix.Prlimit(0, unix.RLIMIT_CORE, &low, &now) },
			"by pid":    func() error { return unix.Prlimit(os.Getpid(), unix.RLIMIT_CORE, &low, nil) },
			"parent":    func() error { return unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, &low, nil) },
			"high":      func() error { return unix.Prlimit(0, unix.RLIMIT_CORE, &high, nil) },
			"more":      func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 2, Max: was.Max}) },
			"setrlimit": func() error { return setLimitDirectly(unix.RLIMIT_CORE, &high) },
		} {
			if err := set(); err == nil {
				fmt.Println(name)
				return nil
			}
		}
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
			return err
		}
		if now != was {
			return nil
		}
		return os.ErrPermission
	}
	helpers["socketpair"] = func([]string) error {
		fds, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_STREAM, 0)
		if err == unix.EAFNOSUPPORT {
			return err
		}
		_ = fds
		return nil
	}
	helpers["ldisc"] = func([]string) error {
		fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCSETD, 0)
	}
}

// setLimitDirectly makes the call that libraries no longer use.
func setLimitDirectly(which int, l *unix.Rlimit) error {
	if _, _, errno := unix.Syscall(unix.SYS_SETRLIMIT, uintptr(which), uintptr(unsafe.Pointer(l)), 0); errno != 0 {
		return errno
	}
	return nil
}

// TestCoreLimitRefusalIsReported checks that allowing core dumps fails, also from a shell, and that
// the host learns of it. Reading the limit works. A wish for no core dumps succeeds and changes
// nothing: with a limit of zero the kernel would start the host's core handler.
//
// Evidence: sandbox · Core dumps cannot be allowed, and a try is reported
func TestCoreLimitRefusalIsReported(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "ulimit -c; ulimit -S -c unlimited"}})
		if exit.Success() || len(exit.Stdout.String()) == 0 {
			t.Errorf("%v: %q, %q", exit, exit.Stdout, exit.Stderr)
		}
		if !slices.ContainsFunc(exit.Denials, func(d Denial) bool { return d.Wall == WallLimits && d.Errno == syscall.EINVAL }) && !slices.Contains(sb.Isolation().Missing, noListener) {
			t.Errorf("denials %v", exit.Denials)
		}
		noted(t, sb)
		got := mustExec(t, sb, Cmd{Args: []string{"sh", "-ec", "ulimit -p >/dev/null; cat /proc/self/limits >a; ulimit -c 0; ulimit -S -c 0; cat /proc/self/limits >b; cmp a b"}})
		if !got.Success() || len(got.Denials) > 0 {
			t.Errorf("no core dumps: %v, %s, denials %v", got, got.Stderr, got.Denials)
		}
	})
}

func TestCoreHandlerAndOddCalls(t *testing.T) {
	t.Parallel()
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		for _, attack := range []string{"core", "socketpair", "ldisc"} {
			if reached, _ := inside(t, sb, attack); reached {
				t.Errorf("%s succeeded", attack)
			}
		}
	})
	for _, attack := range []string{"core", "ldisc"} {
		if !outside(t, attack) {
			t.Errorf("control: %s does not succeed outside either", attack)
		}
	}
}

// TestListenerRefusesWhatTheFilterDoes checks that the listener and the filter refuse the same
// calls: the listener must not allow what the filter sends because of set-id bits.
func TestListenerRefusesWhatTheFilterDoes(t *testing.T) {
	for _, writes := range []bool{false, true} {
		n := &notices{options: filterOptions{notify: true, writes: writes}}
		call := func(nr uint32, args ...uint64) unix.Errno {
			c := notice{nr: int32(nr), pid: 1 << 30}
			copy(c.args[:], args)
			_, errno := n.judge(&c)
			return errno
		}
		for _, c := range append(slices.Clone(forbidden), forbiddenHere...) {
			if call(c.nr) != unix.EPERM {
				t.Errorf("writes %v: %s is let through", writes, c.name)
			}
		}
		for _, m := range modeArgs {
			var args [6]uint64
			args[m.arg] = 0o4755
			if call(m.nr, args[:]...) != unix.EPERM {
				t.Errorf("writes %v: call %d is let through", writes, m.nr)
			}
		}
		for _, m := range openArgs {
			var args [6]uint64
			args[m.flags], args[m.mode] = unix.O_CREAT, 0o2755
			if call(m.nr, args[:]...) != unix.EPERM {
				t.Errorf("writes %v: open call %d is let through", writes, m.nr)
			}
		}
		for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_IOCTL, unix.SYS_SOCKET, unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT} {
			if call(nr) == 0 {
				t.Errorf("writes %v: call %d is let through", writes, nr)
			}
		}
		if call(unix.SYS_CONNECT) != 0 {
			t.Error("connect is refused")
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add([]byte{2, 0, 1, 187, 192, 0, 2, 1})
	f.Add([]byte{10, 0, 0, 53, 0, 0, 0, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0})
	f.Add([]byte{1, 0, '/', 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		to, ok := parseAddress(b)
		if !ok {
			return
		}
		if back, err := netip.ParseAddrPort(to.String()); err != nil || back != to {
			t.Errorf("%v: %v, %v", to, back, err)
		}
	})
}

// BenchmarkEvidence measures the additional cost of a call that goes to the listener: opening a
// file for writing with Config.TraceWrites, and a connect always.
func BenchmarkEvidence(b *testing.B) {
	const calls = 2000
	for _, trace := range []bool{false, true} {
		sb := open(b, Config{Floor: TierNamespaces, ReadOnly: []string{self(b)}, TraceWrites: trace})
		for _, what := range []string{"open", "connect"} {
			b.Run(fmt.Sprintf("%s/trace=%v", what, trace), func(b *testing.B) {
				var total time.Duration
				for b.Loop() {
					exit := mustExec(b, sb, Cmd{Args: []string{self(b), what, strconv.Itoa(calls)}, Env: []string{helperEnv + "=many-calls"}})
					d, err := time.ParseDuration(strings.TrimSpace(exit.Stdout.String()))
					if err != nil || len(exit.Denials) > 0 {
						b.Fatal(err, exit.Denials)
					}
					total += d
				}
				b.ReportMetric(float64(total.Nanoseconds())/float64(b.N*calls), "ns/call")
			})
		}
	}
}

func init() {
	helpers["many-calls"] = func(a []string) error {
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		begun := time.Now()
		for range n {
			if a[0] == "open" {
				f, err := os.OpenFile("many-calls", os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				f.Close()
				continue
			}
			c, err := net.Dial("udp", "127.0.0.1:9")
			if err != nil {
				return err
			}
			c.Close()
		}
		fmt.Println(time.Since(begun))
		return nil
	}
}

// TestHint: a command that fails at something protected in place says which field of Config lets
// it, whatever program fails. With that field it works. Other failures have no hint.
//
// Evidence: sandbox · A commit in place that fails says what would allow it
func TestHint(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "git")
	for _, c := range []struct{ name, script, grant, unprotect string }{
		{"commit", "echo x >>a; git commit -qam two", `".git"`, ".git"},
		{"commit through a pipe", "echo x >>a; git commit -qam two 2>&1 | tail -n 1", `".git"`, ".git"},
		{"commit in a directory", "cd deep && echo x >b && git add .", `".git"`, ".git"},
		{"branch", "git checkout -q -b other", `".git"`, ".git"},
		{"tag", "git tag v1", `".git"`, ".git"},
		{"settings", "git config a.b c", `".git"`, ".git,.git/config"},
		{"nested repository", "cd nested && echo x >a && git add a", `".git"`, ".git"},
		{"removal", "rm -rf .git", `".git"`, "*"},
		{"shell", "echo x >.envrc", `".envrc"`, ".envrc"},
		{"rename", "mv .envrc moved", `".envrc"`, ".envrc"},
		{"renamed directory", "mv tools elsewhere", `"tools/hook"`, "*"},
		{"from within", "cd .vscode && echo x >tasks.json", `".vscode"`, ".vscode"},
		{"python", `python3 -c 'open(".vscode/tasks.json", "w")'`, `".vscode"`, ".vscode"},
		{"elsewhere", "touch /usr/x", "", ""},
		{"not at all", "cat missing", "", ""},
		{"only words", "echo .git, Read-only file; echo system", "", ""},
		{"success", "git status --short; git log --oneline", "", ""},
	} {
		dir := filepath.Join(t.TempDir(), "it's a project: (1)")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.script, "python3") {
			need(t, "python3")
		}
		hostScript(t, dir, `git init -q; git config user.name n; git config user.email e@example.com; mkdir deep .vscode tools nested
			git init -q nested; echo x >a; echo x >.envrc; echo {} >.vscode/tasks.json; echo x >tools/hook; git config core.fsmonitor tools/hook; git config core.fsmonitor ""
			git config core.pager tools/hook; git add a; git commit -qm one`)
		for _, merged := range []bool{false, true} {
			sb := open(t, Config{Dir: dir})
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", c.script}, MergeStderr: merged, Limit: -1})
			if c.grant == "" && exit.Hint != "" || c.grant != "" && !strings.HasSuffix(exit.Hint, "Config.Unprotect: "+c.grant) {
				t.Errorf("%s: hint %q, want %s", c.name, exit.Hint, c.grant)
			}
		}
		if c.unprotect != "" {
			sb := open(t, Config{Dir: dir, Unprotect: strings.Split(c.unprotect, ",")})
			exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", c.script}})
			if !exit.Success() || exit.Hint != "" {
				t.Errorf("%s, with Unprotect %s: %v, hint %q, %s", c.name, c.unprotect, exit, exit.Hint, exit.Stderr)
			}
		}
	}
}

// TestHintOfReadOnlyDir: so does a workspace that is read-only as a whole, and a denial.
func TestHintOfReadOnlyDir(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "f", "")
	exit := mustExec(t, open(t, Config{Dir: dir, ReadOnlyDir: true}), Cmd{Args: []string{"sh", "-c", "echo x >f"}})
	if !strings.Contains(exit.Hint, "Config.ReadOnlyDir") {
		t.Errorf("hint %q", exit.Hint)
	}
	write(t, dir, ".git/config", "")
	sb := open(t, Config{Dir: dir, TraceWrites: true})
	noted(t, sb)
	exit = mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "echo x >.git/config"}})
	if len(exit.Denials) != 1 || exit.Denials[0].Errno != syscall.EROFS || exit.Denials[0].Grant != `Config.Unprotect: ".git"` {
		t.Errorf("denials %v", exit.Denials)
	}
}

// TestHintInPieces: a message is found however its bytes arrive, and long output without lines
// costs no memory.
func TestHintInPieces(t *testing.T) {
	message := "x\nfatal: Unable to create '/w/.git/index.lock': Read-only file system"
	w := &wall{dir: "/w", paths: []string{".git", ".git/hooks"}}
	for size := 1; size <= len(message); size++ {
		h := &hint{wall: w, cwd: "/w"}
		for at := 0; at < len(message); at += size {
			h.see(Stdout, []byte(message[at:min(at+size, len(message))]))
			h.see(Stderr, []byte("other\n"))
		}
		if got := h.text(); !strings.Contains(got, `".git"`) {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
	h := &hint{wall: w, cwd: "/w"}
	for range 1000 {
		h.see(Stdout, []byte(strings.Repeat("y", 10000)))
	}
	if n := len(h.begun[Stdout]); n > maxHintLine || h.text() != "" {
		t.Errorf("%d bytes are kept, hint %q", n, h.text())
	}
}

// FuzzHint: no output makes it fail, and a hint names a path of the wall.
func FuzzHint(f *testing.F) {
	for _, s := range []string{"rm: cannot remove '.git': Device or resource busy\n", "Read-only file system: '../../etc'", "/w/.git/: Read-only file system", "= ead-only file system ''"} {
		f.Add([]byte(s), ".git/hooks")
	}
	f.Fuzz(func(t *testing.T, out []byte, p string) {
		h := &hint{wall: &wall{dir: "/w", paths: []string{".git", p}}, cwd: "/w/sub"}
		h.see(Stdout, out)
		h.see(Stdout, out)
		if got := h.text(); got != "" && !strings.Contains(got, ".git") && !strings.Contains(got, p) {
			t.Errorf("hint %q", got)
		}
	})
}
