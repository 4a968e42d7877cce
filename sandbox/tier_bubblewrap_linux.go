package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// insideExe is the path of the supervisor's program under bubblewrap.
const insideExe = "/run/luthier-sandbox"

// startBubblewrap opens the workspace at TierBubblewrap: the system's bwrap makes the namespaces,
// and our supervisor inside does the rest.
func startBubblewrap(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if !hooked.Load() {
		return nil, ErrInit
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errors.New("bwrap is not installed")
	}
	id := hostIdentity()
	if id.dropped {
		return nil, errors.New("as root, bwrap would give commands root's own files")
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := ws.unlimit(cfg); err != nil {
		return nil, err
	}
	ws.overlay = false
	if err := ws.copyOut(); err != nil {
		return nil, err
	}
	p, err := makePlan(cfg, ws, id.inUID, id.inGID)
	if err == nil {
		err = p.writeTexts(ws)
	}
	if err != nil {
		return nil, err
	}
	args := append([]string{bwrap, "--unshare-all", "--as-pid-1", "--new-session", "--die-with-parent", "--hostname", "sandbox",
		"--cap-drop", "ALL", "--uid", strconv.Itoa(id.inUID), "--gid", strconv.Itoa(id.inGID),
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"}, bwrapMounts(p.mounts)...)
	for _, name := range procReadOnly { // bwrap itself protects some, and only from root
		if _, err := os.Lstat(name); err == nil {
			args = append(args, "--ro-bind", name, name)
		}
	}
	for _, name := range procHidden {
		if _, err := os.Lstat(name); err == nil {
			args = append(args, "--ro-bind", "/dev/null", name)
		}
	}
	args = append(args, "--ro-bind", exe, insideExe, "--remount-ro", "/", "--chdir", "/", "--", insideExe)
	b := newBounds(cfg.Limits)
	sp := &spec{Tier: TierBubblewrap, Limits: cfg.Limits, Trace: cfg.TraceWrites, Watch: b.watch(cfg.Limits), Host: lookAtHost()}
	run, f, err := launch(ctx, sp, launchOptions{cgroups: b.group.Files(), argv: args, attr: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		_ = b.group.Close()
		return nil, fmt.Errorf("bwrap: %w", err)
	}
	run.bounds = b
	return newLocal(ws, p.env, b.isolation(sp, f, id, cfg, ws), run), nil
}

// bwrapMounts translates mounts into bubblewrap's options. Bubblewrap makes /dev itself. Since not
// every version supports overlays, a cache becomes a private, empty directory.
func bwrapMounts(mounts []mount) []string {
	var args []string
	for _, m := range mounts {
		switch {
		case within(m.Target, "/dev"):
			// made by --dev
		case m.Kind == mountBind && m.ReadOnly:
			args = append(args, "--ro-bind", m.Source, m.Target)
		case m.Kind == mountBind:
			args = append(args, "--bind", m.Source, m.Target)
		case m.Kind == mountSymlink:
			args = append(args, "--symlink", m.Source, m.Target)
		case m.Kind == mountOverlay:
			args = append(args, "--bind", m.Upper+"/upper", m.Target)
		case m.Kind == mountTmpfs, m.Kind == mountDir:
			args = append(args, "--dir", m.Target)
		}
	}
	return args
}
