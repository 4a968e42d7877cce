package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	// Lists what of /proc, besides processes, and of /sys can be opened for writing.
	helpers["writable-settings"] = func([]string) error {
		own := fmt.Sprintf("/proc/%d", os.Getpid())
		for _, root := range []string{"/proc", "/sys"} {
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil
				}
				name := strings.TrimPrefix(path, "/proc/")
				if path != root && root == "/proc" && (strings.Trim(name, "0123456789") == "" || path == own) {
					return fs.SkipDir
				}
				if d.IsDir() {
					if fd, err := unix.Open(path+"/luthier-probe", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
						unix.Close(fd)
						fmt.Println(path)
					}
					return nil
				}
				if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
					var st unix.Stat_t
					if unix.Fstat(fd, &st) == nil && st.Rdev != unix.Mkdev(1, 3) { // /dev/null hides a file
						fmt.Println(path)
					}
					unix.Close(fd)
				}
				return nil
			})
		}
		return nil
	}
}

// TestSettingsAreReadOnly checks that no setting of the kernel can be opened for writing inside,
// that its mount says so where the sandbox has its own /proc, and that what the kernel shows of all
// the machine's memory and timers is hidden.
//
// Evidence: sandbox · Kernel settings in /proc are read-only
func TestSettingsAreReadOnly(t *testing.T) {
	t.Parallel()
	for _, tier := range []Tier{TierNamespaces, TierHostNet, TierBubblewrap, TierLandlock} {
		t.Run(tier.String(), func(t *testing.T) {
			sb := open(t, walled(t, tier))
			exit := mustExec(t, sb, Cmd{Args: []string{self(t)}, Env: []string{helperEnv + "=writable-settings"}})
			if out := exit.Stdout.String(); !exit.Success() || out != "" {
				t.Errorf("%v: can be opened for writing:\n%s%s", exit, out, exit.Stderr)
			}
			if tier == TierLandlock {
				return
			}
			for _, name := range procReadOnly {
				if _, err := os.Lstat(name); err != nil {
					continue
				}
				if opts := optionsOf(sh(t, sb, "cat /proc/self/mountinfo"), name); !strings.HasPrefix(opts, "ro,") {
					t.Errorf("%s is mounted with %q", name, opts)
				}
			}
			for _, name := range procHidden {
				if _, err := os.Lstat(name); err == nil && sh(t, sb, "cat "+name+" || true") != "" {
					t.Errorf("%s can be read", name)
				}
			}
		})
	}
}

// optionsOf returns the options of the last mount at a path.
func optionsOf(mountinfo, path string) (opts string) {
	for line := range strings.Lines(mountinfo) {
		if f := strings.Fields(line); len(f) > 5 && f[4] == path {
			opts = f[5]
		}
	}
	return opts
}
