package attacks_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// attack is one hostile program. It runs twice: inside a sandbox, where the host must see no
// effect, and outside as its control, where the host must see that it succeeds. Without the control
// the first run would prove nothing.
type attack struct {
	name string
	does string // in words, for the table that -v prints

	// prog is a helper of this binary, or "sh" with args as script and arguments.
	prog string
	args func(b *bed) []string
	env  func(b *bed) []string
	// bit returns what the host sees of a success, or "" if there is nothing to see. For an attack
	// that leaves no trace outside, (*bed).claimed takes the program's own word.
	bit func(b *bed) string
	// want is how the attack ends inside: an error name such as "EPERM", "ok" if the call is
	// allowed but reaches nothing, or a signal name such as "SIGSYS". Alternatives are separated by
	// a bar. If want is empty, the ending is not checked.
	want string

	during func(b *bed) // run by the host while the program runs
	// play replaces prog for attacks that are more than one program run to its end.
	play   func(b *bed)
	config func(*sandbox.Config) // gives the attack a separate sandbox with this configuration
	alone  bool                  // gives the attack a separate sandbox
	root   bool                  // the control, or the host's preparation, needs root
	as     *syscall.Credential   // user of the control run, if root
	// noControl is the reason for having no control run: it would hit the machine itself.
	noControl string
	needs     func() string // why this host cannot run the attack, or ""
}

// attacks are grouped by their target.
var attacks = map[string][]attack{}

// attackTimeout is a safety bound for programs that hang; it measures nothing.
const attackTimeout = 2 * time.Minute

func runAttacks(t *testing.T, class string) {
	root := t.TempDir()
	openUp(t, root)
	shared := bedSandbox(t, root, attack{})
	for i, a := range attacks[class] {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.run(t, shared, root)
		})
	}
}

// bedSandbox opens a sandbox in place over dir, in which this binary can run.
func bedSandbox(t *testing.T, dir string, a attack) sandbox.Sandbox {
	cfg := walled(t, sandbox.TierNamespaces)
	cfg.Dir = filepath.Join(dir, "inside")
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if a.config != nil {
		a.config(&cfg)
	}
	return open(t, cfg)
}

func (a attack) run(t *testing.T, sb sandbox.Sandbox, root string) {
	if a.needs != nil {
		if why := a.needs(); why != "" {
			t.Skip(why)
		}
	}
	if a.root && a.noControl == "" && os.Geteuid() != 0 {
		t.Skip("an ordinary user cannot do this outside either, so nothing would be shown")
	}
	if a.alone || a.config != nil {
		root = t.TempDir()
		openUp(t, root)
		sb = bedSandbox(t, root, a)
	}
	in := newBed(t, a, filepath.Join(root, "inside", a.dir()))
	in.sb = sb
	in.attack()
	if why := a.bit(in); why != "" {
		t.Errorf("the attack succeeded: %s\n%s", why, in.told)
	}
	if !in.met(a.want) {
		t.Errorf("it met %q inside, want %q\n%s", in.ending, a.want, in.told)
	}
	in.end()
	if a.noControl != "" {
		return
	}
	out := newBed(t, a, filepath.Join(root, "outside", a.dir()))
	out.attack()
	if a.bit(out) == "" {
		t.Errorf("control: outside it does not bite either, but met %q\n%s", out.ending, out.told)
	}
	out.end()
}

// dir returns the attack's name as a directory name that shells take for one word.
func (a attack) dir() string { return strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(a.name) }

// bed holds what one run of an attack may reach: its working directory, and a place next to it,
// with a secret in it, that it must not touch.
type bed struct {
	t      *testing.T
	a      attack
	sb     sandbox.Sandbox // nil in the control run
	dir    string          // the program's directory
	out    string          // the place outside
	secret string
	ending string        // how the program ended: an error's name, "ok", a signal's name
	told   string        // standard error
	exit   *sandbox.Exit // nil in the control run
	state  map[string]any
	undo   []func()
}

