package compaction

import (
	"hash/maphash"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// memo remembers what was worked out about texts and calls, since a history is looked at again and again and only its
// end is new. It changes how long an answer takes, never the answer.
type memo struct {
	seed    maphash.Seed
	mu      sync.Mutex
	counts  map[textKey]counts
	actions map[textKey]action
}

type textKey struct {
	hash uint64
	len  int
}

// memoLimit bounds the entries; a memo that is full starts anew.
const memoLimit = 1 << 16

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), counts: map[textKey]counts{}, actions: map[textKey]action{}}
}

func (m *memo) key(s string) textKey { return textKey{maphash.String(m.seed, s), len(s)} }

func (m *memo) count(text string) counts {
	k := m.key(text)
	m.mu.Lock()
	n, ok := m.counts[k]
	m.mu.Unlock()
	if ok {
		return n
	}
	n = countText(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.counts) >= memoLimit {
		clear(m.counts)
	}
	m.counts[k] = n
	return n
}

func (m *memo) action(c agent.ToolCall) action {
	k := textKey{maphash.Bytes(m.seed, c.Args) ^ maphash.String(m.seed, c.Name), len(c.Args)}
	m.mu.Lock()
	a, ok := m.actions[k]
	m.mu.Unlock()
	if ok {
		return a
	}
	a = actionOf(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.actions) >= memoLimit {
		clear(m.actions)
	}
	m.actions[k] = a
	return a
}
