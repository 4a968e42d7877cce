package router

import (
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// sessionKey identifies the conversation of a request by its SessionID, or else by its beginning.
// The key is the same in every process.
func sessionKey(req *agent.Request) uint64 {
	if req.SessionID != "" {
		return hash(fnvOffset, req.SessionID)
	}
	h := hash(fnvOffset, clip(req.System))
	if len(req.Messages) > 0 {
		for _, p := range req.Messages[0].Parts {
			if t, ok := p.(agent.Text); ok {
				h = hash(h, clip(t.Text))
			}
		}
	}
	return h
}

// clip limits the part of a text that goes into a key.
func clip(s string) string { return s[:min(len(s), 1024)] }

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// hash is FNV-1a, which unlike maphash returns the same values in every process.
func hash(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// mix spreads the bits of a number (the finalizer of MurmurHash3), as rendezvous hashing needs.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// broken remembers for a while the member whose answer broke off in a conversation.
type broken struct {
	mu    sync.Mutex
	notes map[uint64]brokenNote
}

type brokenNote struct {
	member int
	until  time.Time
}

const maxBroken = 4096 // conversations

func (b *broken) note(key uint64, member int, now time.Time, keep time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes == nil {
		b.notes = map[uint64]brokenNote{}
	}
	if len(b.notes) >= maxBroken {
		b.shrink(now)
	}
	b.notes[key] = brokenNote{member, now.Add(keep)}
}

// shrink removes expired entries, or an arbitrary quarter if none has expired.
func (b *broken) shrink(now time.Time) {
	for k, n := range b.notes {
		if !now.Before(n.until) {
			delete(b.notes, k)
		}
	}
	for k := range b.notes {
		if len(b.notes) < maxBroken*3/4 {
			return
		}
		delete(b.notes, k)
	}
}

// find returns the member that must be tried last in a conversation, or -1 if there is none.
func (b *broken) find(key uint64, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.notes[key]
	switch {
	case !ok:
		return -1
	case !now.Before(n.until):
		delete(b.notes, key)
		return -1
	}
	return n.member
}

func (b *broken) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.notes) == 0
}
