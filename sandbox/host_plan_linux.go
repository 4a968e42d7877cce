package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// systemDirs lists the directories that the host's programs need to run. Those missing on a host
// are left out.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store"}

var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// insideHome is the home directory of commands.
const insideHome = "/home/sandbox"

// plan describes the new root of a sandbox, still in terms of host paths.
type plan struct {
	mounts []mount
	env    []string
	owned  map[int]bool // indexes of mounts whose owner must appear as the sandbox's user
	masks  masks
}

func newPlan(ws *workspace, uid int) *plan {
	return &plan{owned: map[int]bool{}, masks: masks{needed: os.Geteuid() == 0 && uid != 0, dir: ws.sub(scratchMasks)}}
}

// makePlan lays out the root. Parents come before their contents.
func makePlan(cfg *Config, ws *workspace, uid, gid int) (*plan, error) {
	p := newPlan(ws, uid)
	p.system()
	p.add(mount{Kind: mountTmpfs, Target: "/dev/shm", Size: max(cfg.Limits.SharedMemory, 0)})
	p.add(mount{Kind: mountBind, Source: ws.sub(scratchTmp), Target: "/tmp"})
	p.add(mount{Kind: mountSymlink, Source: "/tmp", Target: "/var/tmp"})
	p.add(mount{Kind: mountBind, Source: ws.sub(scratchHome), Target: insideHome})
	p.accounts(uid, gid)
	p.resolver(cfg)
	p.env = []string{"HOME=" + insideHome, "TMPDIR=/tmp", "USER=sandbox", "LOGNAME=sandbox"}
	grants, err := p.tools(cfg, ws)
	if err != nil {
		return nil, err
	}
	for _, dir := range cfg.ReadOnly {
		grants = append(grants, grant{path: dir, readOnly: true, owned: true})
	}
	for _, dir := range cfg.Writable {
		grants = append(grants, grant{path: dir, owned: true})
	}
	protected := ws.protect(cfg.Unprotect)
	ws.wall = ws.walled(protected)
	if err := p.grants(cfg, ws, append(grants, protected...)); err != nil {
		return nil, err
	}
	p.env = mergeEnv(noPtraceEnv, filterEnv(os.Environ(), passedEnv, cfg.PassEnv), online(cfg, p.env), cfg.Env)
	return p, nil
}

func (p *plan) add(m mount) { p.mounts = append(p.mounts, m) }

func (p *plan) system() {
	for _, dir := range systemDirs {
		fi, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if fi.Mode()&os.ModeSymlink != 0 {
			if target, err := os.Readlink(dir); err == nil {
				p.add(mount{Kind: mountSymlink, Source: target, Target: dir})
			}
			continue
		}
		p.add(mount{Kind: mountBind, Source: dir, Target: dir, ReadOnly: true})
	}
	for _, d := range devices {
		p.add(mount{Kind: mountBind, Source: "/dev/" + d, Target: "/dev/" + d, File: true, Device: true})
	}
	p.add(mount{Kind: mountDir, Target: "/var"})
	p.add(mount{Kind: mountDir, Target: "/run"})
	p.add(mount{Kind: mountDir, Target: "/sys"})
	p.add(mount{Kind: mountDevpts, Target: "/dev/pts"})
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		p.add(mount{Kind: mountSymlink, Source: target, Target: "/dev/" + name})
	}
}

// accounts replaces the host's user database with a generated one, which contains the sandbox's
// user.
func (p *plan) accounts(uid, gid int) {
	passwd := fmt.Sprintf("root:x:0:0:root:/nonexistent:/bin/sh\nsandbox:x:%d:%d:sandbox:%s:/bin/sh\n", uid, gid, insideHome)
	group := fmt.Sprintf("root:x:0:\nsandbox:x:%d:\n", gid)
	if uid != 65534 && gid != 65534 { // files that do not belong to the sandbox appear as owned by this user
		passwd += "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
		group += "nogroup:x:65534:\n"
	}
	for name, text := range map[string]string{
		"passwd": passwd,
		"group":  group,
	} {
		if _, err := os.Stat("/etc/" + name); err == nil {
			p.add(mount{Kind: mountText, Source: text, Target: "/etc/" + name, ReadOnly: true, File: true})
		}
	}
}

