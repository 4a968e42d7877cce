package router

import (
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// needs is a set of capabilities that a request requires of a model.
type needs uint16

const (
	needTools needs = 1 << iota
	needToolChoice
	needImages
	needImageURLs
	needToolImages
	needOutput
	needStop
)

var needNames = [...]string{"tools", "this tool choice", "images", "images by address", "images in tool results", "structured output", "stop texts"}

// String lists the capabilities in the set.
func (n needs) String() string {
	var out []string
	for i, name := range needNames {
		if n&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// refuses returns the needs that a model with these capabilities does not meet.
func refuses(c *agent.Capabilities) needs {
	var n needs
	for i, can := range [...]bool{c.Tools, c.ToolChoice, c.Images, c.ImageURLs, c.ToolImages, c.StructuredOutput, c.Stop} {
		if !can {
			n |= 1 << i
		}
	}
	return n
}

// demand holds the requirements of a request.
type demand struct {
	needs  needs
	tokens int // approximate number of tokens of prompt and answer
}

// demandOf reads a request. It examines every part but reads no text, so that a long history takes
// only microseconds.
func demandOf(req *agent.Request) demand {
	var d demand
	size := len(req.System)
	if len(req.Tools) > 0 {
		d.needs |= needTools
		for i := range req.Tools {
			t := &req.Tools[i]
			size += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	if req.ToolChoice.Mode != agent.ToolModeAuto {
		d.needs |= needToolChoice
	}
	if req.Output != nil {
		d.needs |= needOutput
		size += len(req.Output.Schema)
	}
	if len(req.Stop) > 0 {
		d.needs |= needStop
	}
	for i := range req.Messages {
		size += d.parts(req.Messages[i].Parts, needImages)
	}
	d.tokens = (size+bytesPerToken-1)/bytesPerToken + req.MaxOutput
	return d
}

const (
	bytesPerToken = 4
	imageBytes    = 1500 * bytesPerToken // what providers charge for an image of about a megapixel
)

// parts adds the requirements of ps to d, where image is the need of an image, and returns the size
// of ps.
func (d *demand) parts(ps []agent.Part, image needs) int {
	size := 0
	for _, p := range ps {
		switch p := p.(type) {
		case agent.Text:
			size += len(p.Text)
		case agent.Thinking:
			size += len(p.Text)
		case agent.ToolCall:
			size += len(p.Name) + len(p.Args)
		case agent.ToolResult:
			size += d.parts(p.Parts, needToolImages)
		case agent.Opaque:
			size += len(p.Data)
		case agent.Image:
			size += imageBytes
			d.needs |= image
			if len(p.Data) == 0 {
				d.needs |= needImageURLs
			}
		}
	}
	return size
}

// demand returns the requirements of req. They are empty if every member takes everything. If its
// size decides which member fits, the size is estimated from the text itself.
func (p *pool) demand(req *agent.Request) demand {
	if !p.picky {
		return demand{}
	}
	d := demandOf(req)
	for _, m := range p.members {
		if r := float64(d.tokens) / float64(m.MaxContext); m.MaxContext > 0 && r > nearBelow && r < nearAbove {
			d.tokens = requestTokens(req) + req.MaxOutput
			break
		}
	}
	return d
}

// nearBelow and nearAbove bound the range of a request's size in bytes, as a share of a window, in
// which that size is too inexact to decide whether the request fits: in the texts that agents read,
// a token is two to seven bytes.
const nearBelow, nearAbove = 0.55, 2.2

// requestTokens estimates the tokens of a prompt from its texts.
func requestTokens(req *agent.Request) int {
	n := tokencount.Estimate(req.System)
	for i := range req.Tools {
		t := &req.Tools[i]
		n += tokencount.Estimate(t.Name) + tokencount.Estimate(t.Description) + len(t.Schema)/bytesPerToken
	}
	if req.Output != nil {
		n += len(req.Output.Schema) / bytesPerToken
	}
	for i := range req.Messages {
		n += partsTokens(req.Messages[i].Parts)
	}
	return n
}

func partsTokens(ps []agent.Part) int {
	n := 0
	for _, p := range ps {
		switch p := p.(type) {
		case agent.Text:
			n += tokencount.Estimate(p.Text)
		case agent.Thinking:
			n += tokencount.Estimate(p.Text)
		case agent.ToolCall:
			n += tokencount.Estimate(p.Name) + len(p.Args)/bytesPerToken
		case agent.ToolResult:
			n += partsTokens(p.Parts)
		case agent.Opaque:
			n += len(p.Data) / bytesPerToken
		case agent.Image:
			n += imageBytes / bytesPerToken
		}
	}
	return n
}

// fits reports whether a member can take a request: it has the capabilities and, according to the
// estimate, a large enough window.
func (m *member) fits(d demand) bool {
	return m.cannot&d.needs == 0 && (m.MaxContext == 0 || d.tokens <= m.MaxContext)
}

// unfit returns the reason why a member does not fit, as the error that sending the request would
// have returned.
func (m *member) unfit(d demand) *agent.ModelError {
	if lack := m.cannot & d.needs; lack != 0 {
		return modelErrorf(agent.ErrUnsupported, "it cannot take %s", lack)
	}
	return modelErrorf(agent.ErrContextLength, "the request has about %d tokens and its window %d", d.tokens, m.MaxContext)
}

// doubtful returns the member with the largest window if no member fits but the estimate is only
// slightly above that window, since estimates are inexact. Otherwise it returns nil.
func (p *pool) doubtful(d demand) *member {
	var best *member
	for _, m := range p.members {
		if m.cannot&d.needs == 0 && (best == nil || m.MaxContext > best.MaxContext) {
			best = m
		}
	}
	if best == nil || float64(d.tokens)*surely > float64(best.MaxContext) {
		return nil
	}
	return best
}

// surely is the smallest share of the estimate that the actual number of tokens can be, judging by
// known vocabularies.
const surely = 0.6

// combine returns the capabilities of a router. A request may have what any member can take, since
// it goes to a member that fits. For answers, the router promises only what all members promise.
func combine(members []*member) agent.Capabilities {
	c := members[0].caps
	c.Notes = nil
	c.MaxContext = members[0].MaxContext
	for _, m := range members[1:] {
		o := &m.caps
		for _, f := range []struct {
			have *bool
			also bool
		}{
			{&c.Tools, o.Tools}, {&c.ToolChoice, o.ToolChoice}, {&c.Images, o.Images}, {&c.ImageURLs, o.ImageURLs},
			{&c.ToolImages, o.ToolImages}, {&c.StructuredOutput, o.StructuredOutput}, {&c.Stop, o.Stop},
		} {
			*f.have = *f.have || f.also
		}
		for _, f := range []struct {
			have *bool
			also bool
		}{
			{&c.StreamingTools, o.StreamingTools}, {&c.ParallelTools, o.ParallelTools}, {&c.Thinking, o.Thinking},
			{&c.ThinkingReplay, o.ThinkingReplay}, {&c.RedactedThinking, o.RedactedThinking}, {&c.Opaque, o.Opaque},
			{&c.Usage, o.Usage}, {&c.CacheUsage, o.CacheUsage}, {&c.CacheWriteUsage, o.CacheWriteUsage}, {&c.TypedErrors, o.TypedErrors},
		} {
			*f.have = *f.have && f.also
		}
		if c.MaxContext == 0 || m.MaxContext == 0 {
			c.MaxContext = 0
		} else {
			c.MaxContext = max(c.MaxContext, m.MaxContext)
		}
	}
	for _, m := range members {
		for _, note := range m.caps.Notes {
			c.Notes = append(c.Notes, m.Name+": "+note)
		}
	}
	return c
}
