package replay

import (
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

const (
	perMessage    = 4    // tokens of overhead of a message or a tool result
	perCall       = 8    // tokens of overhead of a tool call
	tokensOfImage = 1500 // what providers charge for a picture of about one megapixel
)

func count(text string) int { return tokencount.Estimate(text) }

// Tokens returns the estimated size of ms in a prompt, in tokens.
func Tokens(ms []agent.Message) int {
	n := 0
	for _, m := range ms {
		n += perMessage
		for _, p := range m.Parts {
			n += partTokens(p)
		}
	}
	return n
}

func partTokens(p agent.Part) int {
	switch p := p.(type) {
	case agent.Text:
		return count(p.Text)
	case agent.Thinking:
		return count(p.Text) + count(p.Signature)
	case agent.ToolCall:
		return perCall + count(p.Name) + count(string(p.Args))
	case agent.ToolResult:
		n := perMessage
		for _, q := range p.Parts {
			n += partTokens(q)
		}
		return n
	case agent.Opaque:
		return count(string(p.Data))
	case agent.Image:
		return tokensOfImage
	}
	return 0
}
