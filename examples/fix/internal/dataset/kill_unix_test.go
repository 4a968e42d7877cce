//go:build linux || darwin

package dataset

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// killFile and killAt are environment variables with which the test program starts itself again:
// the file to write, and the byte at which to die.
const (
	killFile = "DATASET_TEST_KILL_FILE"
	killAt   = "DATASET_TEST_KILL_AT"
)

// TestMain also runs the process that TestKill kills.
func TestMain(m *testing.M) {
	path := os.Getenv(killFile)
	if path == "" {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(os.Getenv(killAt))
	if err == nil {
		err = writeNew(path, n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func writeNew(path string, n int) error {
	w, err := create(path, 500, func(f io.Writer) io.Writer { return &mortal{f, n} })
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, e := range random(20) {
		if err := w.Write(e); err != nil {
			return err
		}
	}
	return w.Close()
}

// mortal is a writer that accepts as many bytes as its field left says. Then the kernel kills the
// process, which has no chance to clean up.
type mortal struct {
	w    io.Writer
	left int
}

func (m *mortal) Write(b []byte) (int, error) {
	if len(b) < m.left {
		m.left -= len(b)
		return m.w.Write(b)
	}
	if _, err := m.w.Write(b[:m.left]); err != nil {
		return 0, err
	}
	if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
		return 0, err
	}
	select {}
}

// TestKill kills a process at many bytes of a file that it is writing: afterwards the file must be
// either the old one or the new one.
//
// Evidence: training · A kill while a dataset is written keeps the old file
func TestKill(t *testing.T) {
	full := filepath.Join(t.TempDir(), "full")
	write(t, full, random(20))
	info, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	size, step := int(info.Size()), 97
	if testing.Short() {
		step = 500
	}
	for n := 0; n <= size+step; n += step {
		path := filepath.Join(t.TempDir(), "train.set")
		write(t, path, random(3))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killFile+"="+path, killAt+"="+strconv.Itoa(n))
		err := cmd.Run()
		if (err == nil) != (n > size) {
			t.Fatalf("killed at %d of %d bytes: %v", n, size, err)
		}
		want := random(3)
		if err == nil {
			want = random(20)
		}
		set, loadErr := Load(path)
		if loadErr != nil {
			t.Fatalf("killed at %d of %d bytes: %v", n, size, loadErr)
		}
		if diff := cmp.Diff(want, set.Examples); diff != "" {
			t.Fatalf("killed at %d of %d bytes (-want +got):\n%s", n, size, diff)
		}
	}
}
