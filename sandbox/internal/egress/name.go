package egress

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/idna"
)

// Length limits of names, from RFC 1035.
const (
	maxName  = 253
	maxLabel = 63
)

var (
	errAddress = errors.New("is an IP address; names only")
	errName    = errors.New("is no host name")
)

// Canonical returns the canonical spelling of a host name: lower case, ASCII, without the final
// dot. It fails for anything that is not a name, above all for IP addresses in any spelling that
// resolvers and libraries accept.
func Canonical(host string) (string, error) {
	name, err := canonical(host)
	if err != nil {
		return "", fmt.Errorf("host %q %w", clip(host), err)
	}
	return name, nil
}

func canonical(host string) (string, error) {
	if len(host) > 4*maxName {
		return "", errName
	}
	if strings.ContainsAny(host, ":[]%") {
		return "", addressOr(errName, host)
	}
	ascii := true
	for i := 0; i < len(host); i++ {
		switch c := host[i]; {
		case c <= ' ' || c == 0x7f:
			return "", errors.New("has a control character or a space")
		case c >= 0x80:
			ascii = false
		}
	}
	name := strings.ToLower(host)
	if !ascii || strings.Contains(name, "xn--") {
		var err error
		// The lookup profile maps characters that look the same, such as full-width digits and
		// ideographic dots, before the checks below.
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			return "", fmt.Errorf("is no host name: %w", err)
		}
		// A name that changes when it is mapped again, such as broken UTF-8, is invalid too.
		if again, err := idna.Lookup.ToASCII(name); err != nil || again != name {
			return "", errName
		}
		name = strings.ToLower(name)
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxName {
		return "", errName
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !isLabel(l) {
			return "", errName
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return "", errAddress
	}
	return name, nil
}

// addressOr returns the error for an IPv6 address, with or without brackets and zone, or else err.
func addressOr(err error, host string) error {
	s, _, _ := strings.Cut(strings.Trim(host, "[]"), "%")
	if net.ParseIP(s) != nil {
		return errAddress
	}
	return err
}

// isLabel accepts letters, digits, inner hyphens, and underscores, which names of services and
// buckets contain.
func isLabel(l string) bool {
	if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := 0; i < len(l); i++ {
		c := l[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// isNumber reports whether a last label makes the whole an IPv4 address for inet_aton and the URL
// standard: decimal, octal or hexadecimal digits.
func isNumber(l string) bool {
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

// clip shortens untrusted text for messages.
func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// splitHostPort reads host:port or host, with the port to use if none is given.
func splitHostPort(s string, port uint16) (string, uint16, error) {
	host := s
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") > 1 {
		return s, port, fmt.Errorf("host %q %w", clip(s), addressOr(errName, hostOf(s)))
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		n, err := parsePort(s[i+1:])
		if err != nil {
			return s, 0, err
		}
		host, port = s[:i], n
	}
	name, err := Canonical(host)
	if err != nil {
		return host, port, err
	}
	return name, port, nil
}

// hostOf returns the part of a bracketed address before its port.
func hostOf(s string) string {
	if i := strings.IndexByte(s, ']'); i >= 0 {
		return s[:i]
	}
	return s
}
