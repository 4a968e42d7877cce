package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for i, o := range []Options{{}, {Perm: 0o644, Sync: true}, {Perm: 0o444, Temp: "x-*"}, {Perm: 0o600}} {
		text := strings.Repeat("x", i)
		if err := WriteBytes(path, o, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("%+v: %q, %v", o, got, err)
		}
		want := o.Perm
		if want == 0 {
			want = 0o600
		}
		if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode() != want {
			t.Errorf("%+v: %v, %v", o, fi.Mode(), err)
		}
	}
	if diff := cmp.Diff([]string{"a"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteBytes(path, Options{}, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	err := Write(path, Options{}, func(w io.Writer) error {
		io.WriteString(w, "half")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if err := WriteBytes(filepath.Join(dir, "none", "b"), Options{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteBytes(filepath.Join(dir, "c"), Options{}, nil); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
	if diff := cmp.Diff([]string{"a", "c"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestKilledWhileWriting kills a process that replaces a file over and over: a reader always finds
// one of its texts, complete.
func TestKilledWhileWriting(t *testing.T) {
	tier.Normal(t)
	const size = 100_000
	if path := os.Getenv("ATOMICFILE_TEST"); path != "" {
		for i := 0; ; i++ {
			if err := WriteBytes(path, Options{}, []byte(strings.Repeat(string(rune('a'+i%26)), size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := WriteBytes(path, Options{}, []byte(strings.Repeat("z", size))); err != nil {
		t.Fatal(err)
	}
	changed := false
	for i := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileWriting$")
		cmd.Env = append(os.Environ(), "ATOMICFILE_TEST="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // a busy machine starts it slowly
			before, _ := os.ReadFile(path)
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if now, err := os.ReadFile(path); err == nil && !bytes.Equal(now, before) {
					break
				}
			}
		}
		time.Sleep(time.Duration(20+7*i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		got, err := os.ReadFile(path)
		if err != nil || len(got) != size || strings.Trim(string(got), string(got[:1])) != "" {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		changed = changed || got[0] != 'z'
	}
	if !changed {
		t.Error("nothing was written")
	}
}
