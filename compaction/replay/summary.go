package replay

import (
	"context"
	"iter"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// summariser is the model that a policy may call. It answers with a text made from the request, and
// its tokens are charged like any other call on the same prompt cache.
func (s *sim) summariser(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		text := s.cfg.Summarise(req)
		u := s.cache.call(req, count(text))
		s.spent = s.spent.Add(u)
		_ = yield(agent.TextDelta{Text: text}, nil) && yield(u, nil) && yield(agent.Finish{Reason: agent.FinishStop}, nil)
	}
}

// firstSentences writes a minimal summary of a run: the first sentence of each of the model's own
// messages, limited to the newest 500 tokens.
func firstSentences(req *agent.Request) string {
	var out []string
	left := 500
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role != agent.RoleAssistant {
			continue
		}
		s := firstSentence(m.Text())
		if left -= count(s) + 1; left < 0 {
			break
		}
		if s != "" {
			out = append(out, s)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return strings.Join(out, "\n")
}

func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	if n := strings.IndexAny(text, "\n"); n >= 0 {
		text = text[:n]
	}
	if n := strings.Index(text, ". "); n >= 0 {
		text = text[:n+1]
	}
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}
