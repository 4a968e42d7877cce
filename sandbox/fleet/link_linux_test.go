package fleet_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

// inner is the name of a host's own end of its virtual cable.
const inner = "up0"

// setUpLink sets the address of this process's network namespace, once the cable is connected.
// If there is no address, it does nothing.
func setUpLink(addr string) error {
	if addr == "" {
		return nil
	}
	for range 6000 {
		link, err := netlink.LinkByName(inner)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		a, err := netlink.ParseAddr(addr)
		if err != nil {
			return err
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return errors.Join(netlink.LinkSetUp(lo), netlink.AddrAdd(link, a), netlink.LinkSetUp(link))
	}
	return fmt.Errorf("link %s did not appear within a minute", inner)
}

// setUpBridge makes the bridge that all cables connect to, in this network namespace.
func setUpBridge(addr string) (netlink.Link, error) {
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	if err := netlink.LinkAdd(br); err != nil {
		return nil, err
	}
	a, err := netlink.ParseAddr(addr)
	if err != nil {
		return nil, err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	return br, errors.Join(netlink.LinkSetUp(lo), netlink.AddrAdd(br, a), netlink.LinkSetUp(br))
}

// plug connects the bridge to a process's network namespace and returns the bridge's end of the
// cable.
func plug(br netlink.Link, name string, pid int) (netlink.Link, error) {
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: inner}
	if err := netlink.LinkAdd(v); err != nil {
		return nil, err
	}
	peer, err := netlink.LinkByName(inner)
	if err != nil {
		return nil, err
	}
	return v, errors.Join(netlink.LinkSetMaster(v, br), netlink.LinkSetUp(v), netlink.LinkSetNsPid(peer, pid))
}
