package workspacetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is an ordinary user who owns nothing on this host.
const nobody = 65534

// AsUser runs tests of this test binary, those that match the pattern, as an ordinary user, and
// returns what they print. It skips the test unless this process is root.
func AsUser(t *testing.T, pattern string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this process is no root: the tests have run as an ordinary user")
	}
	dir, err := os.MkdirTemp("", "luthier-user-") // not below t.TempDir, which others cannot enter
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	exe, tmp, cache := filepath.Join(dir, "user.test"), filepath.Join(dir, "tmp"), filepath.Join(dir, "cache")
	must(t, placeSelf(exe))
	must(t, errors.Join(os.Mkdir(tmp, 0o755), os.Chown(tmp, nobody, nobody)))
	if err := linkBuildCache(cache); err != nil {
		t.Logf("the build cache is empty, and this takes longer: %v", err)
		cache = filepath.Join(tmp, "cache")
	}
	args := []string{"-test.v", "-test.run", pattern}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir, cmd.Env = tmp, append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp, "GOCACHE="+cache, "GOPATH="+filepath.Join(tmp, "go"), "XDG_CACHE_HOME=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, out)
	}
	return string(out)
}

// placeSelf puts the test binary where everybody can execute it.
func placeSelf(name string) error {
	exe, err := os.Executable()
	if err != nil || os.Link(exe, name) == nil {
		return err
	}
	if out, err := exec.Command("cp", exe, name).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the test binary: %w: %s", err, out)
	}
	return nil
}

// linkBuildCache makes dir a build cache of nobody, with links to everything in ours: compiling it
// again would take most of a minute.
func linkBuildCache(dir string) error {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return err
	}
	from := strings.TrimSpace(string(out))
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "fuzz" {
			return fs.SkipDir
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, from))
		if !d.IsDir() {
			if err := os.Link(path, to); !errors.Is(err, fs.ErrNotExist) { // go may remove it meanwhile
				return err
			}
			return nil
		}
		return errors.Join(os.Mkdir(to, 0o755), os.Chown(to, nobody, nobody))
	})
	if err != nil { // for example on another file system
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}
