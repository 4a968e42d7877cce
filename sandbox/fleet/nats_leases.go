package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// wireLease is the value of a lease's key. The epoch is the sequence number of the message that
// made the key, which only the server knows at that time; renewals store it explicitly.
type wireLease struct {
	Host, Owner, Nonce string
	Epoch              uint64
	TTL                time.Duration
}

// wholeSeconds rounds up to the server's resolution.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// put writes a lease if l.rev is still the key's last revision.
func (e *natsEngine) put(ctx context.Context, l Lease) (uint64, error) {
	b, err := encode(wireLease{l.Host, l.Owner, l.nonce, l.Epoch, l.TTL})
	if err != nil {
		return 0, err
	}
	// The client's Update cannot set the lifetime of a key, but a message can.
	msg := &nats.Msg{Subject: "$KV." + e.leases.Bucket() + "." + l.Key, Data: b, Header: nats.Header{}}
	ack, err := e.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(l.rev), jetstream.WithMsgTTL(wholeSeconds(l.TTL)))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// Acquire implements Leases.
func (e *natsEngine) Acquire(ctx context.Context, want Lease) (Lease, error) {
	if err := want.validate(); err != nil {
		return Lease{}, fail("acquire lease", want.Key, err)
	}
	want.TTL = wholeSeconds(want.TTL)
	want.Epoch, want.nonce = 0, rand.Text()
	b, err := encode(wireLease{want.Host, want.Owner, want.nonce, 0, want.TTL})
	if err != nil {
		return Lease{}, fail("acquire lease", want.Key, err)
	}
	rev, err := e.leases.Create(ctx, want.Key, b, jetstream.KeyTTL(want.TTL))
	if errors.Is(err, jetstream.ErrKeyExists) || isConflict(err) {
		return Lease{}, fail("acquire lease", want.Key, ErrHeld)
	}
	if err != nil {
		// The lease may still have been granted. Nobody would then use it until it expires, so
		// release it if possible.
		if have, cerr := e.Current(ctx, want.Key); cerr == nil && have.nonce == want.nonce {
			return have, nil
		}
		return Lease{}, fail("acquire lease", want.Key, err)
	}
	want.Epoch, want.rev = rev, rev
	return want, nil
}

// Renew implements Leases.
func (e *natsEngine) Renew(ctx context.Context, l Lease) (Lease, error) {
	for range 3 {
		rev, err := e.put(ctx, l)
		if err == nil {
			l.rev = rev
			return l, nil
		}
		if !isConflict(err) {
			return Lease{}, fail("renew lease", l.Key, err)
		}
		// Either another client has the lease, or an earlier renewal of ours was written and its
		// answer was lost.
		have, err := e.Current(ctx, l.Key)
		switch {
		case errors.Is(err, ErrNoLease) || err == nil && have.Epoch != l.Epoch:
			return Lease{}, fail("renew lease", l.Key, ErrLost)
		case err != nil:
			return Lease{}, fail("renew lease", l.Key, err)
		}
		l.rev = have.rev
	}
	return Lease{}, fail("renew lease", l.Key, errors.New("it changes faster than it can be renewed; is it renewed in two places?"))
}

// Release implements Leases.
func (e *natsEngine) Release(ctx context.Context, l Lease) error {
	for range 3 {
		err := e.leases.Delete(ctx, l.Key, jetstream.LastRevision(l.rev))
		if err == nil {
			return nil
		}
		if !isConflict(err) {
			return fail("release lease", l.Key, err)
		}
		have, err := e.Current(ctx, l.Key)
		if errors.Is(err, ErrNoLease) || err == nil && have.Epoch != l.Epoch {
			return nil
		}
		if err != nil {
			return fail("release lease", l.Key, err)
		}
		l.rev = have.rev
	}
	return fail("release lease", l.Key, errors.New("it changes faster than it can be released; is it renewed elsewhere?"))
}

// Current implements Leases.
func (e *natsEngine) Current(ctx context.Context, key string) (Lease, error) {
	if err := ValidName("Lease.Key", key); err != nil {
		return Lease{}, fail("look up", "lease", err)
	}
	entry, err := e.leases.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Lease{}, fail("look up lease", key, ErrNoLease)
	}
	if err != nil {
		return Lease{}, fail("look up lease", key, err)
	}
	l, err := decodeLease(key, entry.Value(), entry.Revision())
	if err != nil {
		return Lease{}, fail("look up lease", key, err)
	}
	return l, nil
}

func decodeLease(key string, value []byte, rev uint64) (Lease, error) {
	var w wireLease
	if err := decode(value, &w); err != nil {
		return Lease{}, fmt.Errorf("lease: %w", err)
	}
	l := Lease{Key: key, Host: w.Host, Owner: w.Owner, Epoch: w.Epoch, TTL: w.TTL, nonce: w.Nonce, rev: rev}
	if l.Epoch == 0 {
		l.Epoch = rev
	}
	if l.Epoch > rev {
		return Lease{}, fmt.Errorf("lease: epoch %d is in the future of revision %d", l.Epoch, rev)
	}
	return l, l.validate()
}
