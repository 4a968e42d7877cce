package router

import (
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// needs is a set of abilities that a request asks of a model.
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

// String lists the abilities.
func (n needs) String() string {
	var out []string
	for i, name := range needNames {
		if n&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// refuses returns what a model with these capabilities cannot take.
func refuses(c *agent.Capabilities) needs {
	var n needs
	for i, can := range [...]bool{c.Tools, c.ToolChoice, c.Images, c.ImageURLs, c.ToolImages, c.StructuredOutput, c.Stop} {
		if !can {
			n |= 1 << i
		}
	}
	return n
}

// demand is what a request asks of a model.
type demand struct {
	needs  needs
	tokens int // of prompt and answer, about
}

// demandOf reads a request. It looks at every part and at no text, so that a long history costs
// microseconds.
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
	imageBytes    = 1500 * bytesPerToken // what providers charge for a picture of about a megapixel
)

// parts adds what ps need, where image is the need of an image, and returns their size.
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

// demand returns what req asks, or nothing when every member takes everything. Where its size
// decides which member fits it is estimated from the text itself.
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

// nearBelow and nearAbove bound the sizes by bytes, as shares of a window, of which bytes cannot
// tell whether they fit: a token is two to seven bytes of the texts that agents read.
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

// fits reports whether a member can take a request: it has the abilities and, as far as an estimate
// can tell, the room.
func (m *member) fits(d demand) bool {
	return m.cannot&d.needs == 0 && (m.MaxContext == 0 || d.tokens <= m.MaxContext)
}

// unfit says why a member does not fit, as the error that sending the request would have given.
func (m *member) unfit(d demand) *agent.ModelError {
	if lack := m.cannot & d.needs; lack != 0 {
		return modelErrorf(agent.ErrUnsupported, "it cannot take %s", lack)
	}
	return modelErrorf(agent.ErrContextLength, "the request has about %d tokens and its window %d", d.tokens, m.MaxContext)
}

// doubtful returns the member that may take what none fits, because estimates err: the one with the
// largest window, when the estimate is not far above it. It returns nil when there is no doubt.
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

// surely is the share of its estimate that a text has at the least, for all that is known of
// vocabularies.
const surely = 0.6

// combine returns the capabilities of a router: of what a request may hold, those that any member
// has, since it goes to a member that fits; of what an answer holds, those that all have.
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
