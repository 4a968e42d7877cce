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

// environ returns the environment a process was started with. During exec the kernel shows none:
// the old memory is gone, and the new one is not laid out yet. A process seen at that moment would
// seem to have no marker, so it is read again. An empty environment counts only if the process had
// the same program before and after the read: on a busy machine any time may pass in between.
func environ(pid int) []byte {
	name := "/proc/" + strconv.Itoa(pid) + "/environ"
	return settled(func() ([]byte, error) { return readAtOnce(name) }, func() program { return programOf(pid) })
}

// settled is environ, with what reads the environment and what looks at the program.
func settled(read func() ([]byte, error), look func() program) []byte {
	b, err := read()
	for begun := time.Now(); err == nil && len(b) == 0; time.Sleep(time.Millisecond) {
		before := look()
		if b, err = read(); err != nil || len(b) > 0 {
			break
		}
		passed := time.Since(begun)
		if before == look() && passed >= before.unsettled() || passed > execTime {
			break
		}
	}
	return b
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

// The kernel completes an exec in microseconds of CPU time, but on a busy machine the process may
// be descheduled in the middle. A process that never has an environment looks the same and delays
// the caller, so the wait must be short.
const (
	execTime   = 5 * time.Second
	eitherTime = 200 * time.Millisecond
)

// program holds what /proc/PID/stat shows of the program that a process runs.
type program struct {
	gone       bool   // it has ended, or has no program, as threads of the kernel
	sleeps     bool   // it waits, and is not in the middle of exec
	begin, end string // addresses of the environment
}

// programOf looks at fields 50 and 51 of stat, the start and end of the environment. A process in
// exec does not sleep (S), except to wait for the files of its program if another process serves
// them (FUSE).
func programOf(pid int) program {
	const exiting, kernelThread = 0x4, 0x200000 // PF_EXITING and PF_KTHREAD of the kernel's sched.h
	b, err := readStat(pid)
	if err != nil {
		return program{gone: true}
	}
	f := afterName(b)
	if len(f) < 49 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return program{gone: true}
	}
	flags, err := strconv.ParseUint(string(f[6]), 10, 64)
	if err != nil || flags&(exiting|kernelThread) != 0 {
		return program{gone: true}
	}
	return program{sleeps: f[0][0] == 'S', begin: string(f[47]), end: string(f[48])}
}

// unsettled returns for how long a process whose environment reads as empty may still be in the
// middle of exec. Both addresses are 0 before the environment is laid out, and they are equal while
// it is (create_elf_tables in the kernel's fs/binfmt_elf.c).
func (p program) unsettled() time.Duration {
	switch {
	case p.gone:
		return 0
	case p.begin != p.end:
		return 0 // laid out, and unmapped by the process itself, as processes that hold a namespace do
	case p.sleeps && p.end != "0":
		return 0 // started without an environment
	case p.sleeps || p.end != "0":
		return eitherTime
	}
	return execTime
}
