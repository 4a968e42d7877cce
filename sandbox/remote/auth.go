package remote

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tenant is a user of a server.
type Tenant struct {
	// Name identifies the tenant; it is not secret.
	Name string
	// Token is the bearer token, at least 16 bytes. If it is empty, no token is accepted.
	Token string
	// CertName is the DNS name or common name of a client certificate that the server's TLS
	// configuration has verified. If it is empty, no certificate is accepted.
	CertName string
	// Quota limits what the tenant may use.
	Quota Quota
}

// Quota limits a tenant's use of a server. Zero is the default, a negative value no limit.
type Quota struct {
	// Sandboxes limits the sandboxes open at once. Default 16.
	Sandboxes int
	// Commands limits the commands running at once. Default 64.
	Commands int
	// Bytes limits the data kept on the server: contents of files, output that was not
	// acknowledged, and exports that were not fetched. Default 4 GiB.
	Bytes int64
	// Time limits the wall time of all commands together since the server started. Default: no
	// limit.
	Time time.Duration
}

func (q Quota) normalize() Quota {
	if q.Sandboxes == 0 {
		q.Sandboxes = 16
	}
	if q.Commands == 0 {
		q.Commands = 64
	}
	if q.Bytes == 0 {
		q.Bytes = 4 << 30
	}
	return q
}

// minToken is the shortest token accepted.
const minToken = 16

func (t Tenant) check() error {
	switch {
	case t.Name == "" || len(t.Name) > 200:
		return errors.New("a tenant needs a name of at most 200 bytes")
	case t.Token == "" && t.CertName == "":
		return fmt.Errorf("tenant %q has neither Token nor CertName", t.Name)
	case t.Token != "" && len(t.Token) < minToken:
		return fmt.Errorf("tenant %q: Token is shorter than %d bytes", t.Name, minToken)
	}
	return nil
}

// account is a tenant with its current use.
type account struct {
	Tenant
	token [sha256.Size]byte

	mu        sync.Mutex
	sandboxes int
	commands  int
	jobs      int // running, or not acknowledged
	outputs   int
	bytes     int64
	spent     time.Duration
}

// take counts one more of something, unless that would exceed the quota.
func (a *account) take(what *int, most int, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if most >= 0 && *what >= most {
		return fmt.Errorf("%w: %d %s at once", ErrQuota, most, name)
	}
	*what++
	return nil
}

func (a *account) give(what *int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*what--
}

// keep adds stored bytes to the count; a negative number frees bytes.
func (a *account) keep(n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > 0 && a.Quota.Bytes >= 0 && a.bytes+n > a.Quota.Bytes {
		return fmt.Errorf("%w: %d bytes", ErrQuota, a.Quota.Bytes)
	}
	a.bytes += n
	return nil
}

// room returns the number of bytes that may still be stored.
func (a *account) room() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Quota.Bytes < 0 {
		return 1 << 62
	}
	return max(0, a.Quota.Bytes-a.bytes)
}

// timeLeft returns how long a command may run, or 0 if there is no limit.
func (a *account) timeLeft() (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Quota.Time <= 0 {
		return 0, nil
	}
	if left := a.Quota.Time - a.spent; left > 0 {
		return left, nil
	}
	return 0, fmt.Errorf("%w: %v of commands", ErrQuota, a.Quota.Time)
}

func (a *account) spend(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent += d
}

// who finds the tenant of a request. It compares every token, as hashes, so that the time it takes
// reveals nothing about any token.
func (s *Server) who(r *http.Request) (*account, error) {
	if s.pipe != nil {
		return s.accounts[0], nil
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		cert := r.TLS.VerifiedChains[0][0]
		for _, a := range s.accounts {
			if a.CertName != "" && (cert.Subject.CommonName == a.CertName || cert.VerifyHostname(a.CertName) == nil) {
				return a, nil
			}
		}
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	var found *account
	for _, a := range s.accounts {
		if subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1 && a.Token != "" {
			found = a
		}
	}
	if found == nil {
		return nil, ErrDenied
	}
	return found, nil
}
