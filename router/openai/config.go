package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent"
)

// API names a wire protocol.
type API string

// The protocols.
const (
	Chat      API = "chat"      // POST /chat/completions; the default
	Responses API = "responses" // POST /responses
)

// TokensField is the name of the field of a chat request that limits the answer.
type TokensField string

// The fields. OpenAI's reasoning models refuse the old one; many other servers ignore the new one.
const (
	TokensAuto          TokensField = ""                      // the new one for OpenAI and Azure, the old one elsewhere
	MaxTokens           TokensField = "max_tokens"            // the old one
	MaxCompletionTokens TokensField = "max_completion_tokens" // the new one
)

// ReasoningField selects how reasoning is sent back to a chat server with the message it belongs
// to.
type ReasoningField string

// The values. Reasoning that another provider signed is never sent. With ReasoningAuto a server
// that demands reasoning which is not there gets a placeholder, and one that refuses it gets none.
const (
	ReasoningAuto    ReasoningField = ""                  // nothing for OpenAI, Azure, Mistral and Google, "reasoning" for OpenRouter, Groq and Cerebras, else "reasoning_content"
	ReasoningContent ReasoningField = "reasoning_content" // as DeepSeek, Kimi, vLLM, SGLang and llama.cpp accept it
	ReasoningPlain   ReasoningField = "reasoning"         // as OpenRouter and newer vLLM accept it
	ReasoningOff     ReasoningField = "off"               // nothing
)

// Config selects the model and the server. Only Model is required.
type Config struct {
	Model   string // as the server names it
	API     API    // empty means Chat
	BaseURL string // up to and including /v1; empty means OPENAI_BASE_URL, else OpenAI
	// APIKey is sent as a bearer token. Empty means OPENAI_API_KEY, read once in New. If neither is
	// set no key is sent, which suits local servers.
	APIKey string
	NoKey  bool // send no key, even when OPENAI_API_KEY is set

	Headers    map[string]string      // more request headers
	HTTPClient *http.Client           // nil means a client on http.DefaultTransport without a timeout
	Options    []option.RequestOption // options of the SDK, applied last

	TokensField TokensField
	Reasoning   ReasoningField // Chat only; see Encrypted for Responses
	SystemRole  string         // role of the system prompt in Chat: "system" (default) or "developer"
	StrictTools bool           // enforce tool schemas on the server (strict mode), where the schema allows it
	// Encrypted asks the Responses API for encrypted reasoning, to be replayed with the next
	// request. Nil means yes for models that are reasoning models by name (o1 to o9, gpt-5 and
	// later, codex); others refuse it.
	Encrypted *bool
	// Summary asks the Responses API to show its reasoning: "auto", "concise" or "detailed". Empty
	// asks for none. OpenAI sends summaries only to verified organisations.
	Summary string
	// CacheKey sends Request.SessionID as prompt_cache_key. Nil enables it for OpenAI and Azure
	// only: some servers refuse unknown fields.
	CacheKey *bool

	MaxContext int              // the model's window in tokens, for Capabilities; 0 if unknown
	Now        func() time.Time // clock for interpreting dates in Retry-After; nil means time.Now
}

// Model is an [agent.Model] on an OpenAI-compatible server. It is safe for concurrent use.
type Model struct {
	cfg      Config
	client   sdk.Client
	official bool   // OpenAI itself or Azure
	thinker  string // whose reasoning the server accepts back, see agent.Thinking
	schemas  schemaCache
	fit      atomic.Pointer[fit] // the form in which the server takes histories
	linger   time.Duration       // see the constant
}

// New checks cfg and returns a model. It sends nothing.
func New(cfg Config) (*Model, error) {
	base, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("openai: new: %w", err)
	}
	m := &Model{cfg: cfg, linger: linger, official: officialHost(base.Hostname())}
	m.setDefaults()
	m.fit.Store(fitFor(&m.cfg, base.Hostname(), m.official))
	m.thinker = chatParts + "@" + base.Host
	if m.cfg.API == Responses {
		m.thinker = responseItems + "@" + base.Host
	}
	m.client = sdk.NewClient(m.options(base)...)
	return m, nil
}