// writeTexts writes texts to files on the host, for tiers that cannot mount them directly.
func (p *plan) writeTexts(ws *workspace) error {
	for i := range p.mounts {
		m := &p.mounts[i]
		if m.Kind != mountText {
			continue
		}
		file := ws.sub(filepath.Base(m.Target))
		if err := os.WriteFile(file, []byte(m.Source), 0o644); err != nil {
			return err
		}
		m.Kind, m.Source = mountBind, file
	}
	return nil
}

// tools grants the tool chains and adds a private layer over their caches.
func (p *plan) tools(cfg *Config, ws *workspace) ([]grant, error) {
	if cfg.NoToolchains {
		return nil, nil
	}
	var grants []grant
	for i, t := range detectToolchains() {
		for _, dir := range t.readOnly {
			real, err := filepath.EvalSymlinks(dir)
			if err != nil || p.visible(real) && p.barrier(real) == "" || isSystemDir(real) {
				continue
			}
			grants = append(grants, grant{path: real, readOnly: true})
			if real != dir && !p.visible(dir) {
				p.add(mount{Kind: mountSymlink, Source: real, Target: dir})
			}
		}
		p.env = append(p.env, t.env...)
		if t.home != nil {
			p.toolHome(t.home)
		}
		if t.cacheEnv == "" {
			continue
		}
		layer := fmt.Sprintf("%s/%d", scratchCache, i)
		for _, d := range []string{"upper", "work"} {
			if err := os.MkdirAll(ws.sub(layer+"/"+d), 0o700); err != nil {
				return nil, err
			}
		}
		target := insideHome + "/.cache/" + strings.ToLower(t.cacheEnv)
		p.env = append(p.env, t.cacheEnv+"="+target)
		if t.cache != "" {
			p.owned[len(p.mounts)] = true
			p.add(mount{Kind: mountOverlay, Source: t.cache, Upper: ws.sub(layer), Target: target, Optional: true})
		}
	}
	return grants, nil
}

// toolHome makes a tool's directory in the root.
func (p *plan) toolHome(h *madeHome) {
	dir := "/run/" + h.name
	for _, link := range h.links {
		p.add(mount{Kind: mountSymlink, Source: link, Target: filepath.Join(dir, filepath.Base(link))})
	}
	p.add(mount{Kind: mountDir, Target: filepath.Join(dir, h.empty)})
	p.env = append(p.env, h.variable+"="+dir)
}

// visible reports whether the system directories already contain path.
func (p *plan) visible(path string) bool {
	return slices.ContainsFunc(p.mounts, func(m mount) bool {
		return m.Kind == mountBind && m.Source == m.Target && !m.File && within(path, m.Target)
	})
}

// grants adds the workspace and the other grants, outer paths first, so that each is mounted on top
// of the path that contains it.
func (p *plan) grants(cfg *Config, ws *workspace, grants []grant) error {
	if ws.dir != "" { // a ready sandbox has none yet
		grants = append(grants, grant{path: ws.dir, readOnly: ws.readOnly, owned: true})
	}
	slices.SortStableFunc(grants, func(a, b grant) int { return len(a.path) - len(b.path) })
	for _, g := range grants {
		if at := p.barrier(g.path); at != "" && g.pinned {
			p.pin(at)
			continue
		}
		m := mount{Kind: mountBind, Source: g.path, Target: g.path, ReadOnly: g.readOnly, Pinned: g.pinned, OwnerOf: g.ownerOf}
		if fi, err := os.Stat(g.path); err == nil && !fi.IsDir() {
			m.File = true
		}
		if g.path == ws.dir {
			switch {
			case ws.overlay:
				m.Kind, m.Source, m.Upper, m.Below = mountOverlay, ws.lower, ws.sub(scratchLayer), ws.below()
			default:
				m.Source = ws.source
			}
		}
		if err := p.reach(&m); err != nil {
			return fmt.Errorf("make the way to %s: %w", g.path, err)
		}
		if g.owned && (g.path != ws.dir || ws.source != ws.sub(scratchWork)) {
			p.owned[len(p.mounts)] = true
		}
		p.add(m)
	}
	return nil
}

// grant is a host path that commands may use.
type grant struct {
	path     string
	readOnly bool
	owned    bool   // named by the host: commands get the rights of its owner
	pinned   bool   // a part of the workspace, mounted over itself
	ownerOf  string // commands get the rights of this path's owner instead
}

