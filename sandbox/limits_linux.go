package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"

	"github.com/luthier-dev/luthier/sandbox/internal/cgroup"
)

// bounds holds what enforces the limits of a sandbox as a whole.
type bounds struct {
	group *cgroup.Group // nil if there is none
	why   error         // why the control group could not be set up as asked
}

// newBounds makes a control group if a limit asks for one. Without the right to make one, other
// means remain; see report.
func newBounds(l Limits) bounds {
	want := cgroup.Limits{Memory: max(l.MemoryTotal, 0), CPU: max(l.CPU, 0)}
	if want == (cgroup.Limits{}) {
		return bounds{} // a group costs more than the rest of a start
	}
	want.Processes = max(l.Processes, 0)
	if want.Processes > 0 {
		want.Processes += supervisorThreads
	}
	var b bounds
	b.group, b.why = cgroup.Make(cgroup.Name(rand.Text()), want)
	return b
}

// supervisorThreads is the number of threads that a sandbox's init process may need itself. They
// count against the group's limit and not against the command's.
const supervisorThreads = 32

// watch returns the memory limit that the supervisor itself must enforce, or 0.
func (b bounds) watch(l Limits) int64 {
	if b.group.Enforces("memory") {
		return 0
	}
	return max(l.MemoryTotal, 0)
}

// isolation returns the isolation that f found, with the limits.
func (b bounds) isolation(sp *spec, f *facts, id identity, cfg *Config, ws *workspace) Isolation {
	iso := f.isolation(sp, id)
	iso.Limits = append(b.report(sp, f), ws.limits(sp.Limits)...)
	iso.Missing = append(ws.unlimited(cfg), iso.Missing...)
	return iso
}

// report lists each limit with the means that enforces it.
func (b bounds) report(sp *spec, f *facts) []Limit {
	l := sp.Limits
	out := []Limit{
		limit("memory per process", l.Memory, "RLIMIT_DATA"),
		b.memory(sp, f),
		b.processes(l, f),
		limit("open files per process", l.Files, "RLIMIT_NOFILE"),
		limit("file size", l.FileSize, "RLIMIT_FSIZE"),
		b.cpu(l),
	}
	shm := limit("shared memory", l.SharedMemory, "size of /dev/shm; System V segments are not limited, as only root could")
	if f.SystemV {
		shm.By = "size of /dev/shm, kernel.shmall for System V segments"
	}
	if l.SharedMemory < 0 {
		shm.By = "none asked for"
	}
	if f.PID != 1 {
		shm = Limit{Name: shm.Name, Value: shm.Value, By: "not enforced: /dev/shm is the host's, and out of reach"}
	}
	return append(out, shm)
}

// limit returns a limit that is enforced by a process limit.
func limit(name string, value int64, by string) Limit {
	if value < 0 {
		return Limit{Name: name, By: "none asked for"}
	}
	return Limit{Name: name, Value: float64(value), Enforced: true, By: by}
}

func (b bounds) memory(sp *spec, f *facts) Limit {
	out := limit("memory of all", sp.Limits.MemoryTotal, "control group")
	switch {
	case !out.Enforced || b.group.Enforces("memory"):
	case f.PID == 1:
		unseen := ""
		switch {
		case !sp.Root: // the supervisor watches from inside
			unseen = "; sockets and descriptors in flight are not seen"
		case sp.HostNet:
			unseen = "; sockets are not seen"
		}
		out.By = fmt.Sprintf("watchdog, every %v%s (no control group: %v)", watchEvery, unseen, b.why)
	default:
		out.Enforced, out.By = false, fmt.Sprintf("not enforced (no control group: %v)", b.why)
	}
	return out
}

func (b bounds) processes(l Limits, f *facts) Limit {
	out := limit("processes", l.Processes, "RLIMIT_NPROC")
	if !out.Enforced {
		return out
	}
	if b.group.Enforces("pids") {
		out.By += ", control group"
	}
	if f.MaxPID > 0 && f.PID == 1 {
		out.By += fmt.Sprintf(", pid_max %d", f.MaxPID)
	}
	if f.PID != 1 {
		out.By += ", which counts the user's other processes too"
	}
	return out
}

func (b bounds) cpu(l Limits) Limit {
	switch {
	case l.CPU <= 0:
		return Limit{Name: "processors", By: "none asked for"}
	case b.group.Enforces("cpu"):
		return Limit{Name: "processors", Value: l.CPU, Enforced: true, By: "control group"}
	}
	return Limit{Name: "processors", Value: l.CPU, By: fmt.Sprintf("not enforced (no control group: %v)", b.why)}
}

// reservedPIDs is the number of low PIDs that the kernel does not reuse.
const reservedPIDs = 300

// maxPIDs returns the limit on the PIDs of a sandbox's PID namespace.
func maxPIDs(l Limits) int64 { return l.Processes + supervisorThreads + reservedPIDs + 2 }

const pidMax = "/proc/sys/kernel/pid_max"

// maxPIDInForce reads the namespace's PID limit back, if it is one of ours.
func maxPIDInForce(l Limits) int64 {
	b, err := os.ReadFile(pidMax)
	if err != nil || len(b) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(b[:len(b)-1]), 10, 64)
	if err != nil || n != maxPIDs(l) {
		return 0
	}
	return n
}
