package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Approver is implemented by sandboxes that can run a single command once under other terms than
// their own: outside the sandbox, or with one more grant. A person or the host's policy decides by
// calling Approve; nothing in a Cmd can.
type Approver interface {
	// Approve returns the permission to run exactly cmd, once, under terms. The
	// permission holds for its arguments, working directory and environment to
	// the byte, for this sandbox, and until it expires.
	Approve(cmd Cmd, terms Terms) (Approval, error)
	// ExecApproved runs the command that token was given for. If cmd is a different command, or if
	// the token is unknown, used, expired or another sandbox's, it runs nothing and fails with
	// ErrApproval. A token that was tried with another command is used up.
	ExecApproved(ctx context.Context, token string, cmd Cmd) (*Exit, error)
}

// Terms extend what an approved command may do beyond its sandbox. Exactly one field besides For
// must be set.
type Terms struct {
	// Outside runs it as a plain process of the host, isolated only by the scrubbed environment.
	// Files of the workspace that it executes or reads may have been written by earlier commands:
	// look at them first.
	Outside bool
	// Writable, ReadOnly and Net each add one grant, as in Config, to a separate sandbox over the
	// same workspace.
	Writable, ReadOnly, Net string
	// For is the time for which the approval can be used; zero means ApprovalTime.
	For time.Duration
}

// ApprovalTime is the default time for which an approval can be used.
const ApprovalTime = 5 * time.Minute

// Approval is the permission to run one command once.
type Approval struct {
	// Token is the secret that ExecApproved takes.
	Token string
	// Digest names what was approved: SHA-256, in hex, over the terms, arguments,
	// directory and environment. It is no secret and fit for a log.
	Digest string
	// Expires is when the token stops being valid.
	Expires time.Time
}

// ErrApproval means a token did not permit the command; the error says why.
var ErrApproval = errors.New("not approved")

// maxApprovals bounds the unused approvals of one sandbox.
const maxApprovals = 256

// approvals holds the approvals of one sandbox.
type approvals struct {
	now func() time.Time // time.Now, except in tests

	mu   sync.Mutex
	open map[string]pending // keyed by the public half of the token
}

type pending struct {
	secret  [sha256.Size]byte // hash of the token's secret half
	digest  [sha256.Size]byte
	expires time.Time
	terms   Terms
}

func (t Terms) validate() error {
	n := 0
	for _, set := range []bool{t.Outside, t.Writable != "", t.ReadOnly != "", t.Net != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("Terms need exactly one of Outside, Writable, ReadOnly and Net")
	}
	if t.For < 0 {
		return errors.New("Terms.For must not be negative")
	}
	return nil
}

// digest covers everything that decides what runs. Each part is preceded by its length, so that two
// different commands never encode the same.
func (t Terms) digest(args []string, dir string, env []string) (sum [sha256.Size]byte) {
	h := sha256.New()
	put := func(list ...string) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(list)))
		for _, s := range list {
			_ = binary.Write(h, binary.BigEndian, uint64(len(s)))
			_, _ = io.WriteString(h, s)
		}
	}
	outside := ""
	if t.Outside {
		outside = "outside"
	}
	put("luthier approval 1")
	put(outside, t.Writable, t.ReadOnly, t.Net)
	put(args...)
	put(dir)
	put(env...)
	h.Sum(sum[:0])
	return sum
}

// add stores an approval and returns its token: a public half to find it by and a secret half that
// is compared in constant time.
func (a *approvals) add(digest [sha256.Size]byte, terms Terms) (Approval, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	maps.DeleteFunc(a.open, func(_ string, p pending) bool { return !now.Before(p.expires) })
	if len(a.open) >= maxApprovals {
		return Approval{}, fmt.Errorf("%d approvals wait to be used; use them or let them expire", maxApprovals)
	}
	life := terms.For
	if life == 0 {
		life = ApprovalTime
	}
	public, secret := rand.Text(), rand.Text()
	p := pending{secret: sha256.Sum256([]byte(secret)), digest: digest, expires: now.Add(life), terms: terms}
	if a.open == nil {
		a.open = map[string]pending{}
	}
	a.open[public] = p
	return Approval{Token: public + "." + secret, Digest: hex.EncodeToString(digest[:]), Expires: p.expires}, nil
}