func newBed(t *testing.T, a attack, dir string) *bed {
	b := &bed{t: t, a: a, dir: dir, secret: "secret-" + uniqueSleep() + uniqueSleep(), state: map[string]any{}}
	b.out = t.TempDir()
	openUp(t, b.out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, b.out, "canary", b.secret)
	if a.as != nil {
		if err := errors.Join(os.Chown(dir, int(a.as.Uid), int(a.as.Gid)), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// openUp lets every user reach dir, since t.TempDir closes the directories above it.
func openUp(t testing.TB, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// end undoes the run's preparations in reverse order.
func (b *bed) end() {
	for _, f := range slices.Backward(b.undo) {
		f()
	}
	b.undo = nil
}

// attack runs the program and records how it ended.
func (b *bed) attack() {
	b.t.Helper()
	b.t.Cleanup(b.end)
	if b.a.play != nil {
		b.a.play(b)
		return
	}
	var args, env []string
	if b.a.args != nil {
		args = b.a.args(b)
	}
	if b.a.env != nil {
		env = b.a.env(b)
	}
	switch b.a.prog {
	case "sh":
		args = append([]string{"sh", "-c", args[0], "sh"}, args[1:]...)
	default:
		args = append([]string{b.program()}, args...)
		env = append(env, helperEnv+"="+b.a.prog)
	}
	stdin, _ := b.state["stdin"].(*os.File)
	stop := make(chan struct{})
	if b.a.during != nil {
		go func() { defer close(stop); b.a.during(b) }()
	} else {
		close(stop)
	}
	if b.sb != nil {
		b.inside(args, env, stdin)
	} else {
		b.outside(args, env, stdin)
	}
	<-stop
}

func (b *bed) inside(args, env []string, stdin *os.File) {
	cmd := sandbox.Cmd{Args: args, Dir: b.dir, Env: env, Timeout: attackTimeout}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	exit, err := b.sb.Exec(b.t.Context(), cmd)
	if err != nil && !b.a.alone {
		b.t.Fatalf("Exec: %v", err)
	}
	if exit == nil {
		exit = &sandbox.Exit{Code: -1}
	}
	b.exit = exit
	b.told = exit.Stdout.String() + exit.Stderr.String()
	b.ending = ending(exit.Code, exit.Signal, b.told)
	if exit.TimedOut {
		b.ending = "timeout"
	}
}

func (b *bed) outside(args, env []string, stdin *os.File) {
	cmd := exec.CommandContext(b.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.dir, append(os.Environ(), env...), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: b.a.as}
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	timer := time.AfterFunc(attackTimeout, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	_ = cmd.Wait()
	timer.Stop()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // what remains in its process group
	b.told = buf.String()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	var sig syscall.Signal
	if ws.Signaled() {
		sig = ws.Signal()
	}
	b.ending = ending(ws.ExitStatus(), sig, b.told)
}

// program returns the path of the attacking binary: this one, or the one that the bed prepared.
func (b *bed) program() string {
	if p, ok := b.state["program"].(string); ok {
		return p
	}
	return self(b.t)
}

// ending names how an attack ended.
func ending(code int, sig syscall.Signal, told string) string {
	if sig != 0 {
		return unix.SignalName(sig)
	}
	if code == 0 {
		return "ok"
	}
	if _, after, found := strings.Cut(told, "[errno "); found {
		name, _, _ := strings.Cut(after, "]")
		return name
	}
	return fmt.Sprintf("status %d", code)
}

func (b *bed) met(want string) bool {
	return want == "" || slices.Contains(strings.Split(want, "|"), b.ending)
}

// attackProgram registers f as a helper that reports errors by their errno names.
func attackProgram(name string, f func(a []string) error) string {
	helpers[name] = func(a []string) error {
		err := f(a)
		var e syscall.Errno
		if errors.As(err, &e) {
			return fmt.Errorf("%w [errno %s]", err, unix.ErrnoName(e))
		}
		return err
	}
	return name
}

// Checks by the host.

// claimed takes the program's own word that it succeeded.
func claimed(b *bed) string {
	if b.ending == "ok" {
		return "the program says so"
	}
	return ""
}

// canaryHurt checks the place outside.
func canaryHurt(b *bed) string {
	got, err := os.ReadFile(filepath.Join(b.out, "canary"))
	if err != nil || string(got) != b.secret {
		return fmt.Sprintf("the canary reads %q, %v", got, err)
	}
	names, err := os.ReadDir(b.out)
	for _, n := range names {
		if n.Name() != "canary" && !strings.HasPrefix(n.Name(), "host-") {
			return fmt.Sprintf("%s appeared beside the canary", n.Name())
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// secretOut looks for the secret in the program's output and files.
func secretOut(b *bed) string {
	if strings.Contains(b.told, b.secret) {
		return "the secret was printed"
	}
	found := ""
	_ = filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if text, _ := os.ReadFile(p); bytes.Contains(text, []byte(b.secret)) {
				found = "the secret is in " + p
			}
		}
		return nil
	})
	return found
}

// setIDLeft looks for files that would run as their owner for somebody else.
func setIDLeft(b *bed) string {
	found := ""
	_ = filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if fi, err := d.Info(); err == nil && fi.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			found = fmt.Sprintf("%s has mode %v", p, fi.Mode())
		}
		return nil
	})
	return found
}

// noLonger reports that a path of the host has disappeared.
func noLonger(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return err.Error()
	}
	return ""
}

// there reports that a path of the host exists.
func there(path string) string {
	if _, err := os.Lstat(path); err == nil {
		return path + " exists"
	}
	return ""
}
