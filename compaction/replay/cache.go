package replay

import (
	"github.com/luthier-dev/luthier/agent"
)

// Prices are the costs of tokens, relative to an input token when no cache is used.
type Prices struct {
	Input  float64 // an input token if Cache is off
	Read   float64 // an input token that the prompt cache held
	Write  float64 // an input token that the prompt cache did not hold, and now does
	Output float64 // a token that the model wrote
}

// DefaultPrices returns the ratios that providers with a prompt cache charge: 0.1 for a read, 1.25
// for a write and 5 for output.
func DefaultPrices() Prices { return Prices{Input: 1, Read: 0.1, Write: 1.25, Output: 5} }

// Cost returns the cost of u in plain input tokens.
func (p Prices) Cost(u agent.Usage) float64 {
	plain := u.Input - u.CachedInput - u.CacheWrite
	return float64(plain)*p.Input + float64(u.CachedInput)*p.Read + float64(u.CacheWrite)*p.Write + float64(u.Output)*p.Output
}

// segment is the smallest piece of a prompt that a cache keeps or loses: one part of a message.
type segment struct {
	role agent.Role
	kind byte
	a, b string // the part's texts
}

// segments cuts a request into the pieces that are compared, and returns the size of each in
// tokens.
func segments(req *agent.Request) ([]segment, []int) {
	segs := []segment{{kind: 's', a: req.System}}
	sizes := []int{count(req.System)}
	for _, m := range req.Messages {
		segs, sizes = append(segs, segment{role: m.Role, kind: 'm'}), append(sizes, perMessage)
		segs, sizes = partSegments(segs, sizes, m.Role, m.Parts)
	}
	return segs, sizes
}

func partSegments(segs []segment, sizes []int, role agent.Role, ps []agent.Part) ([]segment, []int) {
	for _, p := range ps {
		s := segment{role: role}
		switch p := p.(type) {
		case agent.Text:
			s.kind, s.a = 't', p.Text
		case agent.Thinking:
			s.kind, s.a, s.b = 'k', p.Text, p.Signature
		case agent.ToolCall:
			s.kind, s.a, s.b = 'c', p.ID+" "+p.Name, string(p.Args)
		case agent.ToolResult:
			s.kind, s.a = 'r', p.CallID
			segs, sizes = append(segs, s), append(sizes, perMessage)
			segs, sizes = partSegments(segs, sizes, role, p.Parts)
			continue
		case agent.Image:
			s.kind, s.a, s.b = 'i', p.URL, string(p.Data)
		case agent.Opaque:
			s.kind, s.a, s.b = 'o', p.Provider, string(p.Data)
		}
		segs, sizes = append(segs, s), append(sizes, partTokens(p))
	}
	return segs, sizes
}

// cache simulates a provider's prompt cache: it holds the last request of each purpose. A model
// call reads the longest prefix that it shares with one of them and writes the rest.
type cache map[agent.Purpose][]segment

// call returns the usage of a request with an answer of output tokens, and keeps the request.
func (c cache) call(req *agent.Request, output int) agent.Usage {
	segs, sizes := segments(req)
	shared := 0
	for _, held := range c {
		n := 0
		for n < len(held) && n < len(segs) && held[n] == segs[n] {
			n++
		}
		shared = max(shared, n)
	}
	u := agent.Usage{Output: int64(output)}
	for i, n := range sizes {
		u.Input += int64(n)
		if i < shared {
			u.CachedInput += int64(n)
		}
	}
	u.CacheWrite = u.Input - u.CachedInput
	c[req.Purpose] = segs
	return u
}
