package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

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
	f, err := os.OpenFile(filepath.Join(dir, rel), os.O_CREATE|os.O_WRONLY, 0o644)
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
