package agent

import "strings"

// Price is the price of a model, in micro-dollars (millionths of a US dollar) per million tokens:
// $3 per million tokens is 3_000_000. A zero CachedInput or CacheWrite means the Input price.
type Price struct {
	Input, CachedInput, CacheWrite, Output int64
}

// Prices maps model names to prices. A name also covers the names that it is a prefix of, and the
// longest one wins: "claude-sonnet-4" also prices "claude-sonnet-4-20250514".
type Prices map[string]Price

// DefaultPrices returns the list prices of well-known models as published in 2025. Prices change: a
// host that bills or limits by cost should keep its own table.
func DefaultPrices() Prices {
	const usd = 1_000_000
	return Prices{
		"claude-opus-4-5":   {5 * usd, usd / 2, 6.25 * usd, 25 * usd},
		"claude-opus-4":     {15 * usd, 1.5 * usd, 18.75 * usd, 75 * usd},
		"claude-sonnet-4":   {3 * usd, 0.3 * usd, 3.75 * usd, 15 * usd},
		"claude-3-7-sonnet": {3 * usd, 0.3 * usd, 3.75 * usd, 15 * usd},
		"claude-haiku-4-5":  {1 * usd, 0.1 * usd, 1.25 * usd, 5 * usd},
		"claude-3-5-haiku":  {0.8 * usd, 0.08 * usd, 1 * usd, 4 * usd},
		"gpt-5":             {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5-mini":        {0.25 * usd, 0.025 * usd, 0, 2 * usd},
		"gpt-5-nano":        {0.05 * usd, 0.005 * usd, 0, 0.4 * usd},
		"gpt-4.1":           {2 * usd, 0.5 * usd, 0, 8 * usd},
		"gpt-4.1-mini":      {0.4 * usd, 0.1 * usd, 0, 1.6 * usd},
		"gpt-4o":            {2.5 * usd, 1.25 * usd, 0, 10 * usd},
		"gpt-4o-mini":       {0.15 * usd, 0.075 * usd, 0, 0.6 * usd},
		"deepseek-chat":     {0.28 * usd, 0.028 * usd, 0, 0.42 * usd},
	}
}

// Find returns the price of a model by its full name or the longest matching prefix.
func (ps Prices) Find(model string) (Price, bool) {
	var best string
	found := false
	for name := range ps {
		if name != "" && strings.HasPrefix(model, name) && len(name) >= len(best) {
			best, found = name, true
		}
	}
	return ps[best], found
}

// Cost returns the cost of u in micro-dollars, rounded up.
func (p Price) Cost(u Usage) int64 {
	cached, write := p.CachedInput, p.CacheWrite
	if cached == 0 {
		cached = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	plain := max(u.Input-u.CachedInput-u.CacheWrite, 0)
	sum := plain*p.Input + u.CachedInput*cached + u.CacheWrite*write + u.Output*p.Output
	return (sum + 999_999) / 1_000_000
}

// ModelName returns the name of a model with a Name method, and "" for others.
func ModelName(m Model) string {
	if n, ok := m.(interface{ Name() string }); ok {
		return n.Name()
	}
	return ""
}
