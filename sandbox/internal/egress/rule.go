package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxRules bounds an allow-list, which every connection searches.
const maxRules = 4096

// Rule is one name of an allow-list.
type Rule struct {
	name string // canonical, without the wildcard
	sub  bool   // matches the names below it, but not the name itself
	port uint16 // 0 means 80 and 443
}

// List is an allow-list.
type List struct {
	rules []Rule
	addrs []netip.Prefix
}

// ParseRule reads host, *.host, host:port or *.host:port. Without a port the rule covers 80 and
// 443. A wildcard stands for one or more labels and must be followed by at least two, so that no
// rule allows a whole top-level domain.
func ParseRule(s string) (Rule, error) {
	var r Rule
	host := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		n, err := parsePort(s[i+1:])
		if err != nil {
			return r, fmt.Errorf("rule %q: %w", s, err)
		}
		host, r.port = s[:i], n
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		host, r.sub = rest, true
	}
	name, err := Canonical(host)
	if err != nil {
		return r, fmt.Errorf("rule %q: %w", s, err)
	}
	if r.sub && !strings.Contains(name, ".") {
		return r, fmt.Errorf("rule %q: a wildcard needs two labels beside it, like *.example.com", s)
	}
	r.name = name
	return r, nil
}

// parsePort reads a port in its only accepted spelling: decimal, no sign, no leading zero.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, fmt.Errorf("%q is no port", clip(s))
	}
	return uint16(n), nil
}

// String returns the rule in the form that ParseRule reads.
func (r Rule) String() string {
	s := r.name
	if r.sub {
		s = "*." + s
	}
	if r.port != 0 {
		s += ":" + strconv.Itoa(int(r.port))
	}
	return s
}

func (r Rule) matchName(name string) bool {
	if !r.sub {
		return name == r.name
	}
	return len(name) > len(r.name)+1 && strings.HasSuffix(name, r.name) && name[len(name)-len(r.name)-1] == '.'
}

func (r Rule) matchPort(port uint16) bool {
	return r.port == port || r.port == 0 && webPort(port)
}

func webPort(port uint16) bool { return port == 80 || port == 443 }

// ParseList reads an allow-list: rules, and address ranges such as 10.1.0.0/16. A range allows
// nothing by itself; it permits the names on the list to resolve to addresses in the range although
// it is private.
func ParseList(entries []string) (List, error) {
	var l List
	if len(entries) > maxRules {
		return l, fmt.Errorf("%d rules: at most %d", len(entries), maxRules)
	}
	for _, e := range entries {
		if strings.Contains(e, "/") {
			p, err := netip.ParsePrefix(e)
			if err != nil || p != p.Masked() || p.Addr().Is4In6() {
				return l, fmt.Errorf("address range %q: want a network such as 10.1.0.0/16 or 127.0.0.1/32", clip(e))
			}
			l.addrs = append(l.addrs, p)
			continue
		}
		r, err := ParseRule(e)
		if err != nil {
			return l, err
		}
		l.rules = append(l.rules, r)
	}
	return l, nil
}

// Empty reports whether the list allows nothing.
func (l List) Empty() bool { return len(l.rules) == 0 }

// Names reports whether the list has a rule for the canonical name at any port.
func (l List) Names(name string) bool {
	for _, r := range l.rules {
		if r.matchName(name) {
			return true
		}
	}
	return false
}

// Allows reports whether the list has a rule for the canonical name and port.
func (l List) Allows(name string, port uint16) bool {
	for _, r := range l.rules {
		if r.matchName(name) && r.matchPort(port) {
			return true
		}
	}
	return false
}

// Ports returns the ports that rules name, besides 80 and 443, each once.
func (l List) Ports() []uint16 {
	var out []uint16
	seen := map[uint16]bool{0: true, 80: true, 443: true}
	for _, r := range l.rules {
		if !seen[r.port] {
			seen[r.port] = true
			out = append(out, r.port)
		}
	}
	return out
}

// grant returns the smallest rule that would allow the name and port.
func grant(name string, port uint16) string {
	if port == 0 || webPort(port) {
		return name
	}
	return name + ":" + strconv.Itoa(int(port))
}
