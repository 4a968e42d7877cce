package moe

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// sampling reads the sampling parameters. Extra fields have the names used by llama.cpp and vLLM;
// null counts as absent.
func (m *Model) sampling(req *agent.Request) (scheduler.SampleParams, error) {
	p := scheduler.SampleParams{Temperature: float32(m.cfg.Temperature)}
	if req.Temperature != nil {
		p.Temperature = float32(*req.Temperature)
	}
	if req.Seed != nil {
		p.Seed = uint64(*req.Seed)
	}
	for _, f := range []struct {
		name string
		to   any
	}{
		{"top_k", &p.TopK}, {"top_p", &p.TopP}, {"min_p", &p.MinP},
		{"repeat_penalty", &p.RepetitionPenalty}, {"repetition_penalty", &p.RepetitionPenalty},
		{"frequency_penalty", &p.FrequencyPenalty}, {"presence_penalty", &p.PresencePenalty},
	} {
		raw, ok := req.Extra[f.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, f.to); err != nil {
			return p, invalid(fmt.Errorf("Request.Extra: %s must be a number, not %s", f.name, raw))
		}
	}
	if p.TopK < 0 {
		p.TopK = 0 // llama.cpp and vLLM write "all" as -1
	}
	return p, nil
}
