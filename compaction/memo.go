package compaction

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// memo caches what was computed about texts and calls, since the same history is processed many
// times and only its end is new. It never changes the results.
type memo struct {
	seed    maphash.Seed
	mu      sync.Mutex
	counts  map[textKey]counts
	actions map[textKey]action
	seen    map[*agent.Part]*looked // messages, by their first part: a message in a history does not change
}

// looked holds what is known about a message's parts, measured at the token rates of the time of
// the look.
type looked struct {
	tokens int
	rates  *meterRates
	parts  []lookedPart
}

type lookedPart struct {
	tokens int
	act    action   // set for calls
	short  bool     // was shortened before, or cannot be
	failed bool     // a failed result
	points []string // ids of the calls whose results it points at
}

type textKey struct {
	hash uint64
	len  int
}

// memoLimit limits the number of entries; a full memo is emptied.
const memoLimit = 1 << 16

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), counts: map[textKey]counts{}, actions: map[textKey]action{}, seen: map[*agent.Part]*looked{}}
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

// look examines a message, or returns the cached result of doing so.
func (c *Compactor) look(m agent.Message) *looked {
	rates := c.meter.inUse.Load()
	if len(m.Parts) == 0 {
		return &looked{tokens: c.meter.message(m), rates: rates}
	}
	key := &m.Parts[0]
	c.memo.mu.Lock()
	l := c.memo.seen[key]
	c.memo.mu.Unlock()
	if l != nil && l.rates == rates && len(l.parts) == len(m.Parts) {
		return l
	}
	l = &looked{tokens: c.meter.message(m), rates: rates, parts: make([]lookedPart, len(m.Parts))}
	for i, p := range m.Parts {
		l.parts[i] = c.lookAt(p)
	}
	c.memo.mu.Lock()
	defer c.memo.mu.Unlock()
	if len(c.memo.seen) >= memoLimit/16 {
		clear(c.memo.seen)
	}
	c.memo.seen[key] = l
	return l
}

func (c *Compactor) lookAt(p agent.Part) (l lookedPart) {
	l.tokens = c.meter.parts([]agent.Part{p})
	switch p := p.(type) {
	case agent.Text:
		l.short = strings.Contains(p.Text, leftOut)
	case agent.ToolCall:
		l.act = c.memo.action(p)
		l.tokens = c.meter.text(string(p.Args))
		l.short = strings.Contains(string(p.Args), leftOut)
	case agent.Thinking:
		l.short = p.Signature != "" || p.Redacted != nil
	case agent.ToolResult:
		text := firstText(p.Parts)
		l.failed, l.short = p.IsError, isStub(text) || !plainParts(p.Parts)
		l.points = slices.Collect(pointedAt(text))
	}
	return l
}
