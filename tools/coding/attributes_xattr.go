//go:build linux || darwin

package coding

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes copies the extended attributes of a file, among them its access list (ACL). Those
// that belong to the system (security, trusted) are copied if the process may do that.
func keepAttributes(from, to *os.File) error {
	var failed error
	for _, name := range attributes(int(from.Fd())) {
		value, err := attribute(int(from.Fd()), name)
		if err == nil {
			if old, oerr := attribute(int(to.Fd()), name); oerr == nil && bytes.Equal(old, value) {
				continue
			}
			err = unix.Fsetxattr(int(to.Fd()), name, value, 0)
		}
		if err != nil && !strings.HasPrefix(name, "security.") && !strings.HasPrefix(name, "trusted.") && !strings.HasPrefix(name, "com.apple.") {
			failed = &notKept{"attribute " + name}
		}
	}
	return failed
}

// attributes returns the names of the attributes of an open file.
func attributes(fd int) []string {
	n, err := unix.Flistxattr(fd, nil)
	if err != nil || n == 0 {
		return nil
	}
	buf := make([]byte, n+256)
	if n, err = unix.Flistxattr(fd, buf); err != nil {
		return nil
	}
	return strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
}

func attribute(fd int, name string) ([]byte, error) {
	n, err := unix.Fgetxattr(fd, name, nil)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	n, err = unix.Fgetxattr(fd, name, buf)
	return buf[:max(n, 0)], err
}
