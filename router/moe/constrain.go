package moe

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/grammar"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// newVocab returns a function that returns the vocabulary in the form that grammars use. It is
// built when the first grammar is compiled.
func (m *Model) newVocab() func() *grammar.Vocab {
	return sync.OnceValue(func() *grammar.Vocab {
		ends := m.tok.EndOfGeneration()
		v := grammar.NewVocab(m.tok.Size(), func(id int32) []byte {
			switch m.tok.Kind(id) {
			case tokenizer.Control, tokenizer.Unused, tokenizer.Unknown:
				return nil // such tokens are never part of the text
			}
			return m.tok.AppendPiece(nil, id)
		}, ends)
		v.SetTokenizer(func(text []byte) []int32 { return m.tok.Encode(string(text), false) })
		return v
	})
}

// constraint returns the constraint on an answer: the grammar in Extra, tool calls, the schema of
// structured output, or a choice between calls and the schema. It returns nil if there is none.
func (m *Model) constraint(req *agent.Request, p *prompt) (scheduler.Constraint, error) {
	choice := toolformat.Choice{Prompt: p.opening, Parallel: true, Exact: m.cfg.Constrain == ConstrainExact}
	if raw, ok := req.Extra["parallel_tool_calls"]; ok {
		if err := json.Unmarshal(raw, &choice.Parallel); err != nil {
			return nil, invalid(fmt.Errorf("Request.Extra: parallel_tool_calls must be true or false, not %s", raw))
		}
	}
	if raw, ok := req.Extra["grammar"]; ok {
		return m.ownGrammar(raw)
	}
	if len(p.tools) == 0 {
		return m.withoutTools(req, choice)
	}
	switch req.ToolChoice.Mode {
	case agent.ToolModeRequired:
		choice.Mode = toolformat.Required
	case agent.ToolModeNamed:
		choice.Mode, choice.Name = toolformat.Required, req.ToolChoice.Name
	case agent.ToolModeNone:
		choice.Mode = toolformat.NoCalls
	}
	answers := req.Output != nil && choice.Mode == toolformat.Auto
	if m.cfg.Constrain == ConstrainOff && choice.Mode != toolformat.Required && !answers {
		return nil, nil
	}
	tools := p.tools
	if m.cfg.Constrain == ConstrainLenient || m.cfg.Constrain == ConstrainOff {
		tools = m.enforceable(tools)
	}
	key, err := json.Marshal(tools)
	if err != nil {
		return nil, invalid(err)
	}
	if answers {
		key = append(append(key, 0), req.Output.Schema...)
		return m.compiled("tools or output", key, choice, func() (*toolformat.Grammar, error) {
			return m.format.CallsOrAnswerGrammar(tools, req.Output.Schema, choice)
		})
	}
	return m.compiled("tools", key, choice, func() (*toolformat.Grammar, error) { return m.format.Grammar(tools, choice) })
}

// withoutTools is like constraint, for a request that may not call tools.
func (m *Model) withoutTools(req *agent.Request, c toolformat.Choice) (scheduler.Constraint, error) {
	switch mode := req.ToolChoice.Mode; {
	case mode == agent.ToolModeRequired || mode == agent.ToolModeNamed:
		return nil, invalid(fmt.Errorf("Request.ToolChoice is %q, but the request has no tools", mode))
	case req.Output == nil:
		return nil, nil
	}
	return m.compiled("output", req.Output.Schema, c, func() (*toolformat.Grammar, error) {
		return m.format.AnswerGrammar(req.Output.Schema, c), nil
	})
}

// ownGrammar compiles a grammar supplied by the caller: a JSON string in the language of package
// grammar.
func (m *Model) ownGrammar(raw json.RawMessage) (scheduler.Constraint, error) {
	var src string
	if err := json.Unmarshal(raw, &src); err != nil {
		return nil, invalid(fmt.Errorf("Request.Extra: grammar must be a text, not %s", raw))
	}
	return m.grammars.get("grammar\x00"+src, func() (*grammar.Grammar, error) {
		g, err := grammar.CompileText(src, m.vocab())
		if err != nil {
			return nil, invalid(err)
		}
		return g, nil
	})
}

// compiled returns the grammar for a kind and key from the cache, or builds it.
func (m *Model) compiled(kind string, key []byte, c toolformat.Choice, build func() (*toolformat.Grammar, error)) (scheduler.Constraint, error) {
	id := fmt.Sprintf("%s\x00%x\x00%+v", kind, sha256.Sum256(key), c)
	return m.grammars.get(id, func() (*grammar.Grammar, error) {
		g, err := build()
		if err != nil {
			return nil, unsupported(err)
		}
		out, err := g.Compile(m.vocab(), m.controls)
		if err != nil {
			return nil, unsupported(err)
		}
		return out, nil
	})
}

// enforceable replaces schemas that a grammar cannot enforce by the schema of any object.
func (m *Model) enforceable(tools []toolformat.Tool) []toolformat.Tool {
	out := make([]toolformat.Tool, len(tools))
	for i, t := range tools {
		if !m.holds(t) {
			t.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		out[i] = t
	}
	return out
}

// holds reports whether a grammar can enforce a tool's schema.
func (m *Model) holds(t toolformat.Tool) bool {
	raw, _ := json.Marshal(t)
	key := sha256.Sum256(raw)
	c := &m.grammars
	c.mu.Lock()
	ok, known := c.holds[key]
	c.mu.Unlock()
	if known {
		return ok
	}
	g, err := m.format.Grammar([]toolformat.Tool{t}, toolformat.Choice{Mode: toolformat.Required})
	if err == nil {
		_, err = g.Compile(m.vocab(), m.controls)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds == nil || len(c.holds) >= maxVerdicts {
		c.holds = map[[sha256.Size]byte]bool{}
	}
	c.holds[key] = err == nil
	return err == nil
}

// grammarCache keeps the most recently used grammars, with the states and masks computed so far.
// Compiling a grammar takes about a millisecond; computing its masks takes longer.
type grammarCache struct {
	mu    sync.Mutex
	list  []cachedGrammar            // the latest last
	holds map[[sha256.Size]byte]bool // for tools, the results of Model.holds
}

type cachedGrammar struct {
	key string
	g   *grammar.Grammar
}

// Limits of the cache. The results of holds are cleared all at once.
const (
	maxGrammars = 16
	maxVerdicts = 4096
)

func (c *grammarCache) get(key string, build func() (*grammar.Grammar, error)) (scheduler.Constraint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.list {
		if e.key != key {
			continue
		}
		if e.g.Err() != nil { // the grammar has reached too many states, so start again
			e.g = e.g.Fork()
		}
		c.list = append(append(c.list[:i:i], c.list[i+1:]...), e)
		return e.g, nil
	}
	g, err := build()
	if err != nil {
		return nil, err
	}
	if len(c.list) == maxGrammars {
		c.list = c.list[1:]
	}
	c.list = append(c.list, cachedGrammar{key, g})
	return g, nil
}
