package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWithoutNetworkNamespace checks that without a network namespace the next tier is used if it
// is allowed, and that nothing of the host's network is reachable from it. The test's host runs in
// a user namespace in which the kernel allows none.
func TestWithoutNetworkNamespace(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	abstract := "@luthier-hostnet-" + strconv.Itoa(os.Getpid())
	hidden, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer hidden.Close()
	for _, target := range [][]string{{"tcp", tcp.Addr().String()}, {"unix", abstract}} {
		if !outside(t, "dial", target...) {
			t.Errorf("control: %v cannot be reached from outside either", target)
		}
	}
	dir, err := os.MkdirTemp("", "luthier-hostnet-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(self(t), dir, tcp.Addr().String(), abstract)
	cmd.Env = append(os.Environ(), helperEnv+"=no-network-namespace")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 3 {
		t.Skipf("such a host cannot be made here: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func init() {
	helpers["no-network-namespace"] = func(a []string) error {
		if err := os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		work := filepath.Join(a[0], "work")
		if err := os.Mkdir(work, 0o755); err != nil {
			return err
		}
		cfg := Config{Dir: work, ScratchDir: a[0], ReadOnly: []string{exe}}
		if _, err := Local(ctx, cfg); !errors.Is(err, ErrFloor) {
			return fmt.Errorf("at the default floor: %v", err)
		}
		cfg.Floor = TierHostNet
		sb, err := Local(ctx, cfg)
		if errors.Is(err, ErrFloor) && !strings.Contains(err.Error(), "user namespaces may be forbidden") {
			return err
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		defer sb.Close()
		iso := sb.Isolation()
		fmt.Println(iso)
		if iso.Tier != TierHostNet || !iso.Wall(WallNetwork).Enforced || !iso.Wall(WallFilesystem).Enforced {
			return errors.New("the report does not say so")
		}
		for _, try := range []struct {
			name   string
			args   []string
			expect bool
		}{
			{"dial", []string{"tcp", a[1]}, false}, {"dial", []string{"unix", a[2]}, false},
			{"dial", []string{"udp", "192.0.2.1:53"}, false}, {"packet", nil, false}, {"vsock", nil, false},
			{"unix-socket", nil, landlockVersion() >= landlockScopes},
		} {
			exit, err := sb.Exec(ctx, Cmd{Args: append([]string{exe}, try.args...), Env: []string{helperEnv + "=" + try.name}})
			if err != nil {
				return err
			}
			if reached := exit.Code == 0; reached != try.expect {
				return fmt.Errorf("%s %v: %v %s", try.name, try.args, exit, exit.Stderr)
			}
		}
		return nil
	}
}
