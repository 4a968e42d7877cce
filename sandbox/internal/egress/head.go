package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

var errHead = errors.New("malformed request head")

// readRequest reads one request whose head is completely in br's buffer. It first checks the raw
// bytes and refuses what different parsers would read differently, and then parses them. It also
// returns the Host header, which the parser drops if the request line names a host.
func readRequest(br *bufio.Reader) (*http.Request, string, error) {
	head, err := peekHead(br)
	if err != nil {
		return nil, "", err
	}
	host, err := checkHead(head)
	if err != nil {
		return nil, "", err
	}
	req, err := http.ReadRequest(br)
	if err != nil {
		err = fmt.Errorf("%w: %w", errHead, err)
	}
	return req, host, err
}

// peekHead waits for the empty line that ends a head.
func peekHead(br *bufio.Reader) ([]byte, error) {
	for n := 1; ; {
		b, err := br.Peek(n)
		if i := bytes.Index(b, []byte("\r\n\r\n")); i >= 0 {
			return b[:i+4], nil
		}
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				return nil, fmt.Errorf("request head exceeds %d bytes", br.Size())
			}
			return nil, err
		}
		// Wait for at least one byte more than was seen; take all that has arrived.
		n = max(n+1, br.Buffered())
		if n > br.Size() {
			return nil, fmt.Errorf("request head exceeds %d bytes", br.Size())
		}
	}
}

// checkHead refuses control characters, lines that do not end in CR LF, folded lines, and
// duplicates of headers that must be unique. It returns the Host header.
func checkHead(head []byte) (host string, err error) {
	lines := strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n")
	counts := map[string]int{}
	for i, l := range lines {
		for j := 0; j < len(l); j++ {
			if c := l[j]; c < ' ' && c != '\t' || c == 0x7f {
				return "", fmt.Errorf("%w: control character", errHead)
			}
		}
		if i == 0 {
			parts := strings.Split(l, " ")
			if len(parts) != 3 || parts[1] == "" || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
				return "", fmt.Errorf("%w: request line", errHead)
			}
			continue
		}
		name, value, ok := strings.Cut(l, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return "", fmt.Errorf("%w: header line", errHead)
		}
		name = strings.ToLower(name)
		counts[name]++
		if name == "host" {
			host = strings.Trim(value, " \t")
		}
	}
	if counts["host"] > 1 || counts["content-length"] > 1 || counts["transfer-encoding"] > 1 ||
		counts["content-length"]+counts["transfer-encoding"] > 1 {
		return "", fmt.Errorf("%w: ambiguous host or length", errHead)
	}
	return host, nil
}

// target returns the host that a request is for. Request line and Host header must agree; port is
// the default for a name without a port.
func target(req *http.Request, header string, port uint16) (name string, p uint16, err error) {
	u := req.URL
	asked := u.Host
	switch {
	case req.Method == http.MethodConnect:
		asked = req.RequestURI
	case u.User != nil || u.Opaque != "" || strings.HasPrefix(req.RequestURI, "//"):
		return clip(req.RequestURI), 0, errHead
	case asked == "":
		asked = header
	case u.Scheme != "http":
		return clip(asked), 0, fmt.Errorf("%w: a proxy request for %q; use CONNECT", errHead, clip(u.Scheme))
	}
	if name, p, err = splitHostPort(asked, port); err != nil {
		return clip(asked), p, err
	}
	if header == "" && req.Method == http.MethodConnect {
		return name, p, nil
	}
	other, q, err := splitHostPort(header, port)
	// CONNECT clients often omit the port in the header.
	if err != nil || other != name || q != p && req.Method != http.MethodConnect {
		return name, p, fmt.Errorf("%w: Host is %q", errHead, clip(header))
	}
	return name, p, nil
}

// hopHeaders belong to one connection (RFC 9110, 7.6.1) or to the proxy.
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// dropHop removes the headers that are not for the other side.
func dropHop(h http.Header) {
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopHeaders {
		h.Del(name)
	}
}

// outgoing returns the request to send to the server.
func outgoing(req *http.Request, host string) *http.Request {
	out := req.Clone(req.Context())
	dropHop(out.Header)
	out.Header.Del("Expect") // answered by the proxy
	out.RequestURI, out.Close = "", false
	out.URL = &url.URL{Scheme: "http", Host: host, Path: req.URL.Path, RawPath: req.URL.RawPath, RawQuery: req.URL.RawQuery, ForceQuery: req.URL.ForceQuery}
	out.Host = host
	if req.Header.Get("User-Agent") == "" {
		out.Header["User-Agent"] = nil // do not send Go's default instead
	}
	return out
}
