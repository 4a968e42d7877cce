package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"Example.COM": "example.com", "example.com.": "example.com", "a_b.example.com": "a_b.example.com",
		"bücher.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "ＥＸＡＭＰＬＥ。com": "example.com",
		"localhost": "localhost", "3com.com": "3com.com", "1.2.3.4.example": "1.2.3.4.example",
		"": "", ".": "", "a..b": "", "example.com..": "", ".example.com": "", "-a.com": "", "a-.com": "", "a b.com": "",
		"a\x00.com": "", "a\n.com": "", "a\x7f.com": "", "a/b": "", "a@b": "", "a?b": "", "a#b": "", `a\b`: "", "*.a.com": "", "a,b": "",
		"127.0.0.1": "", "127.0.0.1.": "", "2130706433": "", "0x7f000001": "", "0x7f.0.0.1": "", "017700000001": "", "127.1": "", "0x": "",
		"1.2.3.08": "", "１２７.0.0.1": "", "127。0。0。1": "", "foo.0x4": "", "foo.4": "",
		"::1": "", "[::1]": "", "fe80::1%eth0": "", "::ffff:1.2.3.4": "", "a.com:80": "", "xn--a": "", "xn--": "",
		strings.Repeat("a", 64) + ".com": "", strings.Repeat("a.", 127) + "com": "", strings.Repeat("x", 5000): "",
		"a\u200bb.com": "ab.com", // ignorable, so the mapping removes it
	} {
		got, err := Canonical(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Canonical(%q) = %q, %v; want %q", clip(in), got, err, want)
		}
	}
}

