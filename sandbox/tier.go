package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tier is a kind of isolation; a greater tier is stronger.
type Tier int

// The tiers. Zero stands for the default where a Tier is asked for.
const (
	// TierNone is a plain process: nothing but a scrubbed environment and
	// process-tree control.
	TierNone Tier = 10
	// TierLandlock confines file access by Landlock and system calls by seccomp;
	// processes and names of the host stay visible, no network can be opened.
	TierLandlock Tier = 20
	// TierSeatbelt is macOS's sandbox-exec with a generated profile: files and
	// network by rule; processes and names of the host stay visible.
	TierSeatbelt Tier = 25
	// TierBubblewrap is the system's bwrap: namespaces where only an installed
	// helper may create them (AppArmor-restricted hosts).
	TierBubblewrap Tier = 30
	// TierHostNet is TierNamespaces on hosts that give no network namespace. No
	// network can be opened, loopback included; Unix sockets work where Landlock
	// keeps them inside.
	TierHostNet Tier = 35
	// TierNamespaces is the full set: user, mount, PID, network, IPC, UTS and
	// cgroup namespaces with an own root, seccomp and no privileges.
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

// Isolation is what is really enforced on a command, as observed from inside.
type Isolation struct {
	// Tier is the tier that was reached.
	Tier Tier `json:"tier"`
	// Walls lists every wall in a fixed order, standing or not.
	Walls []Wall `json:"walls"`
	// Limits says of each resource limit by what it is kept, or that it is not.
	Limits []Limit `json:"limits,omitempty"`
	// Missing says in words what this sandbox does not protect against.
	Missing []string `json:"missing,omitempty"`
	// Tried are the higher tiers that did not work, and why.
	Tried []Attempt `json:"tried,omitempty"`
}

// Names of the walls, in the order in which Isolation lists them.
const (
	WallFilesystem  = "filesystem"  // reads and writes confined to what was granted
	WallNetwork     = "network"     // no address but loopback can be reached
	WallProcesses   = "processes"   // host processes can be neither seen nor signalled
	WallIPC         = "ipc"         // System V and POSIX IPC of the host out of reach
	WallIdentity    = "identity"    // not the host's privileged user
	WallPrivileges  = "privileges"  // no capabilities, none to be gained by exec
	WallSyscalls    = "syscalls"    // seccomp filter in force
	WallEnvironment = "environment" // host variables withheld
	WallLimits      = "limits"      // resource limits in force
)

var wallOrder = []string{WallFilesystem, WallNetwork, WallProcesses, WallIPC, WallIdentity,
	WallPrivileges, WallSyscalls, WallEnvironment, WallLimits}

// Wall is one thing kept apart.
type Wall struct {
	Name     string `json:"name"`
	Enforced bool   `json:"enforced"`
	Detail   string `json:"detail"` // by what, or why not
}

// Limit is one resource limit.
type Limit struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value,omitempty"` // bytes or a count; zero is none
	Enforced bool    `json:"enforced"`
	By       string  `json:"by"` // by what, or why not
}

// Attempt is a tier that was tried in vain.
type Attempt struct {
	Tier  Tier   `json:"tier"`
	Cause string `json:"cause"`
}

// Wall returns the wall of that name; a name unknown to this version is a wall
// that does not stand.
func (i Isolation) Wall(name string) Wall {
	for _, w := range i.Walls {
		if w.Name == name {
			return w
		}
	}
	return Wall{Name: name, Detail: "unknown"}
}

// String is a report for people, one wall a line.
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

// newIsolation lists every wall in order; those not given do not stand.
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
