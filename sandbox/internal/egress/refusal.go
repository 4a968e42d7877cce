package egress

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Reason names the check that refused something.
type Reason string

// The reasons.
const (
	NotListed  Reason = "not on the allow-list"
	BadName    Reason = "no host name"
	BadAddress Reason = "leads to an address that is not public"
	BadHello   Reason = "TLS does not ask for this name"
	BadRequest Reason = "request is malformed or disagrees with itself"
	TooMuch    Reason = "a limit was reached"
)

// Refusal is the record of one thing that the proxy refused.
type Refusal struct {
	// Host is the requested host, if it could be read; at most 300 bytes.
	Host string
	// Port is the requested port, zero for a name that was only looked up.
	Port uint16
	// Via is the protocol of the request: "connect", "http", "socks5", "tls" or "dns".
	Via string
	// Reason is the rule that refused it.
	Reason Reason
	// Detail adds details.
	Detail string
	// Grant is the smallest entry that would allow it, empty if none would.
	Grant string
	// Time is the time of the refusal.
	Time time.Time
	// Count is the number of times in a row that the same was refused.
	Count int
}

// Error returns the refusal's text, with which the client is answered.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("%s %q", r.Via, r.Host)
	if r.Port != 0 {
		s += " port " + strconv.Itoa(int(r.Port))
	}
	s += ": " + string(r.Reason)
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	if r.Grant != "" {
		s += fmt.Sprintf(" (allow it with %q)", r.Grant)
	}
	return s
}

// maxRefusals bounds the refusals that are kept.
const maxRefusals = 512

// evidence holds the last refusals, numbered from 1.
type evidence struct {
	mu    sync.Mutex
	total uint64
	last  []numbered
}

type numbered struct {
	seq uint64
	Refusal
}

func (e *evidence) add(r Refusal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total++
	r.Count, r.Time = 1, time.Now()
	if len(e.last) == maxRefusals {
		e.last = append(e.last[:0], e.last[1:]...)
	}
	e.last = append(e.last, numbered{e.total, r})
}

// since returns the refusals after mark, with equal ones counted together.
func (e *evidence) since(mark uint64) []Refusal {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Refusal
	at := map[Refusal]int{}
	for _, n := range e.last {
		if n.seq <= mark {
			continue
		}
		key := n.Refusal
		key.Time, key.Count = time.Time{}, 0
		if i, ok := at[key]; ok {
			out[i].Count++
			continue
		}
		at[key] = len(out)
		out = append(out, n.Refusal)
	}
	return out
}

func (e *evidence) mark() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.total
}
