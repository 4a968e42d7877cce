package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// leftover is something that one lease of a warm sandbox leaves for the next: dirty makes it, probe
// finds it. Both are shell scripts, with the secret as $1 and the test binary as $2.
// TestRecycledSandboxIsClean checks all of them at once.
type leftover struct{ name, dirty, probe string }

func leftovers() []attack {
	var out []attack
	for _, l := range []leftover{
		{"file in tmp", `echo $1 > /tmp/x`, `grep -q $1 /tmp/x`},
		{"shell start-up file", `echo "echo $1" > ~/.bashrc`, `grep -q $1 ~/.bashrc`},
		{"git settings", `printf '[core]\n\tfsmonitor = %s\n' $1 > ~/.gitconfig`, `grep -q $1 ~/.gitconfig`},
		{"program in front of others", `mkdir -p ~/.local/bin ~/bin && echo $1 | tee ~/.local/bin/git > ~/bin/git`, `grep -q $1 ~/.local/bin/git ~/bin/git`},
		{"shared memory", `echo $1 > /dev/shm/x`, `grep -q $1 /dev/shm/x`},
		{"changed workspace", `echo $1 > file; echo $1 > new`, `grep -q $1 file || grep -q $1 new`},
		{"removed file", `rm file`, `! test -e file`},
		{"nameless file held open", `exec 9> file2; rm file2; echo $1 >&9; setsid sleep 300 & sleep 0.1`, `cat /proc/[0-9]*/fd/9 2>/dev/null | grep -q $1`},
		{"closed directory", `mkdir /tmp/d; echo $1 > /tmp/d/x; chmod 0 /tmp/d`, `chmod 755 /tmp/d 2>/dev/null; grep -q $1 /tmp/d/x`},
		{"background process", `setsid env MARK=$1 sleep 300 > /dev/null 2>&1 & until grep -qs MARK=$1 /proc/$!/environ; do sleep 0.01; done`, `cat /proc/[0-9]*/environ 2>/dev/null | grep -q MARK=$1`},
		{"System V segment", `LUTHIER_TEST_HELPER=ipc-make $2 $1`, `LUTHIER_TEST_HELPER=ipc-find $2 $1`},
		{"POSIX queue", `LUTHIER_TEST_HELPER=mq-make $2 $1`, `LUTHIER_TEST_HELPER=mq $2 luthier-$1`},
		{"abstract socket", `LUTHIER_TEST_HELPER=offer MARK=$1 setsid $2 0 > /dev/null 2>&1 & while ! test -e ready; do sleep 0.01; done`, `LUTHIER_TEST_HELPER=dial $2 unix @luthier-$1`},
		{"build cache", `test -n "$GOCACHE" || exit 77; mkdir -p $GOCACHE/00; echo $1 > $GOCACHE/00/x`, `grep -q $1 $GOCACHE/00/x`},
	} {
		out = append(out, attack{name: "left behind: " + l.name, does: "leaves it for the next lease: " + l.dirty, play: l.play,
			bit: func(b *bed) string {
				why, _ := b.state["met"].(string)
				return why
			}})
	}
	return out
}

// play runs dirty in one lease and probe in the next, or both in the same lease for the control.
func (l leftover) play(b *bed) {
	write(b.t, b.dir, "file", "original")
	p, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{ReadOnly: []string{self(b.t)}}, Max: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	defer p.Close()
	lease := func() sandbox.Sandbox {
		sb, err := p.Acquire(context.Background(), sandbox.Request{Snapshot: sandbox.SnapshotDir(b.dir), Domain: "attack"})
		if errors.Is(err, sandbox.ErrFloor) {
			b.t.Skipf("this host does not grant the tier: %v", err)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		return sb
	}
	run := func(sb sandbox.Sandbox, script string) *sandbox.Exit {
		return mustExec(b.t, sb, sandbox.Cmd{Args: []string{"sh", "-c", script, "sh", b.secret, self(b.t)}, Timeout: attackTimeout})
	}
	sb := lease()
	exit := run(sb, l.dirty)
	if exit.Code == 77 {
		b.t.Skip("there is none here")
	}
	if !exit.Success() {
		b.t.Fatalf("%s: %v %s", l.dirty, exit, exit.Stderr)
	}
	if b.sb != nil {
		if err := sb.Close(); err != nil {
			b.t.Fatal(err)
		}
		sb = lease()
	}
	exit = run(sb, l.probe)
	if exit.Success() {
		b.state["met"] = "it is there for the next lease"
	}
	b.told, b.ending = exit.Stderr.String(), "ok"
	if err := sb.Close(); err != nil {
		b.t.Error(err)
	}
}

// Programs that leave something and look for it, under names that all sandboxes share.
func init() {
	helpers["offer"] = func(a []string) error {
		l, err := net.Listen("unix", "@luthier-"+os.Getenv("MARK"))
		if err != nil {
			return err
		}
		defer l.Close()
		if err := errors.Join(os.WriteFile("/tmp/luthier-"+os.Getenv("MARK"), nil, 0o644), os.WriteFile("ready", nil, 0o644)); err != nil {
			return err
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			c.Close()
		}
	}
	// take-offer looks for the other sandbox's process, its socket, its file in /tmp and its
	// workspace.
	helpers["take-offer"] = func(a []string) error {
		if c, err := net.DialTimeout("unix", "@luthier-"+a[2], 3*time.Second); err == nil {
			c.Close()
			fmt.Println("by its socket")
			return nil
		}
		for _, path := range []string{"/tmp/luthier-" + a[2], filepath.Join(a[1], "ready")} {
			if _, err := os.Stat(path); err == nil {
				fmt.Println("by", path)
				return nil
			}
		}
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range lines {
			text, _ := os.ReadFile(p)
			if strings.Contains(string(text), a[0]) && !strings.HasPrefix(p, "/proc/"+strconv.Itoa(os.Getpid())+"/") {
				fmt.Println("by", p)
				return nil
			}
		}
		return errors.New("no trace")
	}
	helpers["ipc-make"] = func(a []string) error {
		_, err := unix.SysvShmGet(ipcKey(a[0]), 4096, unix.IPC_CREAT|0o666)
		return err
	}
	helpers["ipc-find"] = func(a []string) error {
		_, err := unix.SysvShmGet(ipcKey(a[0]), 0, 0)
		return err
	}
	helpers["mq-make"] = func(a []string) error {
		_, err := mqOpen("luthier-"+a[0], unix.O_CREAT|unix.O_RDWR)
		return err
	}
}

// ipcKey makes an IPC key from a secret's last digits.
func ipcKey(secret string) int {
	n, _ := strconv.Atoi(secret[len(secret)-6:])
	return n
}
