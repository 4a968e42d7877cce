package openai

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// chatUsage counts tokens as OpenAI and compatible servers report them.
type chatUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
		Creation   int64 `json:"cache_creation_tokens"` // LiteLLM
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit      int64 `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached        int64 `json:"cached_tokens"`               // Kimi
	CacheRead     int64 `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation int64 `json:"cache_creation_input_tokens"` // LiteLLM
}

// count records a usage object; the last one is valid.
func (d *chatDecoder) count(u *chatUsage) {
	if u == nil || (u.Prompt == 0 && u.Completion == 0 && u.Total == 0) {
		return
	}
	d.counted = true
	d.usage = agent.Usage{
		Input:       u.Prompt,
		CachedInput: max(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.CacheRead),
		CacheWrite:  max(u.PromptDetails.CacheWrite, u.PromptDetails.Creation, u.CacheCreation),
		Output:      u.Completion,
		Reasoning:   u.CompletionDetails.Reasoning,
	}
	if r := d.usage.Reasoning; r > 0 && u.Total == u.Prompt+u.Completion+r {
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
