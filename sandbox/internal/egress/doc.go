// Package egress provides a proxy through which commands without a network reach the hosts of an
// allow-list, and nothing else.
//
// A [Proxy] serves connections that a sandbox makes to its loopback. It speaks HTTP (CONNECT and
// plain requests) and SOCKS5 on one port, and takes TLS and HTTP connections that were not meant
// for a proxy if its DNS responder led them there. Every connection passes the same three checks,
// called doors:
//
//  1. The name. It is brought into one spelling and looked up in the list; an IP address, in
//     whatever spelling, is no name.
//  2. The address. The name is resolved once, here, never by the command; loopback, private,
//     link-local and metadata addresses are refused unless the host named them; the connection goes
//     to the very address that was checked.
//  3. The request. A TLS client must ask for the same name in its ClientHello, unencrypted; a plain
//     HTTP request must carry it in its Host header.
//
// The third door stops one name of a content delivery network from being used to reach another. It
// is no defence against a host on the list that carries data elsewhere for whoever asks: a name on
// the list is trusted with what commands can read.
//
// A rule for a port other than 80 and 443 lets any protocol through to that name; the third door
// applies only if the client opens with TLS.
package egress
