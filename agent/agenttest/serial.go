package agenttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// head holds the parts of a request that come before its messages.
type head struct {
	System string     `json:"system,omitempty"`
	Tools  []toolHead `json:"tools,omitempty"`
}

type toolHead struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// requestTail holds the parts of a request that change an answer but are not part of its prefix.
type requestTail struct {
	Choice      agent.ToolChoice           `json:"choice,omitzero"`
	Output      *agent.OutputSchema        `json:"output,omitempty"`
	MaxOutput   int                        `json:"max_output,omitempty"`
	Temperature *float64                   `json:"temperature,omitempty"`
	Stop        []string                   `json:"stop,omitempty"`
	Effort      agent.Effort               `json:"effort,omitempty"`
	Seed        *int64                     `json:"seed,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

// prefix serialises system prompt, tools and messages in the order in which providers read them,
// one per line.
func prefix(req *agent.Request) ([]byte, error) {
	h := head{System: req.System}
	for _, t := range req.Tools {
		h.Tools = append(h.Tools, toolHead{t.Name, t.Description, t.Schema})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return nil, fmt.Errorf("agenttest: serialise tools: %w", err)
	}
	for i := range req.Messages {
		if err := enc.Encode(req.Messages[i]); err != nil {
			return nil, fmt.Errorf("agenttest: serialise message %d: %w", i, err)
		}
	}
	return b.Bytes(), nil
}

// hash identifies a request by everything that may change its answer. Names of the conversation are
// left out.
func hash(req *agent.Request, scrub func(string) string) (string, error) {
	b, err := prefix(req)
	if err != nil {
		return "", err
	}
	t, err := json.Marshal(requestTail{req.ToolChoice, req.Output, req.MaxOutput, req.Temperature, req.Stop, req.Effort, req.Seed, req.Extra})
	if err != nil {
		return "", fmt.Errorf("agenttest: serialise request: %w", err)
	}
	sum := sha256.Sum256([]byte(scrub(string(append(b, t...)))))
	return hex.EncodeToString(sum[:16]), nil
}

// AssertPrefix fails t unless every request starts with the bytes of the previous one: system
// prompt, tools and messages, serialised in this order. Requests whose [agent.Request.Epoch] or
// SessionID differ are not compared. A conversation that passes keeps a provider's prompt cache
// warm.
func AssertPrefix(t testing.TB, reqs []*agent.Request) {
	t.Helper()
	type key struct {
		session string
		epoch   int
	}
	last := map[key]int{}
	for i, req := range reqs {
		k := key{req.SessionID, req.Epoch}
		if before, ok := last[k]; ok {
			if err := extends(reqs[before], req); err != nil {
				t.Errorf("agenttest: request %d does not start with the bytes of request %d: %v", i+1, before+1, err)
			}
		}
		last[k] = i
	}
}

// extends returns an error that says where b stops starting with a, or nil.
func extends(a, b *agent.Request) error {
	pa, err := prefix(a)
	if err != nil {
		return err
	}
	pb, err := prefix(b)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(pb, pa) {
		return nil
	}
	n := 0
	for n < len(pa) && n < len(pb) && pa[n] == pb[n] {
		n++
	}
	where := "in the system prompt or the tools"
	if line := bytes.Count(pa[:n], []byte("\n")); line > 0 {
		where = fmt.Sprintf("in message %d", line-1)
	}
	return fmt.Errorf("they part %s, at byte %d:\n- %s\n+ %s", where, n, around(pa, n), around(pb, n))
}

// around returns the text near byte n.
func around(b []byte, n int) string {
	return fmt.Sprintf("%q", b[max(0, n-60):min(len(b), n+60)])
}
