package gguf

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// resident returns the number of bytes of f's mapping that this process holds in memory.
func resident(t *testing.T, f *File) int {
	t.Helper()
	fd, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer fd.Close()
	start := fmt.Sprintf("%x-", uintptr(unsafe.Pointer(unsafe.SliceData(f.maps[0].data))))
	inside := false
	for s := bufio.NewScanner(fd); s.Scan(); {
		var kb int
		switch line := s.Text(); {
		case strings.HasPrefix(line, start):
			inside = true
		case inside && strings.HasPrefix(line, "Rss:"):
			if _, err := fmt.Sscanf(line, "Rss: %d kB", &kb); err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the mapping is not in /proc/self/smaps")
	return 0
}

// TestReleaseKeepsBytes checks that a released tensor still has the same bytes when it is read
// again.
func TestReleaseKeepsBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	data := bytes.Repeat([]byte("luthier."), 1<<17)
	w := &Writer{}
	w.AddTensor("t", TypeI8, []int{len(data)}, data)
	if err := w.Create(path); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, _ := f.Tensor("t")
	if !bytes.Equal(x.Data, data) {
		t.Fatal("the tensor is not what was written")
	}
	before := resident(t, f)
	f.Release(x)
	after := resident(t, f)
	if before < len(data)/2 || after > before/2 {
		t.Errorf("%d bytes were resident, %d are after the release", before, after)
	}
	if !bytes.Equal(x.Data, data) {
		t.Error("the tensor changed with its release")
	}
	f.Release(Tensor{Data: []byte("elsewhere")}) // these bytes do not belong to the file, so Release does nothing
}
