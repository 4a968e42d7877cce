package egress

import "net/netip"

// special lists the address blocks that no name on the internet should resolve to: the IANA
// special-purpose registries, multicast, and addresses at which clouds serve their metadata. The
// IPv4 blocks for documentation are not in it: a host has nothing of its own there, and if a host
// sends its traffic through a gateway, names are made to resolve to them.
var special = []netip.Prefix{
	pfx("0.0.0.0/8"), pfx("10.0.0.0/8"), pfx("100.64.0.0/10"), pfx("127.0.0.0/8"), pfx("169.254.0.0/16"),
	pfx("172.16.0.0/12"), pfx("192.0.0.0/24"), pfx("192.31.196.0/24"), pfx("192.52.193.0/24"),
	pfx("192.88.99.0/24"), pfx("192.168.0.0/16"), pfx("192.175.48.0/24"), pfx("198.18.0.0/15"),
	pfx("224.0.0.0/4"), pfx("240.0.0.0/4"),
	pfx("168.63.129.16/32"), // Azure's host agent, in a public block
	pfx("2001::/23"), pfx("2001:db8::/32"), pfx("3fff::/20"),
}

var (
	global6 = pfx("2000::/3")
	nat64   = pfx("64:ff9b::/96")
	sixTo4  = pfx("2002::/16")
)

func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// public reports whether an address is public. It also checks IPv4 addresses embedded in IPv6
// addresses.
func public(a netip.Addr) bool {
	if a.Zone() != "" || !a.IsValid() {
		return false
	}
	a = a.Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixTo4.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		case !global6.Contains(a):
			return false
		}
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// reachable returns the addresses that may be dialled.
func (l List) reachable(addrs []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range addrs {
		if a.Zone() != "" {
			continue
		}
		a = a.Unmap()
		ok := public(a)
		for _, p := range l.addrs {
			ok = ok || p.Contains(a)
		}
		if ok {
			out = append(out, a)
		}
	}
	return out
}
