package agent

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// repetition counts identical calls with identical results. Arguments are identical if they are the
// same JSON value, however it is written. A change that was not seen before resets the count:
// running the same failing test after each of ten different edits is progress, not a loop.
type repetition struct {
	cfg   Repetition
	args  jsontree.Summer
	count signatures
	batch int
}

// maxSignatures limits the memory of a very long run; calls that are so far apart do not count as
// repetition.
const maxSignatures = 1 << 14

// seen is the number of times a signature occurred, and the last batch that had it.
type seen struct{ n, batch int }

// signatures holds what was seen. The first ones need no map, which a short run would only
// allocate.
type signatures struct {
	few  [4]seen
	sigs [4]uint64
	used int
	many map[uint64]seen
}

func (s *signatures) len() int { return s.used + len(s.many) }

func (s *signatures) get(sig uint64) seen {
	for i := range s.used {
		if s.sigs[i] == sig {
			return s.few[i]
		}
	}
	return s.many[sig]
}

func (s *signatures) set(sig uint64, v seen) {
	for i := range s.used {
		if s.sigs[i] == sig {
			s.few[i] = v
			return
		}
	}
	if s.used < len(s.few) {
		s.sigs[s.used], s.few[s.used] = sig, v
		s.used++
		return
	}
	if s.many == nil {
		s.many = make(map[uint64]seen)
	}
	s.many[sig] = v
}

// nextBatch begins a new response: identical calls within one response count once.
func (r *repetition) nextBatch() { r.batch++ }

// rung is a level of repetition.
type rung uint8

const (
	rungNone rung = iota
	rungRemind
	rungWarn
	rungStop
)

// observe counts one finished call and returns the level it reached.
func (r *repetition) observe(call *ToolCall, res *ToolResult, changed bool) rung {
	if r.count.len() == 0 {
		r.args.Seed = maphash.MakeSeed()
	}
	sig := r.signature(call, res)
	old := r.count.get(sig)
	if old.n > 0 && old.batch == r.batch {
		return rungNone
	}
	n := old.n + 1
	if n == 1 && (changed || r.count.len() >= maxSignatures) {
		r.count = signatures{}
	}
	r.count.set(sig, seen{n: n, batch: r.batch})
	switch n {
	case r.cfg.Stop:
		return rungStop
	case r.cfg.Warn:
		return rungWarn
	case r.cfg.Remind:
		return rungRemind
	}
	return rungNone
}

func (r *repetition) signature(call *ToolCall, res *ToolResult) uint64 {
	var h maphash.Hash
	h.SetSeed(r.args.Seed)
	h.WriteString(call.Name)
	h.WriteByte(0)
	var sum [8]byte
	h.Write(binary.LittleEndian.AppendUint64(sum[:0], r.args.Sum(call.Args)))
	if res.IsError {
		h.WriteByte(1)
	}
	for _, p := range res.Parts {
		switch p := p.(type) {
		case Text:
			h.WriteString(p.Text)
		case Image:
			h.Write(p.Data)
			h.WriteString(p.URL)
		case Opaque:
			h.Write(p.Data)
		}
		h.WriteByte(0)
	}
	return h.Sum64()
}

// reminder returns the text for the model at a level below stop.
func (r *repetition) reminder(level rung, tool string) string {
	if level == rungWarn {
		return promptText(repeatWarnPrompt, "{tool}", tool, "{times}", strconv.Itoa(r.cfg.Warn), "{end}", strconv.Itoa(r.cfg.Stop))
	}
	return promptText(repeatRemindPrompt, "{tool}", tool, "{times}", strconv.Itoa(r.cfg.Remind))
}
