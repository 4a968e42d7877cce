package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tier is a kind of isolation; a greater tier is stronger.
type Tier int

// The tiers. Where a Tier is requested, zero stands for the default.
const (
	// TierNone is a plain process: only a scrubbed environment and process-tree control.
	TierNone Tier = 10
	// TierLandlock restricts file access by Landlock and system calls by seccomp; processes and
	// names of the host stay visible, no network connection can be opened.
	TierLandlock Tier = 20
	// TierSeatbelt is macOS's sandbox-exec with a generated profile: file and network access by
	// rule; processes and names of the host stay visible.
	TierSeatbelt Tier = 25
	// TierBubblewrap is the system's bwrap: namespaces on hosts where only an installed helper may
	// create them (restricted by AppArmor).
	TierBubblewrap Tier = 30
	// TierHostNet is TierNamespaces on hosts that allow no network namespace. No network connection
	// can be opened, not even to loopback; Unix sockets work if Landlock confines them.
	TierHostNet Tier = 35
	// TierNamespaces is the full set: user, mount, PID, network, IPC, UTS and cgroup namespaces
	// with a new root, seccomp and no privileges.
	TierNamespaces Tier = 40
)

var tierNames = map[Tier]string{
	TierNone: "none", TierLandlock: "landlock", TierSeatbelt: "seatbelt", TierBubblewrap: "bubblewrap", TierHostNet: "host-net", TierNamespaces: "namespaces",
}

func (t Tier) valid() bool { _, ok := tierNames[t]; return ok }

// String returns the tier's name, such as "namespaces".
func (t Tier) String() string {
	if s, ok := tierNames[t]; ok {
		return s
	}
	return fmt.Sprintf("Tier(%d)", int(t))
}

// ParseTier is the inverse of Tier.String.
func ParseTier(name string) (Tier, error) {
	for t, s := range tierNames {
		if s == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("sandbox: parse tier %q: want none, landlock, seatbelt, bubblewrap, host-net or namespaces", name)
}

// MarshalText writes the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a tier's name.
func (t *Tier) UnmarshalText(b []byte) (err error) { *t, err = ParseTier(string(b)); return err }

// Isolation reports what is really enforced on a command, as observed from inside.
type Isolation struct {
	// Tier is the tier that was reached.
	Tier Tier `json:"tier"`
	// Walls lists every wall in a fixed order, enforced or not.
	Walls []Wall `json:"walls"`
	// Limits lists each resource limit with the means that enforces it, or that it is not enforced.
	Limits []Limit `json:"limits,omitempty"`
	// Missing describes what this sandbox does not protect against.
	Missing []string `json:"missing,omitempty"`
	// Tried lists the higher tiers that did not work, and why.
	Tried []Attempt `json:"tried,omitempty"`
}

// Names of the walls, in the order in which Isolation lists them.
const (
	WallFilesystem  = "filesystem"  // reads and writes restricted to granted paths
	WallNetwork     = "network"     // only loopback addresses can be reached
	WallProcesses   = "processes"   // host processes can be neither seen nor signalled
	WallIPC         = "ipc"         // System V and POSIX IPC of the host unreachable
	WallIdentity    = "identity"    // not the host's privileged user
	WallPrivileges  = "privileges"  // no capabilities, and none can be gained by exec
	WallSyscalls    = "syscalls"    // seccomp filter in force
	WallEnvironment = "environment" // host variables withheld
	WallLimits      = "limits"      // resource limits in force
)

var wallOrder = []string{WallFilesystem, WallNetwork, WallProcesses, WallIPC, WallIdentity,
	WallPrivileges, WallSyscalls, WallEnvironment, WallLimits}

// Wall is one barrier between commands and the host.
type Wall struct {
	Name     string `json:"name"`
	Enforced bool   `json:"enforced"`
	Detail   string `json:"detail"` // how it is enforced, or why not
}

// Limit is one resource limit.
type Limit struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value,omitempty"` // bytes or a count; zero means none
	Enforced bool    `json:"enforced"`
	By       string  `json:"by"` // how it is enforced, or why not
}

// Attempt is a tier that was tried and did not work.
type Attempt struct {
	Tier  Tier   `json:"tier"`
	Cause string `json:"cause"`
}

// Wall returns the wall of that name. For a name unknown to this version it returns a wall that is
// not enforced.
func (i Isolation) Wall(name string) Wall {
	for _, w := range i.Walls {
		if w.Name == name {
			return w
		}
	}
	return Wall{Name: name, Detail: "unknown"}
}

// String returns a report for people, one wall a line.
func (i Isolation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tier %v\n", i.Tier)
	for _, w := range i.Walls {
		mark := "no "
		if w.Enforced {
			mark = "yes"
		}
		fmt.Fprintf(&b, "  %s  %-12s %s\n", mark, w.Name, w.Detail)
	}
	for _, l := range i.Limits {
		switch {
		case l.Enforced:
			fmt.Fprintf(&b, "  limit: %s %s by %s\n", l.Name, strconv.FormatFloat(l.Value, 'f', -1, 64), l.By)
		case l.Value != 0:
			fmt.Fprintf(&b, "  limit: %s %s %s\n", l.Name, strconv.FormatFloat(l.Value, 'f', -1, 64), l.By)
		}
	}
	for _, m := range i.Missing {
		fmt.Fprintf(&b, "  missing: %s\n", m)
	}
	for _, a := range i.Tried {
		fmt.Fprintf(&b, "  tried %v: %s\n", a.Tier, a.Cause)
	}
	return b.String()
}

func (i Isolation) clone() Isolation {
	i.Limits = slices.Clone(i.Limits)
	i.Walls, i.Missing, i.Tried = slices.Clone(i.Walls), slices.Clone(i.Missing), slices.Clone(i.Tried)
	return i
}

// newIsolation lists every wall in order; those not given are not enforced.
func newIsolation(tier Tier, walls ...Wall) Isolation {
	iso := Isolation{Tier: tier, Walls: make([]Wall, len(wallOrder))}
	for i, name := range wallOrder {
		iso.Walls[i] = Wall{Name: name, Detail: "not enforced"}
		for _, w := range walls {
			if w.Name == name {
				iso.Walls[i] = w
			}
		}
	}
	return iso
}