// take uses a token up and returns its terms if it is valid for a command; digest computes the
// command's digest under given terms.
func (a *approvals) take(token string, digest func(Terms) [sha256.Size]byte) (Terms, error) {
	public, secret, _ := strings.Cut(token, ".")
	a.mu.Lock()
	p, known := a.open[public]
	sum := sha256.Sum256([]byte(secret))
	good := subtle.ConstantTimeCompare(sum[:], p.secret[:]) == 1 && known
	if good {
		delete(a.open, public)
	}
	a.mu.Unlock()
	if !good {
		return Terms{}, fmt.Errorf("%w: the token is not one of this sandbox's, or was used before", ErrApproval)
	}
	if !a.now().Before(p.expires) {
		return Terms{}, fmt.Errorf("%w: the token expired; ask again", ErrApproval)
	}
	if got := digest(p.terms); subtle.ConstantTimeCompare(got[:], p.digest[:]) != 1 {
		return Terms{}, fmt.Errorf("%w: arguments, directory or environment are not those that were approved; the token is used up", ErrApproval)
	}
	return p.terms, nil
}

// Approve implements Approver.
func (l *local) Approve(cmd Cmd, terms Terms) (Approval, error) {
	err := errors.Join(cmd.validate(), terms.validate())
	if err == nil {
		err = l.canGrant()
	}
	if err != nil {
		return Approval{}, cmd.fail("approve", err)
	}
	a, err := l.asked.add(l.digest(cmd)(terms), terms)
	if err != nil {
		return Approval{}, cmd.fail("approve", err)
	}
	return a, nil
}

// digest hashes the command as it would run: with its whole environment, which also depends on the
// host's process and the sandbox's configuration.
func (l *local) digest(cmd Cmd) func(Terms) [sha256.Size]byte {
	return func(t Terms) [sha256.Size]byte {
		env := l.env
		if t.Outside {
			env = hostEnv(&l.cfg)
		}
		return t.digest(cmd.Args, l.absDir(cmd.Dir), mergeEnv(env, cmd.Env))
	}
}

// canGrant reports whether the workspace can be opened under other terms. It must be a directory
// that the host sees too; an overlay's view exists only inside the sandbox.
func (l *local) canGrant() error {
	if !l.ws.inPlace() {
		return errors.New("its workspace is a snapshot's, which exists inside the sandbox only; export the changes and run the command on those")
	}
	return nil
}

// ExecApproved implements Approver.
func (l *local) ExecApproved(ctx context.Context, token string, cmd Cmd) (*Exit, error) {
	if l.once.closed() {
		return nil, cmd.fail("start", ErrClosed)
	}
	if err := cmd.validate(); err != nil {
		return nil, cmd.fail("start", err)
	}
	cmd.Args, cmd.Env = slices.Clone(cmd.Args), slices.Clone(cmd.Env) // what is hashed is what runs
	terms, err := l.asked.take(token, l.digest(cmd))
	if err != nil {
		return nil, cmd.fail("start", err)
	}
	cfg := l.cfg
	switch {
	case terms.Outside:
		cfg.Floor, cfg.Ceiling, cfg.Net = TierNone, TierNone, nil
	default:
		cfg.Writable = append(slices.Clone(cfg.Writable), some(terms.Writable)...)
		cfg.ReadOnly = append(slices.Clone(cfg.ReadOnly), some(terms.ReadOnly)...)
		cfg.Net = append(slices.Clone(cfg.Net), some(terms.Net)...)
	}
	other, err := Local(ctx, cfg)
	if err != nil {
		return nil, cmd.fail("start", err)
	}
	exit, err := other.Exec(ctx, cmd)
	return exit, errors.Join(err, other.Close())
}

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
