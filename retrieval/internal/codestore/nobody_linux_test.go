package codestore

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	asNobody = func(t *testing.T, dirs ...string) func() {
		for _, dir := range dirs { // only root can read test directories
			for up := dir; len(up) > len(os.TempDir()); up = filepath.Dir(up) {
				if err := os.Chmod(up, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.LockOSThread()
		if err := unix.Setfsuid(65534); err != nil {
			runtime.UnlockOSThread()
			t.Skip(err)
		}
		return func() {
			if err := unix.Setfsuid(0); err == nil {
				runtime.UnlockOSThread()
			}
		}
	}
}
