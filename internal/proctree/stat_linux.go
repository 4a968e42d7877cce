package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Stat holds what /proc/PID/stat reports about a process (see proc(5)).
type Stat struct {
	PID     int
	Comm    string // may contain any byte
	State   byte   // R, S, D, Z, T, ...
	PPID    int
	PGID    int
	Session int
	Start   uint64 // in clock ticks since boot; together with PID it identifies a process uniquely
}

// ParseStat reads the contents of /proc/PID/stat.
func ParseStat(b []byte) (Stat, error) {
	// The name is in parentheses and may itself contain parentheses.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Stat{}, errors.New("proctree: parse stat: no process name")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	if err != nil || pid < 1 {
		return Stat{}, fmt.Errorf("proctree: parse stat: bad pid %q", b[:open])
	}
	s := Stat{PID: pid, Comm: string(b[open+1 : end])}
	f := afterName(b)
	if len(f) < 20 || len(f[0]) != 1 {
		return Stat{}, fmt.Errorf("proctree: parse stat: %d fields after the name, want 20 or more", len(f))
	}
	s.State = f[0][0]
	for i, dst := range []*int{&s.PPID, &s.PGID, &s.Session} {
		if *dst, err = strconv.Atoi(string(f[1+i])); err != nil {
			return Stat{}, fmt.Errorf("proctree: parse stat: field %d: %w", 4+i, err)
		}
	}
	if s.Start, err = strconv.ParseUint(string(f[19]), 10, 64); err != nil {
		return Stat{}, fmt.Errorf("proctree: parse stat: start time: %w", err)
	}
	return s, nil
}

// afterName returns the fields of /proc/PID/stat from the third on, which follow the name. The name
// may contain any byte.
func afterName(b []byte) [][]byte { return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) }

func readStat(pid int) ([]byte, error) {
	return os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
}

// Read returns the Stat of a process.
func Read(pid int) (Stat, error) {
	b, err := readStat(pid)
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(b)
}

// List returns every process that /proc shows. Processes that end during the call are left out.
func List() ([]Stat, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []Stat
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := Read(pid); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// hasEnv reports whether the process was started with an environment entry that begins with prefix.
// It returns false for a process of another user, whose environment cannot be read.
func hasEnv(pid int, prefix string) bool {
	for kv := range bytes.SplitSeq(environ(pid), []byte{0}) {
		if bytes.HasPrefix(kv, []byte(prefix)) {
			return true
		}
	}
	return false
}

// environ returns the environment that a process was started with. During exec the kernel shows
// none: the old memory is gone, and the new memory is not laid out yet. A process seen at that
// moment would seem to have no marker, so its environment is read again.
func environ(pid int) []byte {
	before, _ := layoutOf(pid)
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		b, err := readAtOnce("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || len(b) > 0 {
			return b
		}
		after, ok := layoutOf(pid)
		if !ok || after.done() && after.memory == before.memory || time.Since(begun) > after.patience() {
			return nil
		}
		before = after
	}
}

// readAtOnce reads a file of /proc with a single system call into a buffer large enough for all of
// it. Parts read by several calls may belong to different programs, or the file may end with the
// old program.
func readAtOnce(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for size := 16 << 10; ; size *= 8 {
		b := make([]byte, size)
		n, err := f.ReadAt(b, 0)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if n < size {
			return b[:n], nil
		}
	}
}

// layout holds where the kernel has put the parts of a program's memory.
type layout struct {
	memory [3]string // start of the code, start and end of the environment; "0" until exec sets them
	sleeps bool
}

// layoutOf reads fields 26, 50 and 51 of /proc/PID/stat. It returns false for a process that ends
// and for a kernel thread.
func layoutOf(pid int) (layout, bool) {
	const exiting, kernelThread = 0x4, 0x200000 // PF_EXITING and PF_KTHREAD of the kernel's sched.h
	b, err := readStat(pid)
	if err != nil {
		return layout{}, false
	}
	f := afterName(b)
	if len(f) < 49 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return layout{}, false
	}
	flags, err := strconv.ParseUint(string(f[6]), 10, 64)
	if err != nil || flags&(exiting|kernelThread) != 0 {
		return layout{}, false
	}
	return layout{[3]string{string(f[23]), string(f[47]), string(f[48])}, f[0][0] == 'S'}, true
}

// done reports whether exec has laid out the program's memory. Exec sets the start of the code
// last (load_elf_binary in the kernel's fs/binfmt_elf.c). A process that shows no environment after
// that was started without one, or has unmapped it, as processes do that hold a namespace.
func (l layout) done() bool { return l.memory[0] != "0" }

// patience returns how long to wait until exec has laid out a program's memory. Exec takes
// microseconds, but on a busy machine the process can be descheduled in the middle. A process does
// not sleep in exec, except to wait for the files of its program if another process serves them
// (FUSE).
func (l layout) patience() time.Duration {
	if l.sleeps {
		return 200 * time.Millisecond
	}
	return 5 * time.Second
}
