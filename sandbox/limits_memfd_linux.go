package sandbox

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

// An anonymous file (memfd_create) takes memory as long as anything refers to it: a descriptor, a
// mapping, or a message with a descriptor that waits in a socket. Nothing lists the last. So if the
// sandbox is watched, the broker makes these files for the commands and keeps a descriptor of each,
// by which it sees their sizes wherever they are.

// anonymousFiles are the anonymous files of a sandbox.
type anonymousFiles struct {
	owner *guestUser // of the files; set before the first is made
	mu    sync.Mutex
	files []*anonymousFile
}

// anonymousFile is an anonymous file that the broker keeps an eye on.
type anonymousFile struct {
	fd    int // opened by itself: it shares nothing with the command's descriptor
	ino   uint64
	alone int // consecutive looks in which nothing else seemed to refer to it
}

// maxAnonymousFiles bounds the files of a sandbox, each of which takes a descriptor of the broker.
const maxAnonymousFiles = 1024

// aloneFor is the number of looks after which a file that nothing refers to is let go. A descriptor
// may have moved from one process to another during one look.
const aloneFor = 4

// make makes an anonymous file and returns a descriptor to hand over.
func (m *anonymousFiles) make(name string, flags int) (int, unix.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.files) >= maxAnonymousFiles {
		m.files = slices.DeleteFunc(m.files, func(f *anonymousFile) bool { return f.alone > 0 && f.drop() })
	}
	if len(m.files) >= maxAnonymousFiles {
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
	if err == nil && m.owner.Dropped {
		err = unix.Fchown(fd, m.owner.OutUID, m.owner.OutGID)
	}
	if err != nil {
		unix.Close(fd)
		unix.Close(own)
		return -1, errnoOf(err)
	}
	m.files = append(m.files, &anonymousFile{fd: own, ino: st.Ino})
	return fd, 0
}

func errnoOf(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.ENOMEM
}

// size returns the memory of the files that something refers to. seen are those in descriptor tables.
// The others are let go after a while, or at once if they take more than spare.
func (m *anonymousFiles) size(pids []string, seen map[uint64]bool, spare int64) (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var elsewhere func(ino uint64) bool
	m.files = slices.DeleteFunc(m.files, func(f *anonymousFile) bool {
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
func (f *anonymousFile) writable() bool {
	if _, err := unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return true
	}
	_, _ = unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, unix.F_UNLCK)
	return false
}

// drop closes the file.
func (f *anonymousFile) drop() bool {
	unix.Close(f.fd)
	return true
}

// close lets all files go; the sandbox has ended.
func (m *anonymousFiles) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.files {
		f.drop()
	}
	m.files = nil
}

// references returns a function that reports whether a process maps a file, or whether any descriptor
// is in flight, which may be one of the file.
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
