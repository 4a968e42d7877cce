package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// toolchain is an installed tool outside the system directories.
type toolchain struct {
	readOnly []string  // paths commands may read
	home     *madeHome // a directory that is made for the tool, if it cannot work in its own
	env      []string  // variables that the tool needs to find itself and to stay offline
	cache    string    // a cache that commands get a private, writable view of
	cacheEnv string    // the variable that names the cache
}

// detectToolchains finds the tool chains that the host itself would use, from its environment and
// the usual places. It names only what a build reads, never a directory that may hold credentials,
// such as ~/.cargo itself.
func detectToolchains() []toolchain {
	home, _ := os.UserHomeDir()
	list := []toolchain{goToolchain(home)}
	if home == "" {
		return list
	}
	under := func(variable, def string, parts ...string) toolchain {
		dir := os.Getenv(variable)
		if dir == "" {
			dir = filepath.Join(home, def)
		}
		t := toolchain{}
		for _, p := range parts {
			t.readOnly = appendExisting(t.readOnly, filepath.Join(dir, p))
		}
		if len(t.readOnly) > 0 {
			t.env = []string{variable + "=" + dir}
		}
		return t
	}
	cargo := under("CARGO_HOME", ".cargo", "bin", "registry", "git", "env")
	cargo.env = append(cargo.env, "CARGO_NET_OFFLINE=true")
	list = append(list, cargo, withHashes(under("RUSTUP_HOME", ".rustup", "toolchains", "settings.toml", rustupHashes)),
		under("PYENV_ROOT", ".pyenv", ""),
		under("NVM_DIR", ".nvm", "versions", "alias", "nvm.sh"),
		under("VOLTA_HOME", ".volta", "bin", "tools"),
		under("SDKMAN_DIR", ".sdkman", "candidates"),
	)
	local := toolchain{}
	for _, p := range []string{".local/bin", ".local/lib", ".local/share/uv", ".deno/bin", ".bun/bin", "go/bin"} {
		local.readOnly = appendExisting(local.readOnly, filepath.Join(home, p))
	}
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		local.readOnly = appendExisting(local.readOnly, venv)
	}
	return append(list, local)
}

// plainToolchains returns the tool chain paths that commands may read at a tier without its own
// mounts, and the variables that point to them; caches start empty.
func plainToolchains(cfg *Config, ws *workspace) (readable, env []string) {
	if cfg.NoToolchains {
		return nil, nil
	}
	for _, t := range detectToolchains() {
		readable = append(readable, t.readOnly...)
		env = append(env, t.env...)
		if t.home != nil {
			env = append(env, t.home.make(ws.sub(scratchCache))...)
		}
		if t.cacheEnv != "" {
			env = append(env, t.cacheEnv+"="+filepath.Join(ws.sub(scratchCache), strings.ToLower(t.cacheEnv)))
		}
	}
	return readable, env
}

func appendExisting(list []string, path string) []string {
	if _, err := os.Stat(path); err == nil {
		list = append(list, filepath.Clean(path))
	}
	return list
}

// goToolchain finds what "go env" would report, without running it.
func goToolchain(home string) toolchain {
	conf := goEnvFile()
	get := func(name, def string) string {
		if v := os.Getenv(name); v != "" {
			return v
		}
		if v := conf[name]; v != "" {
			return v
		}
		return def
	}
	t := toolchain{cacheEnv: "GOCACHE", env: []string{"GOPROXY=off", "GOTOOLCHAIN=local", "GOENV=off", "GOTELEMETRY=off"}}
	if path, err := exec.LookPath("go"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if root := filepath.Dir(filepath.Dir(real)); isDir(filepath.Join(root, "src")) {
				t.readOnly = append(t.readOnly, root)
			}
		}
	}
	gopath, _, _ := strings.Cut(get("GOPATH", joinHome(home, "go")), string(os.PathListSeparator))
	if mod := get("GOMODCACHE", joinHome(gopath, "pkg/mod")); isDir(mod) {
		t.readOnly = append(t.readOnly, filepath.Clean(mod))
		t.env = append(t.env, "GOMODCACHE="+mod)
	}
	cacheDir, _ := os.UserCacheDir()
	if cache := get("GOCACHE", joinHome(cacheDir, "go-build")); isDir(cache) {
		t.cache = filepath.Clean(cache)
	}
	for _, name := range []string{"GOFLAGS", "CGO_ENABLED", "GOOS", "GOARCH", "GOEXPERIMENT", "GOPRIVATE", "GOWORK", "GO111MODULE"} {
		if v := get(name, ""); v != "" {
			t.env = append(t.env, name+"="+v)
		}
	}
	return t
}

func joinHome(base, rel string) string {
	if base == "" {
		return ""
	}
	return filepath.Join(base, rel)
}

func isDir(path string) bool {
	if path == "" || !filepath.IsAbs(path) {
		return false
	}
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// goEnvFile reads what "go env -w" wrote.
func goEnvFile() map[string]string {
	file := os.Getenv("GOENV")
	if file == "off" {
		return nil
	}
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil
		}
		file = filepath.Join(dir, "go", "env")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseGoEnv(b)
}

// parseGoEnv reads KEY=value lines, as cmd/go does.
func parseGoEnv(b []byte) map[string]string {
	out := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		k, v, ok := strings.Cut(line, "=")
		if ok && k != "" && !strings.HasPrefix(line, "#") {
			out[k] = v
		}
	}
	return out
}

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
