package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rustupHashes is a directory in RUSTUP_HOME that rustup makes at each start from version 1.29 on,
// if it is missing. It starts no program without it, and does not use it otherwise.
const rustupHashes = "update-hashes"

// madeHome is a directory that is made for a tool: links to what the tool reads, and an empty
// directory.
type madeHome struct {
	variable string // names the directory
	name     string
	links    []string // targets
	empty    string
}

// withHashes returns rustup's tool chain with a directory of its own if the one on the host lacks
// rustupHashes, since nothing can be made in that.
func withHashes(t toolchain) toolchain {
	is := func(p string) bool { return filepath.Base(p) == rustupHashes }
	if len(t.env) == 0 || slices.ContainsFunc(t.readOnly, is) {
		return t
	}
	variable, _, _ := strings.Cut(t.env[0], "=")
	t.env, t.home = nil, &madeHome{variable: variable, name: "rustup", links: t.readOnly, empty: rustupHashes}
	return t
}

// make makes the directory in parent, and returns the variable that names it, or nil if that fails.
func (h *madeHome) make(parent string) (env []string) {
	dir := filepath.Join(parent, h.name)
	if os.MkdirAll(filepath.Join(dir, h.empty), 0o755) != nil {
		return nil
	}
	for _, link := range h.links {
		if err := os.Symlink(link, filepath.Join(dir, filepath.Base(link))); err != nil && !os.IsExist(err) {
			return nil
		}
	}
	return []string{h.variable + "=" + dir}
}
