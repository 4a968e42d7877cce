package egress

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/idna"
)

// Sizes of names, from RFC 1035.
const (
	maxName  = 253
	maxLabel = 63
)

var (
	errAddress = errors.New("is an IP address; names only")
	errName    = errors.New("is no host name")
)

// Canonical brings a host name into the one spelling that is compared: lower
// case, ASCII, without the dot at its end. What is no name is an error, above all
// IP addresses in any of the spellings that resolvers and libraries take.
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
		// The lookup profile maps what looks the same, such as full-width digits and
		// ideographic dots, before the checks below see it.
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			return "", fmt.Errorf("is no host name: %w", err)
		}
		// What does not stay as it is, such as broken UTF-8, is no name either.
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

// addressOr tells an IPv6 address, with or without brackets and zone, from what
// is simply no name.
func addressOr(err error, host string) error {
	s, _, _ := strings.Cut(strings.Trim(host, "[]"), "%")
	if net.ParseIP(s) != nil {
		return errAddress
	}
	return err
}

// isLabel takes letters, digits, hyphens inside and underscores, which names of
// services and buckets have.
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

// isNumber reports a last label that makes the whole an IPv4 address to
// inet_aton and to the URL standard: decimal, octal or hexadecimal digits.
func isNumber(l string) bool {
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

// clip keeps foreign text short where it is repeated.
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

// hostOf is the part of a bracketed address before its port.
func hostOf(s string) string {
	if i := strings.IndexByte(s, ']'); i >= 0 {
		return s[:i]
	}
	return s
}
