package coding

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInPlaceElsewhere runs a program in mounts of its own, and as a user who owns nothing, on
// files that cannot be replaced: bind mounts, a directory that cannot be written, files of somebody
// else in a shared directory.
func TestInPlaceElsewhere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount and to give files away")
	}
	dir := t.TempDir()
	files{"mounted": "old\n", "source": "old\n", "closed/f": "old\n", "shared/f": "old\n"}.write(t, dir)
	for p := dir; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0o555))
	must(t, os.Chmod(filepath.Join(dir, "shared"), 0o777))
	for _, f := range []string{"mounted", "source", "closed/f", "shared/f"} {
		must(t, os.Chmod(filepath.Join(dir, f), 0o666))
	}
	script := `mount --make-rprivate / && mount --bind "$1/source" "$1/mounted" && shift && exec "$@"`
	exe := filepath.Join(t.TempDir(), "child")
	cmd := startChild(t, dir, "in place")
	data, err := os.ReadFile(cmd.Path)
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	for p := filepath.Dir(exe); p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	sh := exec.Command("sh", "-c", script, "sh", dir, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", exe)
	cache := t.TempDir()
	for p := cache; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	must(t, os.Chown(cache, 65534, 65534))
	sh.Env, sh.Stderr, sh.Dir = append(cmd.Env, "XDG_CACHE_HOME="+cache), os.Stderr, "/"
	sh.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := sh.Output()
	if err != nil {
		t.Skipf("no mounts here, or no setpriv: %v %s", err, out)
	}
	contains(t, string(out), "mounted was written in place", "closed/f was written in place: its directory cannot be written", "shared/f was written in place: otherwise its owner cannot be kept")
	want := files{"mounted": "old\n", "source": "new\n", "closed/f": "new\n", "shared/f": "new\n"}
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	info, err := os.Stat(filepath.Join(dir, "shared/f"))
	must(t, err)
	if info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Error("the file of another user has changed hands")
	}
}
