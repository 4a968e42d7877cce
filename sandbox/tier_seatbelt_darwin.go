package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// seatbeltExec applies a profile to itself and executes the command.
const seatbeltExec = "/usr/bin/sandbox-exec"

// startSeatbelt opens the workspace at TierSeatbelt.
func startSeatbelt(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	if _, err := os.Stat(seatbeltExec); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		return nil, errors.New("as root, commands would keep root's rights within the profile")
	}
	if err := ws.materialize(cfg); err != nil {
		return nil, err
	}
	r := seatbeltRules{read: cfg.ReadOnly, write: append([]string{ws.sub(scratchTmp), ws.sub(scratchHome), ws.sub(scratchCache)}, cfg.Writable...)}
	if ws.readOnly {
		r.read = append(r.read, ws.dir)
	} else {
		r.write = append(r.write, ws.dir)
	}
	env := []string{"HOME=" + ws.sub(scratchHome), "TMPDIR=" + ws.sub(scratchTmp)}
	readable, toolEnv := plainToolchains(cfg, ws)
	r.read, env = append(r.read, readable...), append(env, toolEnv...)
	for _, list := range [][]string{r.read, r.write} {
		for i, p := range list { // rules are matched against names without links
			if real, err := filepath.EvalSymlinks(p); err == nil {
				list[i] = real
			}
		}
	}
	profile, err := seatbeltProfile(r)
	if err != nil {
		return nil, err
	}
	run := &seatbeltSpawner{hostSpawner: newHostSpawner(), profile: profile}
	l := newLocal(ws, mergeEnv(filterEnv(os.Environ(), passedEnv, cfg.PassEnv), env, cfg.Env), seatbeltIsolation(), run)
	// Running a command shows whether the tier works.
	exit, err := l.Exec(ctx, Cmd{Args: []string{"/usr/bin/true"}})
	if err == nil && !exit.Success() {
		err = errors.New("sandbox-exec: " + exit.String() + ": " + exit.Stderr.String())
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return l, nil
}

// seatbeltSpawner starts plain processes restricted by a profile.
type seatbeltSpawner struct {
	*hostSpawner
	profile string
}

func (s *seatbeltSpawner) spawn(ctx context.Context, req spawnRequest) (child, error) {
	path, err := findProgram(req.args[0], req.dir, req.env)
	if err != nil {
		return nil, err
	}
	req.args = append([]string{seatbeltExec, "-p", s.profile, path}, req.args[1:]...)
	return s.hostSpawner.spawn(ctx, req)
}

func seatbeltIsolation() Isolation {
	by := func(name, detail string) Wall { return Wall{Name: name, Enforced: true, Detail: detail} }
	iso := newIsolation(TierSeatbelt,
		by(WallFilesystem, "sandbox-exec: granted paths only"),
		by(WallNetwork, "sandbox-exec: none, loopback included"),
		by(WallPrivileges, "no set-id bits can be set; not root"),
		by(WallEnvironment, "allow-list of variables"))
	iso.Missing = []string{
		"names and arguments of host processes can be read",
		"commands run as the host's own user",
		"no limits of memory, processes or disk",
	}
	return iso
}
