package attacks_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestAttacksAsOrdinaryUser checks that an ordinary user is protected as root is. A third of the
// attacks and of the usability cases run again as that user; in the long tier all of them do.
func TestAttacksAsOrdinaryUser(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("is one already")
	}
	// Not below t.TempDir: other users must be able to enter every directory above.
	dir, err := os.MkdirTemp("", "luthier-attacked-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, tmp := filepath.Join(dir, "sandbox.test"), filepath.Join(dir, "tmp")
	placeSelf(t, exe)
	if err := errors.Join(os.Mkdir(tmp, 0o755),
		os.Chown(tmp, int(nobody.Uid), int(nobody.Gid)), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.run", tier.Pick("^TestAttack(Files|Privileges|FirstProcess)$", "^Test(Attack|Usable)", "^Test(Attack|Usable)")}
	if !tier.Long() {
		args = append(args, "-test.short") // only a third of them
	}
	if raceDetector || !tier.Long() { // the host checks these with the same code, whoever made them
		args = append(args, "-test.skip", "^TestAttack(DeepTree|LongPaths|ManyLinks|NamesAlike)$")
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "HOME=" + tmp, "LANG=C.UTF-8"}
	cache := filepath.Join(dir, "cache")
	if testing.Short() { // nothing is compiled
		cache = filepath.Join(tmp, "cache")
	} else if err := linkBuildCache(cache); err != nil {
		t.Logf("the build cache is empty, and this takes longer: %v", err)
		cache = filepath.Join(tmp, "cache")
	}
	cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "    --- PASS")
	if err != nil {
		t.Fatalf("as uid %d: %v\n%s", nobody.Uid, err, out)
	}
	t.Logf("as uid %d: %d passed, %d skipped", nobody.Uid, passed, strings.Count(string(out), "    --- SKIP"))
}

// linkBuildCache makes dir a build cache for that user, with links to everything in ours: compiling
// it again would take most of a minute.
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
			return os.Link(path, to)
		}
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		return os.Chown(to, int(nobody.Uid), int(nobody.Gid))
	})
	if err != nil { // for example on another file system
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}
