package sandbox

import (
	"fmt"
	"strings"
	"syscall"
)

// Denial is something that a command tried and a wall refused, as the kernel or the egress proxy
// saw it; nothing is guessed from output.
type Denial struct {
	// Call is the system call, such as "connect", or the request of a proxy.
	Call string `json:"call"`
	// Path is the file concerned, empty if none.
	Path string `json:"path,omitempty"`
	// Host is the address or name concerned, as "host:port", empty if none.
	Host string `json:"host,omitempty"`
	// Errno is the error that the command got, or zero if it was refused in another way.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Wall is the wall that refused, one of the Wall constants.
	Wall string `json:"wall"`
	// Rule describes in words what is refused and by what.
	Rule string `json:"rule"`
	// Grant is the smallest change by the host that would allow it, such as `Config.Writable:
	// "/srv/data"`. It is empty if it should not be allowed.
	Grant string `json:"grant,omitempty"`
	// Count is the number of times that this was refused.
	Count int `json:"count"`
}

// String returns the denial on one line, for people and models.
func (d Denial) String() string {
	var b strings.Builder
	b.WriteString(d.Call)
	for _, what := range []string{d.Path, d.Host} {
		if what != "" {
			fmt.Fprintf(&b, " %q", what)
		}
	}
	if d.Errno != 0 {
		fmt.Fprintf(&b, ": %v", d.Errno)
	}
	fmt.Fprintf(&b, " (%s: %s", d.Wall, d.Rule)
	if d.Count > 1 {
		fmt.Fprintf(&b, "; %d times", d.Count)
	}
	b.WriteByte(')')
	if d.Grant != "" {
		b.WriteString("; to allow: " + d.Grant)
	}
	return b.String()
}

// maxDenials bounds the different denials kept for one command. Further calls are still refused,
// but not listed.
const maxDenials = 64

// maxDenialText bounds a path or host in a denial.
const maxDenialText = 4096

// denials is a bounded list in which equal entries are counted.
type denials struct {
	list []Denial
}

// add adds d, or counts it if the same was refused before.
func (l *denials) add(d Denial) {
	d.Path, d.Host = clip(d.Path, maxDenialText), clip(d.Host, maxDenialText)
	d.Count = max(d.Count, 1)
	for i := range l.list {
		same := l.list[i]
		same.Count = d.Count
		if same == d {
			l.list[i].Count += d.Count
			return
		}
	}
	if len(l.list) < maxDenials {
		l.list = append(l.list, d)
	}
}

func clip(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}
