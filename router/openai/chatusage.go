package openai

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// chatUsage counts tokens as OpenAI and compatible servers report them.
type chatUsage struct {
	Prompt        wire.Int `json:"prompt_tokens"`
	Completion    wire.Int `json:"completion_tokens"`
	Total         wire.Int `json:"total_tokens"`
	PromptDetails struct {
		Cached     wire.Int `json:"cached_tokens"`
		CacheWrite wire.Int `json:"cache_write_tokens"`
		Creation   wire.Int `json:"cache_creation_tokens"` // LiteLLM
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit      wire.Int `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached        wire.Int `json:"cached_tokens"`               // Kimi
	CacheRead     wire.Int `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation wire.Int `json:"cache_creation_input_tokens"` // LiteLLM
}

// count records a usage object; the last one is valid.
func (d *chatDecoder) count(u *chatUsage) {
	if u == nil {
		return
	}
	prompt, completion, total := u.Prompt.N, u.Completion.N, u.Total.N
	if prompt == 0 && completion == 0 && total == 0 {
		return
	}
	d.counted = true
	d.usage = agent.Usage{
		Input:       prompt,
		CachedInput: max(u.PromptDetails.Cached.N, u.CacheHit.N, u.Cached.N, u.CacheRead.N),
		CacheWrite:  max(u.PromptDetails.CacheWrite.N, u.PromptDetails.Creation.N, u.CacheCreation.N),
		Output:      completion,
		Reasoning:   u.CompletionDetails.Reasoning.N,
	}
	if r := d.usage.Reasoning; r > 0 && total == prompt+completion+r {
		d.usage.Output += r // xAI counts reasoning separately from the completion
	}
}

// mergeDetails joins the reasoning_details of a stream into the form that is sent back with the
// message: the texts of pieces of one entry, which share index and type, are joined.
func mergeDetails(pieces []json.RawMessage) (agent.Opaque, bool) {
	var merged []map[string]json.RawMessage
	for _, piece := range pieces {
		var p map[string]json.RawMessage
		if json.Unmarshal(piece, &p) != nil || p == nil {
			continue
		}
		if n := len(merged); n > 0 && p["index"] != nil && sameEntry(merged[n-1], p) {
			extend(merged[n-1], p)
		} else {
			merged = append(merged, p)
		}
	}
	if len(merged) == 0 {
		return agent.Opaque{}, false
	}
	data, err := marshalPlain(map[string]any{"reasoning_details": merged})
	if err != nil {
		return agent.Opaque{}, false
	}
	return agent.Opaque{Provider: chatParts, Data: data}, true
}

func sameEntry(a, b map[string]json.RawMessage) bool {
	return string(a["index"]) == string(b["index"]) && string(a["type"]) == string(b["type"])
}

// extend adds a later piece of an entry to it.
func extend(entry, piece map[string]json.RawMessage) {
	for k, v := range piece {
		switch k {
		case "text", "summary", "data":
			joined, err := marshalPlain(text(entry[k]) + text(v))
			if err == nil {
				entry[k] = joined
			}
		default:
			if string(v) != "null" {
				entry[k] = v
			}
		}
	}
}

// marshalPlain is json.Marshal without the escaping of <, > and &.
func marshalPlain(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