// If the host is root, commands run as a user who owns nothing. A directory that only its owner may
// pass, such as /opt/private with the mode 0700, then separates a place below it from the sandbox,
// although the place itself is granted. A mask is an empty, read-only directory that is mounted
// over it, with nothing but the way to what is granted.

// masks makes the masks of a plan.
type masks struct {
	needed bool              // commands run as a user other than the host's
	dir    string            // where their directories are made
	made   map[string]string // their directories, by the directory that each covers
}

// barrier returns the outermost directory above path that commands cannot pass, or "".
func (p *plan) barrier(path string) string {
	if !p.masks.needed {
		return ""
	}
	i := p.holder(path)
	if i < 0 {
		return ""
	}
	m := p.mounts[i]
	var owner *tree.Owner
	if p.owned[i] {
		owner = ownerOf(cmp.Or(m.OwnerOf, m.Source))
	}
	at, rel := m.Target, strings.TrimPrefix(strings.TrimPrefix(path, m.Target), "/")
	for {
		fi, err := os.Lstat(filepath.Join(m.Source, strings.TrimPrefix(at, m.Target)))
		if err != nil || !fi.IsDir() {
			return "" // the mount will fail with the reason
		}
		if !passable(fi, owner) {
			return at
		}
		name, rest, more := strings.Cut(rel, "/")
		if !more {
			return ""
		}
		at, rel = filepath.Join(at, name), rest
	}
}

// holder returns the index of the innermost mount that contains path, or -1.
func (p *plan) holder(path string) int {
	found := -1
	for i, m := range p.mounts {
		if (m.Kind == mountBind || m.Kind == mountOverlay) && !m.File && path != m.Target && within(path, m.Target) &&
			(found < 0 || len(m.Target) >= len(p.mounts[found].Target)) {
			found = i
		}
	}
	return found
}

func ownerOf(path string) *tree.Owner {
	fi, err := os.Stat(path)
	if err != nil {
		return nil
	}
	st := fi.Sys().(*syscall.Stat_t)
	return &tree.Owner{UID: int(st.Uid), GID: int(st.Gid)}
}

// passable reports whether commands can pass a directory, if they have the rights of owner.
func passable(fi os.FileInfo, owner *tree.Owner) bool {
	st, mode := fi.Sys().(*syscall.Stat_t), fi.Mode().Perm()
	switch {
	case owner != nil && int(st.Uid) == owner.UID:
		return mode&0o100 != 0
	case owner != nil && int(st.Gid) == owner.GID:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// reach makes the way to the target of m passable.
func (p *plan) reach(m *mount) error {
	at := p.barrier(m.Target)
	if at == "" {
		if i := p.holder(m.Target); i < 0 || p.masks.made[p.mounts[i].Target] != p.mounts[i].Source {
			return nil
		}
		at = p.mounts[p.holder(m.Target)].Target // a mask is there already
	} else {
		dir := filepath.Join(p.masks.dir, strconv.Itoa(len(p.masks.made)))
		if p.masks.made == nil {
			p.masks.made = map[string]string{}
		}
		p.masks.made[at] = dir
		if err := makeWay(dir, ""); err != nil {
			return err
		}
		p.add(mount{Kind: mountBind, Source: dir, Target: at, ReadOnly: true})
	}
	dir, rel := p.masks.made[at], strings.TrimPrefix(m.Target, at+"/")
	if !m.File {
		return makeWay(dir, rel)
	}
	if err := makeWay(dir, filepath.Dir(rel)); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, rel), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// pin mounts a directory that commands cannot pass over itself, so that they cannot rename it and
// put another in its place.
func (p *plan) pin(dir string) {
	m := mount{Kind: mountBind, Source: dir, Target: dir, ReadOnly: true, Pinned: true}
	if i := p.holder(filepath.Join(dir, "x")); i < 0 || p.mounts[i].Target != dir {
		p.add(m)
	}
}

// makeWay makes dir and the directories of rel below it, so that everybody may pass them.
func makeWay(dir, rel string) error {
	if err := os.MkdirAll(filepath.Join(dir, rel), 0o755); err != nil {
		return err
	}
	for at := filepath.Join(dir, rel); within(at, dir); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { // whatever the umask is
			return err
		}
	}
	return nil
}
