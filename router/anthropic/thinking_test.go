package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

func TestFamilies(t *testing.T) {
	tests := []struct {
		name      string
		form      Thinking
		sampling  bool
		maxOutput int
	}{
		{"claude-3-opus-20240229", ThinkingOff, true, 4096},
		{"claude-3-5-sonnet-20241022", ThinkingOff, true, 8192},
		{"claude-3-7-sonnet-latest", ThinkingBudget, true, 8192},
		{"claude-opus-4-20250514", ThinkingBudget, true, 32000},
		{"claude-opus-4@20250514", ThinkingBudget, true, 32000},
		{"claude-sonnet-4-5", ThinkingBudget, true, 32000},
		{"anthropic/claude-sonnet-4.5", ThinkingBudget, true, 32000},
		{"claude-haiku-4-5-20251001", ThinkingBudget, true, 32000},
		{"claude-opus-4-6", ThinkingAdaptive, true, 32000},
		{"us.anthropic.claude-opus-4-7-v1:0", ThinkingAdaptive, false, 32000},
		{"claude-sonnet-5", ThinkingAdaptive, false, 32000},
		{"claude-opus-5-5", ThinkingAdaptive, false, 32000},
		{"claude-mythos-preview", ThinkingAdaptive, false, 32000},
		{"claude-next", ThinkingBudget, true, 8192},
		{"glm-4.6", ThinkingBudget, true, 8192},
	}
	for _, tt := range tests {
		f := parseFamily(tt.name)
		if f.form() != tt.form || f.noSampling() == tt.sampling || f.maxOutput() != tt.maxOutput {
			t.Errorf("%s: %+v: form %q, sampling %v, max output %d; want %+v", tt.name, f, f.form(), !f.noSampling(), f.maxOutput(), tt)
		}
	}
}

func TestReasoning(t *testing.T) {
	const budget, adaptive, always = "claude-sonnet-4-5", "claude-opus-4-6", "claude-mythos-5"
	tests := []struct {
		name   string
		model  string
		effort agent.Effort
		max    int
		forced bool
		edit   func(*Config)
		want   reasoning
	}{
		{name: "nothing asked", model: adaptive},
		{name: "budget", model: budget, effort: agent.EffortMedium, max: 32000, want: reasoning{kind: "enabled", budget: 8192}},
		{name: "budget within a small limit", model: budget, effort: agent.EffortHigh, max: 4000, want: reasoning{kind: "enabled", budget: 3000}},
		{name: "least budget", model: budget, effort: agent.EffortHigh, max: 1100, want: reasoning{kind: "enabled", budget: 1024}},
		{name: "no room", model: budget, effort: agent.EffortHigh, max: 1024},
		{name: "budget, none", model: budget, effort: agent.EffortNone, max: 32000},
		{name: "budget, forced call", model: budget, effort: agent.EffortHigh, max: 32000, forced: true},
		{name: "adaptive", model: adaptive, effort: agent.EffortHigh, max: 10, want: reasoning{kind: "adaptive", effort: "high"}},
		{name: "adaptive, none", model: adaptive, effort: agent.EffortNone, want: reasoning{kind: "disabled"}},
		{name: "adaptive, forced call", model: adaptive, effort: agent.EffortLow, forced: true, want: reasoning{kind: "disabled", effort: "low"}},
		{name: "always, none", model: always, effort: agent.EffortNone, want: reasoning{effort: "low"}},
		{name: "always, forced call", model: always, effort: agent.EffortHigh, forced: true, want: reasoning{effort: "high"}},
		{name: "an effort beyond the contract's", model: adaptive, effort: "xhigh", want: reasoning{kind: "adaptive", effort: "xhigh"}},
		{name: "configured off", model: adaptive, effort: agent.EffortHigh, edit: func(c *Config) { c.Thinking = ThinkingOff }},
		{name: "configured form", model: "glm-5", effort: agent.EffortLow, edit: func(c *Config) { c.Thinking = ThinkingAdaptive }, want: reasoning{kind: "adaptive", effort: "low"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := testModel(t, func(c *Config) {
				c.Model = tt.model
				if tt.edit != nil {
					tt.edit(c)
				}
			})
			got := m.reasoningFor(&agent.Request{Effort: tt.effort}, &history{}, tt.max, tt.forced)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(reasoning{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