func TestRules(t *testing.T) {
	l, err := ParseList([]string{"Example.com", "*.pkg.test", "db.test:5432", "*.x.test:8443", "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		port uint16
		want bool
	}{
		{"example.com", 443, true}, {"example.com", 80, true}, {"example.com", 22, false}, {"www.example.com", 443, false},
		{"pkg.test", 443, false}, {"a.pkg.test", 443, true}, {"a.b.pkg.test", 80, true}, {"apkg.test", 443, false}, {".pkg.test", 443, false},
		{"db.test", 5432, true}, {"db.test", 443, false}, {"a.x.test", 8443, true}, {"a.x.test", 443, false}, {"", 443, false},
	} {
		if got := l.Allows(tt.name, tt.port); got != tt.want {
			t.Errorf("Allows(%q, %d) = %v", tt.name, tt.port, got)
		}
	}
	if got := l.Ports(); len(got) != 2 {
		t.Errorf("Ports %v", got)
	}
	for _, bad := range []string{"", "*", "*.com", "*.*.com", "a.*.com", "1.2.3.4", "[::1]:80", "a.com:", "a.com:0", "a.com:x", "a.com:65536",
		"a.com:080", "https://a.com", "a.com/x", "10.1.0.1/16", "::ffff:10.0.0.0/104", "a b", "a.com,b.com"} {
		if _, err := ParseList([]string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"1.1.1.1": true, "140.82.112.3": true, "2606:4700::1111": true, "64:ff9b::101:101": true, "2002:101:101::1": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "10.9.8.7": false, "100.64.0.1": false, "127.9.9.9": false, "169.254.169.254": false, "172.31.0.1": false,
		"192.168.1.1": false, "192.0.0.192": false, "198.18.0.1": false, "224.0.0.251": false, "255.255.255.255": false, "168.63.129.16": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "ff02::1": false, "::127.0.0.1": false, "64:ff9b::a00:1": false,
		"64:ff9b:1::1": false, "2001::1": false, "2001:db8::1": false, "fec0::1": false, "::ffff:10.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(a)); got != want {
			t.Errorf("public(%s) = %v", a, got)
		}
	}
}

func query(t testing.TB, name string, types ...dnsmessage.Type) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}}
	for _, typ := range types {
		m.Questions = append(m.Questions, dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET})
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func dnsProxy(t testing.TB) *Proxy {
	l, err := ParseList([]string{"example.com", "*.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Allow: l, Gate: netip.MustParseAddr("127.42.0.1")})
	t.Cleanup(func() { p.Close() })
	return p
}

func TestAnswer(t *testing.T) {
	p := dnsProxy(t)
	for _, tt := range []struct {
		name    string
		typ     dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		{"example.com.", dnsmessage.TypeA, 0, 1}, {"EXAMPLE.com.", dnsmessage.TypeA, 0, 1}, {"a.example.com.", dnsmessage.TypeA, 0, 1},
		{"example.com.", dnsmessage.TypeAAAA, 0, 0}, {"example.com.", 65, 0, 0}, {"example.com.", dnsmessage.TypeTXT, 0, 0},
		{"secret.evil.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0}, {"evil.test.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, 0},
		{".", dnsmessage.TypeNS, dnsmessage.RCodeNameError, 0}, {"1.0.0.127.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, 0},
	} {
		var m dnsmessage.Message
		if err := m.Unpack(p.Answer(query(t, tt.name, tt.typ))); err != nil {
			t.Fatal(err)
		}
		if m.ID != 7 || !m.Response || m.RCode != tt.code || len(m.Answers) != tt.answers {
			t.Errorf("%s %v: %+v", tt.name, tt.typ, m)
		}
	}
	if r := p.Refusals(0); len(r) != 4 || r[0].Grant != "secret.evil.test" || r[0].Via != "dns" {
		t.Errorf("evidence %v", r)
	}
	var m dnsmessage.Message
	if err := m.Unpack(p.Answer(query(t, "example.com.", dnsmessage.TypeA, dnsmessage.TypeA))); err != nil || m.RCode != dnsmessage.RCodeFormatError {
		t.Error(m, err)
	}
	m.Response = true
	reply, _ := m.Pack()
	if p.Answer(reply) != nil {
		t.Error("an answer was answered")
	}
}

func TestServeDNS(t *testing.T) {
	p := dnsProxy(t)
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.ServePackets(u)
	go p.ServeStreams(l)
	q := query(t, "www.example.com.", dnsmessage.TypeA)
	for _, network := range []string{"udp", "tcp"} {
		addr := u.LocalAddr().String()
		if network == "tcp" {
			addr = l.Addr().String()
		}
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		msg := q
		if network == "tcp" {
			msg = append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
		}
		buf := make([]byte, 600)
		if _, err := c.Write(msg); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(buf[:n], []byte{127, 42, 0, 1}) {
			t.Errorf("%s: %x", network, buf[:n])
		}
	}
}

func FuzzHello(f *testing.F) {
	for _, cfg := range []*tls.Config{{ServerName: "example.com"}, {ServerName: "a.b", MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}, {InsecureSkipVerify: true}} {
		f.Add(recordHello(f, cfg))
	}
	f.Add([]byte("\x16\x03\x01\x00\x04\x01\x00\x00\x00"))
	f.Add([]byte("\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x03\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, name, err := readHello(bytes.NewReader(b))
		if len(raw) > len(b)+maxRecord || len(raw) > maxHello {
			t.Fatalf("%d bytes of %d", len(raw), len(b))
		}
		if err != nil {
			return
		}
		if !bytes.Equal(raw, b[:len(raw)]) {
			t.Fatal("the bytes sent on are not those that came")
		}
		if again, err := Canonical(name); err != nil || again != name {
			t.Fatalf("name %q", name)
		}
	})
}

func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET http://[::1]/ HTTP/1.0\r\n\r\n", "GET //a HTTP/1.1\r\nHost: b\r\n\r\n",
		"CONNECT a:1@b:443 HTTP/1.1\r\n\r\n", "GET http://a\x00b/ HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		br := bufio.NewReaderSize(bytes.NewReader(b), 4096)
		req, header, err := readRequest(br)
		if err != nil {
			return
		}
		name, port, err := target(req, header, 80)
		if err != nil {
			return
		}
		if again, err := Canonical(name); err != nil || again != name || port == 0 {
			t.Fatalf("name %q, port %d", name, port)
		}
		var wire bytes.Buffer
		if req.Method != "CONNECT" && outgoing(req, webHost(name, port)).Write(&wire) == nil {
			sent, host, err := readRequest(bufio.NewReaderSize(&wire, 64<<10))
			if err != nil {
				return // a body that ends early, or a method of odd characters
			}
			if got, p, err := target(sent, host, 80); err != nil || got != name || p != port {
				t.Fatalf("sent on to %q port %d (%v) as %q", got, p, err, b)
			}
		}
	})
}

func FuzzDNS(f *testing.F) {
	f.Add(query(f, "example.com.", dnsmessage.TypeA))
	f.Add(query(f, "x.evil.test.", dnsmessage.TypeTXT, dnsmessage.TypeA))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	p := dnsProxy(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		out := p.Answer(b)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response {
			t.Fatalf("answer %x: %v", out, err)
		}
		for range m.Answers {
			if name, err := Canonical(m.Questions[0].Name.String()); err != nil || !p.cfg.Allow.Names(name) {
				t.Fatalf("answered %q", m.Questions[0].Name)
			}
		}
	})
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com:8443", "bücher.example", "127.1", "xn--bcher-kva.example", "a.com:0", "１.com", "10.0.0.0/8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %q, which is %q (%v)", s, r, again, err)
		}
		if net.ParseIP(r.name) != nil {
			t.Fatalf("%q is an address", s)
		}
	})
}

func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x03\x0bexample.com\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x03\x00\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := readSOCKSRequest(bytes.NewReader(b))
		if err == nil && len(q.host) > 255 {
			t.Fatal(len(q.host))
		}
	})
}
