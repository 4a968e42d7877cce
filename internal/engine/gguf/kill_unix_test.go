//go:build linux || darwin

package gguf

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// killFile and killAt are environment variables with which the test program runs itself again as a
// child: the file to write, and the byte at which to die.
const (
	killFile = "GGUF_TEST_KILL_FILE"
	killAt   = "GGUF_TEST_KILL_AT"
)

// TestMain also runs the process that TestKill kills.
func TestMain(m *testing.M) {
	path := os.Getenv(killFile)
	if path == "" {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(os.Getenv(killAt))
	if err == nil {
		err = newFile().create(path, func(f io.Writer) io.Writer { return &mortal{f, n} })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// mortal writes as many bytes as its field left says. Then the kernel kills the process, which has
// no chance to clean up.
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

func oldFile() *Writer {
	w := &Writer{}
	w.SetString("general.name", "old")
	return w
}

func newFile() *Writer {
	w := &Writer{}
	w.SetString("general.name", "new")
	w.AddTensor("t", TypeF32, []int{64}, bytes.Repeat([]byte{7}, 256))
	return w
}

// TestKill checks that if the process dies at any byte of a file that it is writing, either the old
// file or the new one is there.
//
// Evidence: engine · A kill while a GGUF file is written keeps the old file
func TestKill(t *testing.T) {
	var want bytes.Buffer
	if _, err := newFile().WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	step := 16
	if testing.Short() {
		step = 128
	}
	for n := 0; n <= want.Len()+step; n += step {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.gguf")
		if err := oldFile().Create(path); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killFile+"="+path, killAt+"="+strconv.Itoa(n))
		err := cmd.Run()
		if (err == nil) != (n > want.Len()) {
			t.Fatalf("killed at %d of %d bytes: %v", n, want.Len(), err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); (len(left) == 1) != (err != nil) {
			t.Fatalf("killed at %d bytes: beside the file are %v", n, left)
		}
		f, openErr := Open(path)
		if openErr != nil {
			t.Fatalf("killed at %d bytes: %v", n, openErr)
		}
		name, _ := f.String("general.name")
		if whole := name == "new"; whole != (err == nil) {
			t.Errorf("killed at %d bytes: the file is the %s one", n, name)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
