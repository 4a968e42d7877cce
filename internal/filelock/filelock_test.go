package filelock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func take(t *testing.T, f *os.File, want bool) {
	t.Helper()
	ok, err := Try(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no locks here")
	}
	if ok != want || err != nil {
		t.Errorf("got %v, %v, want %v", ok, err, want)
	}
}

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a, b := open(t, path), open(t, path)
	take(t, a, true)
	take(t, b, false)
	if _, err := b.WriteString("text"); err != nil {
		t.Errorf("a locked file cannot be written: %v", err)
	}
	a.Close()
	take(t, b, true)
}

// TestTryAfterDeath checks that a lock ends with a killed process.
func TestTryAfterDeath(t *testing.T) {
	if path := os.Getenv("FILELOCK_TEST"); path != "" {
		take(t, open(t, path), true)
		fmt.Println("taken")
		time.Sleep(time.Minute)
		return
	}
	path := filepath.Join(t.TempDir(), "a")
	f := open(t, path)
	cmd := exec.Command(os.Args[0], "-test.run=^TestTryAfterDeath$")
	cmd.Env = append(os.Environ(), "FILELOCK_TEST="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("no word of the lock")
	}
	take(t, f, false)
	cmd.Process.Kill()
	cmd.Wait()
	take(t, f, true)
}
