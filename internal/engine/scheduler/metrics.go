package scheduler

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Metrics is a snapshot of an engine's counters since its start, and of its current state.
type Metrics struct {
	Requests  uint64 // admitted to a slot
	Finished  uint64 // ended without an error
	Failed    uint64 // ended with an error
	Cancelled uint64 // cancelled by their readers
	Refused   uint64 // turned away because the queue was full
	Preempted uint64 // number of times that a request lost its pages and had to start again
	Expanded  uint64 // branches expanded; not counted as requests

	Passes       uint64        // forward passes
	PassTime     time.Duration // total time of the forward passes
	PromptTokens uint64        // of prompts, including cached tokens
	CachedTokens uint64        // prompt tokens found in the cache
	Prefilled    uint64        // computed in passes before generation
	Decoded      uint64        // computed in passes for generation, including refused drafts
	Generated    uint64        // generated tokens of requests that have ended
	Forced       uint64        // generated tokens that a constraint forced
	DecodePasses uint64        // sum over the ended requests of their passes: Generated/DecodePasses is the number of tokens per pass

	Drafters      map[string]DrafterMetrics // by name
	DraftFailures uint64                    // drafters that panicked
	Masked        uint64                    // sampled tokens that a constraint refused, so that a mask was needed
	Evictions     uint64                    // pages evicted to make room

	Queue     Histogram // seconds waiting for a slot
	FirstWait Histogram // seconds from the slot to the first token

	Waiting   int // requests in the queue
	Running   int // requests with a slot
	Pages     int // pages of the cache
	FreePages int // empty pages after the last pass
}

// DrafterMetrics counts the results of one kind of drafter.
type DrafterMetrics struct {
	Drafts   uint64 // drafts verified
	Drafted  uint64 // tokens in those drafts
	Accepted uint64 // tokens accepted
}

// Histogram counts durations in cumulative buckets, as Prometheus expects them: Counts[i] counts
// those up to Bounds[i] seconds.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
	Count  uint64
}

var histogramBounds = []float64{0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300}

func (h *Histogram) observe(d time.Duration) {
	s := d.Seconds()
	for i, b := range h.Bounds {
		if s <= b {
			h.Counts[i]++
		}
	}
	h.Sum += s
	h.Count++
}

func (h Histogram) clone() Histogram {
	h.Counts = append([]uint64(nil), h.Counts...)
	return h
}

// metrics holds the scheduler's counters.
type metrics struct {
	mu sync.Mutex
	m  Metrics

	masked, evictions, preempted, draftFailures atomic.Uint64
}

func (m *metrics) init() {
	m.m.Drafters = map[string]DrafterMetrics{}
	for _, h := range []*Histogram{&m.m.Queue, &m.m.FirstWait} {
		h.Bounds, h.Counts = histogramBounds, make([]uint64, len(histogramBounds))
	}
}

func (m *metrics) refused() {
	m.mu.Lock()
	m.m.Refused++
	m.mu.Unlock()
}

// left counts a request whose reader left before the request had a slot.
func (m *metrics) left() {
	m.mu.Lock()
	m.m.Cancelled++
	m.mu.Unlock()
}

func (m *metrics) admitted(s *sequence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case s.task == taskExpand:
	case s.stats.Preempted == 0:
		m.m.Requests++
		m.m.PromptTokens += uint64(len(s.req.Prompt))
		m.m.Queue.observe(s.stats.Queue)
	}
}

func (m *metrics) passed(took time.Duration, prompt, decode, free, running int) {
	m.mu.Lock()
	m.m.Passes++
	m.m.PassTime += took
	m.m.Prefilled += uint64(prompt)
	m.m.Decoded += uint64(decode)
	m.m.FreePages, m.m.Running = free, running
	m.mu.Unlock()
}

func (m *metrics) drafted(name string, n, accepted int) {
	m.mu.Lock()
	d := m.m.Drafters[name]
	d.Drafts++
	d.Drafted += uint64(n)
	d.Accepted += uint64(accepted)
	m.m.Drafters[name] = d
	m.mu.Unlock()
}

func (m *metrics) finished(s *sequence, free, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.FreePages, m.m.Running = free, running
	if s.task == taskExpand {
		m.m.Expanded++
		return
	}
	switch {
	case s.err == nil && !s.gone():
		m.m.Finished++
	case s.gone():
		m.m.Cancelled++
	default:
		m.m.Failed++
	}
	m.m.Generated += uint64(s.stats.Generated)
	m.m.Forced += uint64(s.stats.Forced)
	m.m.CachedTokens += uint64(s.stats.Cached)
	m.m.DecodePasses += uint64(s.stats.Passes)
	if s.stats.Passes > 0 {
		m.m.FirstWait.observe(s.stats.Prefill)
	}
}

// Metrics returns the current counters.
func (e *Engine) Metrics() Metrics {
	e.mu.Lock()
	waiting := len(e.queue)
	e.mu.Unlock()
	m := &e.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.m
	out.Drafters = maps.Clone(out.Drafters)
	out.Queue, out.FirstWait = out.Queue.clone(), out.FirstWait.clone()
	out.Waiting, out.Pages = waiting, e.f.pages()
	out.Masked, out.Evictions = m.masked.Load(), m.evictions.Load()
	out.Preempted, out.DraftFailures = m.preempted.Load(), m.draftFailures.Load()
	return out
}
