package agent

// Dollar is a US dollar in micro-dollars, the unit of every price, cost and limit of this package:
//
//	agent.Limits{MicroDollars: 5 * agent.Dollar}
//	fmt.Printf("$%.2f", float64(res.MicroDollars)/agent.Dollar)
const Dollar = 1_000_000

// Price is the price of a model, in micro-dollars (millionths of a US dollar) per million tokens:
// $3 per million tokens is 3_000_000. A zero CachedInput or CacheWrite means the Input price.
type Price struct {
	Input, CachedInput, CacheWrite, Output int64
}

// Prices maps the exact names of models to prices. A name prices no other name: a dated snapshot or
// the next version of a model can cost something else. Use [Prices.Alias] for a name that is known
// to mean the same model.
type Prices map[string]Price

// DefaultPrices returns the list prices of well-known models, from the providers' price pages as
// models.dev recorded them in July 2026. A price that depends on the length of the prompt is left
// out. Prices change: a host that bills or limits by cost should keep its own table.
func DefaultPrices() Prices {
	const usd = Dollar
	ps := Prices{
		"claude-opus-4-8":    {5 * usd, 0.5 * usd, 6.25 * usd, 25 * usd},
		"claude-opus-4-7":    {5 * usd, 0.5 * usd, 6.25 * usd, 25 * usd},
		"claude-opus-4-6":    {5 * usd, 0.5 * usd, 6.25 * usd, 25 * usd},
		"claude-opus-4-5":    {5 * usd, 0.5 * usd, 6.25 * usd, 25 * usd},
		"claude-opus-4-1":    {15 * usd, 1.5 * usd, 18.75 * usd, 75 * usd},
		"claude-opus-4-0":    {15 * usd, 1.5 * usd, 18.75 * usd, 75 * usd},
		"claude-sonnet-5":    {2 * usd, 0.2 * usd, 2.5 * usd, 10 * usd},
		"claude-sonnet-4-6":  {3 * usd, 0.3 * usd, 3.75 * usd, 15 * usd},
		"claude-sonnet-4-5":  {3 * usd, 0.3 * usd, 3.75 * usd, 15 * usd},
		"claude-sonnet-4-0":  {3 * usd, 0.3 * usd, 3.75 * usd, 15 * usd},
		"claude-haiku-4-5":   {1 * usd, 0.1 * usd, 1.25 * usd, 5 * usd},
		"gpt-5.3-codex":      {1.75 * usd, 0.175 * usd, 0, 14 * usd},
		"gpt-5.2":            {1.75 * usd, 0.175 * usd, 0, 14 * usd},
		"gpt-5.2-codex":      {1.75 * usd, 0.175 * usd, 0, 14 * usd},
		"gpt-5.1":            {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5.1-codex":      {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5.1-codex-max":  {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5.1-codex-mini": {0.25 * usd, 0.025 * usd, 0, 2 * usd},
		"gpt-5":              {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5-codex":        {1.25 * usd, 0.125 * usd, 0, 10 * usd},
		"gpt-5-mini":         {0.25 * usd, 0.025 * usd, 0, 2 * usd},
		"gpt-5-nano":         {0.05 * usd, 0.005 * usd, 0, 0.4 * usd},
		"gpt-4.1":            {2 * usd, 0.5 * usd, 0, 8 * usd},
		"gpt-4.1-mini":       {0.4 * usd, 0.1 * usd, 0, 1.6 * usd},
		"gpt-4.1-nano":       {0.1 * usd, 0.025 * usd, 0, 0.4 * usd},
		"gpt-4o":             {2.5 * usd, 1.25 * usd, 0, 10 * usd},
		"gpt-4o-mini":        {0.15 * usd, 0.075 * usd, 0, 0.6 * usd},
		"o3":                 {2 * usd, 0.5 * usd, 0, 8 * usd},
		"o4-mini":            {1.1 * usd, 0.275 * usd, 0, 4.4 * usd},
		"deepseek-chat":      {0.14 * usd, 0.0028 * usd, 0, 0.28 * usd},
		"deepseek-reasoner":  {0.14 * usd, 0.0028 * usd, 0, 0.28 * usd},
	}
	ps.Alias("claude-opus-4-5", "claude-opus-4-5-20251101")
	ps.Alias("claude-opus-4-1", "claude-opus-4-1-20250805")
	ps.Alias("claude-opus-4-0", "claude-opus-4-20250514")
	ps.Alias("claude-sonnet-4-5", "claude-sonnet-4-5-20250929")
	ps.Alias("claude-sonnet-4-0", "claude-sonnet-4-20250514")
	ps.Alias("claude-haiku-4-5", "claude-haiku-4-5-20251001")
	ps.Alias("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20")
	return ps
}

// Alias adds other names of a model, with the price that the table has for its name. It does
// nothing if the table has none.
func (ps Prices) Alias(model string, names ...string) {
	if p, ok := ps[model]; ok {
		for _, name := range names {
			ps[name] = p
		}
	}
}

// Find returns the price of the model with exactly this name. False means that its price is
// unknown.
func (ps Prices) Find(model string) (Price, bool) {
	p, ok := ps[model]
	return p, ok && model != ""
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
