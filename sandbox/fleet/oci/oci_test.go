package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

var update = flag.Bool("update", false, "write the golden files")

func TestConfig(t *testing.T) {
	b := bundle{rootfs: "/b/rootfs", dir: "/b/workspace", system: []string{"/etc/ssl", "/usr"}, uid: 65534, gid: 65534, memory: 1 << 30, pids: 100}
	got, err := json.MarshalIndent(b.config(&fleet.Command{Args: []string{"make", "test"}, Dir: "../../sub", Env: []string{"A=b"}}), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/config.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("config.json is\n%s\nwant\n%s%v", got, want, err)
	}
}

func TestNoRuntime(t *testing.T) {
	if _, err := New(Config{Runtime: "no-such-runtime"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a runtime that is not installed: %v", err)
	}
}

// openBox opens a box of the first runtime that is installed and works on this machine.
func openBox(t *testing.T) fleet.Box {
	if os.Geteuid() != 0 {
		t.Skip("OCI runtimes are driven as root")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("from the snapshot"), 0o644); err != nil {
		t.Fatal(err)
	}
	var why []string
	for name, flags := range map[string][]string{"runsc": {"--ignore-cgroups", "--network=none"}, "crun": {"--cgroup-manager=disabled"}, "runc": nil} {
		backend, err := New(Config{Runtime: name, Flags: flags, Snapshots: map[string]string{"s": dir}})
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		b, err := backend.Open(t.Context(), fleet.Spec{Class: "c", Snapshot: "s"})
		if err != nil {
			t.Fatal(err)
		}
		exit, err := b.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}})
		if err == nil && exit.Success() {
			t.Logf("with %s", name)
			return b
		}
		if err == nil {
			err = errors.New(exit.Stderr.String())
		}
		why = append(why, name+": "+err.Error())
		b.Close()
	}
	t.Skipf("no runtime works here: %s", strings.Join(why, "; "))
	return nil
}

func TestContainers(t *testing.T) {
	b := openBox(t)
	run := func(cmd sandbox.Cmd) *sandbox.Exit {
		t.Helper()
		exit, err := b.Exec(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		return exit
	}
	sh := func(script string) sandbox.Cmd { return sandbox.Cmd{Args: []string{"sh", "-c", script}} }
	cmd := sh("cat; cat f; echo $A; id -u; exit 3")
	cmd.Stdin, cmd.Env = strings.NewReader("in "), []string{"A=b"}
	if exit := run(cmd); exit.Code != 3 || exit.Stdout.String() != "in from the snapshotb\n65534\n" {
		t.Errorf("%+v: %s%s", exit, exit.Stdout, exit.Stderr)
	}
	run(sh("echo kept > g"))
	if exit := run(sh("cat g; ls / | tr '\\n' ' '; touch /usr/x /etc/x 2>/dev/null && echo wrote; grep -c : /proc/net/dev; cat /etc/shadow")); !strings.HasPrefix(exit.Stdout.String(), "kept\n") || strings.Contains(exit.Stdout.String(), "wrote") ||
		!strings.HasSuffix(exit.Stdout.String(), " 1\n") || exit.Success() {
		t.Errorf("%s%s", exit.Stdout, exit.Stderr)
	}
	cmd = sh("echo begun; sleep 1000")
	cmd.Timeout = 3 * time.Second
	if exit := run(cmd); !exit.TimedOut || exit.Stdout.String() != "begun\n" {
		t.Errorf("%+v", exit)
	}
	for wait := time.Second; ; wait *= 3 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(wait, cancel)
		exit, err := b.Exec(ctx, sh("sleep 1000"))
		if exit == nil && wait < 30*time.Second {
			continue // it had not begun
		}
		if !errors.Is(err, context.Canceled) || exit == nil || !exit.Canceled {
			t.Errorf("%+v, %v", exit, err)
		}
		break
	}
	dir := b.(*box).dir
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
	if _, err := b.Exec(t.Context(), sh("true")); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("Exec after Close: %v", err)
	}
}

// TestTree checks that the host's files of a box are those of its commands' user, under the name
// that they have for commands, and that they end with the box. It needs no runtime.
func TestTree(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("boxes are made as root")
	}
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "f"), []byte("from the snapshot"), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := open(Config{UID: 4242, GID: 4243, Snapshots: map[string]string{"s": from}, Scratch: t.TempDir()}, fleet.Spec{Snapshot: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tree, err := b.(sandbox.Treer).Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := sandbox.DirTree(from)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if tree.Name() != workspace || tree.ID() != plain.ID() {
		t.Errorf("the tree is %s (%s), want %s (%s)", tree.Name(), tree.ID(), workspace, plain.ID())
	}
	err = tree.Change(t.Context(), func(root *os.Root) error {
		return errors.Join(root.WriteFile("new", []byte("n"), 0o644), root.Rename("f", "g"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "g"} {
		fi, err := os.Lstat(filepath.Join(b.(*box).bundle.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := fi.Sys().(*syscall.Stat_t); st.Uid != 4242 || st.Gid != 4243 {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tree.View(t.Context(), func(*os.Root) error { return nil }); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
