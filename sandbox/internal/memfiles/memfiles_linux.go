// Package memfiles makes anonymous files for the commands of a sandbox and tells how much memory
// they take.
//
// An anonymous file (memfd_create) takes memory while anything refers to it: a descriptor, a
// mapping, or a message with a descriptor that waits in a socket. Nothing lists the last. So
// whoever watches a sandbox makes these files for the commands and keeps a descriptor of each, by
// which it sees their sizes wherever they are.
package memfiles

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Files are the anonymous files of a sandbox. The zero value has none.
type Files struct {
	// UID and GID own the files, unless they are 0. They are set before the first is made.
	UID, GID int

	mu    sync.Mutex
	files []*file
}

// file is an anonymous file that the broker keeps an eye on.
type file struct {
	fd    int // opened by itself: it shares nothing with the command's descriptor
	ino   uint64
	alone int // consecutive looks in which nothing else seemed to refer to it
}

// most bounds the files of a sandbox, each of which takes a descriptor of the broker.
const most = 1024

// aloneFor is the number of looks after which a file that nothing refers to is let go. A descriptor
// may have moved from one process to another during one look.
const aloneFor = 4

// Make makes an anonymous file and returns a descriptor to hand over.
func (m *Files) Make(name string, flags int) (int, unix.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.files) >= most {
		m.files = slices.DeleteFunc(m.files, func(f *file) bool { return f.alone > 0 && f.drop() })
	}
	if len(m.files) >= most {
		return -1, unix.ENFILE
	}
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_CLOEXEC)
	if err != nil {
		return -1, errnoOf(err)
	}
	var st unix.Stat_t
	own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && m.UID != 0 {
		err = unix.Fchown(fd, m.UID, m.GID)
	}
	if err != nil {
		unix.Close(fd)
		unix.Close(own)
		return -1, errnoOf(err)
	}
	m.files = append(m.files, &file{fd: own, ino: st.Ino})
	return fd, 0
}

func errnoOf(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.ENOMEM
}

// Size returns the memory of the files that something refers to. seen are those in descriptor
// tables. The others are let go after a while, or at once if they take more than spare.
func (m *Files) Size(pids []string, seen map[uint64]bool, spare int64) (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var elsewhere func(ino uint64) bool
	m.files = slices.DeleteFunc(m.files, func(f *file) bool {
		var st unix.Stat_t
		_ = unix.Fstat(f.fd, &st) // cannot fail
		size := st.Blocks * 512
		referred := seen[f.ino] || f.writable()
		if !referred {
			if elsewhere == nil {
				elsewhere = references(pids)
			}
			referred = elsewhere(f.ino)
		}
		if referred {
			f.alone = 0
			n += size
			return false
		}
		f.alone++
		spare -= size
		return (f.alone >= aloneFor || spare < 0) && f.drop()
	})
	return n
}

// writable reports whether anything else can write the file: then the kernel grants no lease.
func (f *file) writable() bool {
	if _, err := unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return true
	}
	_, _ = unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, unix.F_UNLCK)
	return false
}

// drop closes the file.
func (f *file) drop() bool {
	unix.Close(f.fd)
	return true
}

// Close lets all files go; the sandbox has ended.
func (m *Files) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.files {
		f.drop()
	}
	m.files = nil
}

// references returns a function that reports whether a process maps a file, or whether any
// descriptor is in flight, which may be one of the file.
func references(pids []string) func(ino uint64) bool {
	mapped := map[string]bool{}
	for _, pid := range pids {
		dir := filepath.Join("/proc", pid)
		if inFlight(filepath.Join(dir, "fdinfo")) {
			return func(uint64) bool { return true }
		}
		b, err := os.ReadFile(filepath.Join(dir, "maps"))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
			return func(uint64) bool { return true }
		}
		for line := range bytes.Lines(b) { // low-high perms offset device inode name
			if f := bytes.Fields(line); len(f) > 5 && bytes.HasPrefix(f[5], []byte("/memfd:")) {
				mapped[string(f[4])] = true
			}
		}
	}
	return func(ino uint64) bool { return mapped[fmt.Sprint(ino)] }
}

// inFlight reports whether descriptors wait in a socket of a process.
func inFlight(fdinfo string) bool {
	infos, err := os.ReadDir(fdinfo)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, e := range infos {
		b, _ := os.ReadFile(filepath.Join(fdinfo, e.Name()))
		if _, rest, ok := strings.Cut(string(b), "scm_fds:"); ok {
			if n, _, _ := strings.Cut(strings.TrimSpace(rest), "\n"); n != "0" {
				return true
			}
		}
	}
	return false
}
