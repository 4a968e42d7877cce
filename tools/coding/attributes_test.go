//go:build linux

package coding

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttributesStay keeps the extended attributes and the access list of a file that is replaced.
func TestAttributesStay(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "old\n"})
	at := filepath.Join(w.Dir(), "f")
	acl := "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\xfe\xff\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x04\x00\xff\xff\xff\xff"
	names := map[string]string{"user.origin": "https://example.org", "system.posix_acl_access": acl}
	for name, value := range names {
		if err := unix.Setxattr(at, name, []byte(value), 0); err != nil {
			t.Logf("%s: %v", name, err)
			delete(names, name)
		}
	}
	if len(names) == 0 {
		t.Skip("the file system has no extended attributes")
	}
	do(t, w, "edit", args{"path": "f", "old": "old", "new": "new"})
	for name, value := range names {
		buf := make([]byte, 200)
		n, err := unix.Getxattr(at, name, buf)
		if err != nil || string(buf[:n]) != value {
			t.Errorf("%s: %q %v, want %q", name, buf[:max(n, 0)], err, value)
		}
	}
}