// check validates c, fills in values from the environment, and returns the base URL.
func (c *Config) check() (*url.URL, error) {
	if c.Model == "" {
		return nil, errors.New("Config.Model is empty; name a model of the server, such as \"gpt-5\"")
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"API", string(c.API), []string{"", string(Chat), string(Responses)}},
		{"TokensField", string(c.TokensField), []string{"", string(MaxTokens), string(MaxCompletionTokens)}},
		{"Reasoning", string(c.Reasoning), []string{"", string(ReasoningContent), string(ReasoningPlain), string(ReasoningOff)}},
		{"SystemRole", c.SystemRole, []string{"", "system", "developer"}},
		{"Summary", c.Summary, []string{"", "auto", "concise", "detailed"}},
	} {
		if !contains(f.allowed, f.value) {
			return nil, fmt.Errorf("Config.%s is %q; it must be one of %q", f.name, f.value, f.allowed[1:])
		}
	}
	if c.NoKey && c.APIKey != "" {
		return nil, errors.New("Config.APIKey and Config.NoKey are both set; choose one")
	}
	if strings.ContainsAny(c.APIKey, "\r\n") {
		return nil, errors.New("Config.APIKey holds a line break; trim it")
	}
	if c.APIKey == "" && !c.NoKey {
		c.APIKey = strings.TrimSpace(os.Getenv("OPENAI_API_KEY"))
	}
	return c.baseURL()
}

func (c *Config) baseURL() (*url.URL, error) {
	name := "Config.BaseURL"
	if c.BaseURL == "" {
		if c.BaseURL = os.Getenv("OPENAI_BASE_URL"); c.BaseURL != "" {
			name = "the environment's OPENAI_BASE_URL"
		} else {
			c.BaseURL = "https://api.openai.com/v1"
		}
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%s %q is not an http or https address; give it as \"https://host/v1\"", name, c.BaseURL)
	}
	return u, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// officialHost reports whether a server belongs to the owners of the API, so that it accepts every
// field of it and refuses those of others.
func officialHost(host string) bool {
	for _, h := range []string{"openai.com", "azure.com", "azure.us", "azure.cn"} {
		if host == h || strings.HasSuffix(host, "."+h) {
			return true
		}
	}
	return false
}

func (m *Model) setDefaults() {
	c := &m.cfg
	if c.API == "" {
		c.API = Chat
	}
	if c.TokensField == TokensAuto {
		if c.TokensField = MaxTokens; m.official {
			c.TokensField = MaxCompletionTokens
		}
	}
	if c.SystemRole == "" {
		c.SystemRole = "system"
	}
	if c.Encrypted == nil {
		reasons := reasoningModel(c.Model)
		c.Encrypted = &reasons
	}
	if c.CacheKey == nil {
		c.CacheKey = &m.official
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// reasoningModel reports whether a model of OpenAI's is a reasoning model, by its name.
func reasoningModel(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if strings.Contains(name, "-chat") {
		return false
	}
	if strings.Contains(name, "codex") || strings.HasPrefix(name, "gpt-oss") {
		return true
	}
	if v, ok := strings.CutPrefix(name, "gpt-"); ok {
		return v != "" && v[0] >= '5' && v[0] <= '9'
	}
	return len(name) >= 2 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9'
}

// Name returns the model's name.
func (m *Model) Name() string { return m.cfg.Model }

// Capabilities returns what the backend can do. What a particular model cannot do, its server
// refuses.
func (m *Model) Capabilities() agent.Capabilities {
	c := agent.AllCapabilities()
	c.MaxContext = m.cfg.MaxContext
	c.RedactedThinking = false
	if m.cfg.API == Responses {
		c.Stop = false
		c.Notes = []string{"The Responses API has no stop texts and no seed: Stop is refused, Seed is ignored.",
			"Reasoning has text only when Config.Summary asks for it, or when an open model shows it."}
		return c
	}
	c.ThinkingReplay = false
	c.Notes = []string{"The chat API does not sign reasoning; Config.Reasoning says whether it goes back as text.",
		"Images in tool results are sent in a user message after the results."}
	return c
}
