package compaction

import (
	"math"
	"sync/atomic"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

type counts = tokencount.Tally

func countText(text string) counts { return tokencount.Count(text) }

// meter weighs parts of a history in tokens, at rates that are corrected by what the provider
// reports. The rates change only between compactions, so that sums within one compaction add up.
type meter struct {
	memo  *memo
	cal   tokencount.Calibrator
	inUse atomic.Pointer[meterRates]
}

type meterRates struct {
	classes tokencount.Tally
	frame   float64
}

// imageTokens is the number of tokens that providers charge for a picture of about one megapixel.
const imageTokens = 1500

func newMeter(m *memo) *meter {
	mt := &meter{memo: m}
	mt.refresh()
	return mt
}

// refresh applies the rates learned so far.
func (m *meter) refresh() {
	r := &meterRates{}
	r.classes, r.frame = m.cal.Rates()
	m.inUse.Store(r)
}

func (m *meter) weigh(n counts) int {
	r := m.inUse.Load()
	sum := 0.0
	for i, x := range n {
		sum += x * r.classes[i]
	}
	return int(math.Ceil(sum))
}

func (m *meter) text(s string) int {
	if s == "" {
		return 0
	}
	return m.weigh(m.memo.count(s))
}

// message returns the tokens of a message including its frame.
func (m *meter) message(msg agent.Message) int {
	frame := int(m.inUse.Load().frame)
	n := frame + m.parts(msg.Parts)
	if len(msg.Parts) > 1 {
		n += (len(msg.Parts) - 1) * frame
	}
	return n
}

func (m *meter) messages(ms []agent.Message) int {
	n := 0
	for _, msg := range ms {
		n += m.message(msg)
	}
	return n
}

func (m *meter) parts(ps []agent.Part) int {
	n := 0
	for _, p := range ps {
		switch p := p.(type) {
		case agent.Text:
			n += m.text(p.Text)
		case agent.Thinking:
			n += m.text(p.Text) + len(p.Signature)/8 + len(p.Redacted)/4
		case agent.ToolCall:
			n += m.text(p.Name) + m.text(string(p.Args))
		case agent.ToolResult:
			n += m.parts(p.Parts)
		case agent.Opaque:
			n += len(p.Data) / 4
		case agent.Image:
			n += imageTokens
		}
	}
	return n
}

// prompt describes a request to the calibrator.
func (m *meter) prompt(req *agent.Request) (p tokencount.Prompt, exact bool) {
	fuzzy := 0 // bytes of parts for which providers use other rules, or which they do not count at all
	add := func(s string) { p.Texts = p.Texts.Add(m.memo.count(s)) }
	var parts func(ps []agent.Part)
	parts = func(ps []agent.Part) {
		for _, part := range ps {
			switch part := part.(type) {
			case agent.Text:
				add(part.Text)
			case agent.ToolCall:
				add(part.Name)
				add(string(part.Args))
			case agent.ToolResult:
				parts(part.Parts)
			case agent.Thinking:
				add(part.Text)
				fuzzy += len(part.Text) + len(part.Signature) + len(part.Redacted)
			case agent.Image:
				fuzzy += 4 * imageTokens
			case agent.Opaque:
				fuzzy += len(part.Data)
			}
		}
	}
	add(req.System)
	for i := range req.Tools {
		add(req.Tools[i].Name)
		add(req.Tools[i].Description)
		add(string(req.Tools[i].Schema))
		p.Frames++
	}
	for _, msg := range req.Messages {
		p.Frames += max(len(msg.Parts), 1)
		parts(msg.Parts)
	}
	return p, float64(fuzzy/4) <= 0.02*p.Texts.Sum()
}

// learn corrects the rates by the usage that a provider reported for a request.
func (m *meter) learn(req *agent.Request, u agent.Usage) {
	tokens := u.Input
	if tokens < u.CachedInput+u.CacheWrite { // some providers report only uncached tokens as input
		tokens += u.CachedInput + u.CacheWrite
	}
	if p, exact := m.prompt(req); exact {
		m.cal.Observe(p, tokens)
	}
}

// overhead returns the tokens of a request that are not messages.
func (m *meter) overhead(req *agent.Request) int {
	if req == nil {
		return 0
	}
	n := m.text(req.System)
	for i := range req.Tools {
		n += m.text(req.Tools[i].Name) + m.text(req.Tools[i].Description) + m.text(string(req.Tools[i].Schema))
	}
	return n
}
