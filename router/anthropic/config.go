package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

const provider = "anthropic"

// Config selects the model and how to reach it. Only Model is required.
type Config struct {
	Model   string // such as "claude-sonnet-4-5"
	APIKey  string // empty means the environment variable ANTHROPIC_API_KEY
	BaseURL string // empty means ANTHROPIC_BASE_URL, else the provider's own URL; a trailing "/v1" is ignored

	HTTPClient *http.Client // nil means http.DefaultClient; a client with a Timeout cuts long streams
	Headers    http.Header  // added to every request, such as "Anthropic-Beta" or "Authorization"

	MaxOutput int      // limit of output tokens if the request sets none; 0 means a default by model
	Thinking  Thinking // how [agent.Request.Effort] is sent; empty chooses by model
	// ThinkingDisplay is "summarized" or "omitted": whether thinking text is shown. If empty, the
	// model decides: newer ones omit the text and send only its signature.
	ThinkingDisplay string

	DisableCache bool          // send no prompt-cache markers
	CacheTTL     time.Duration // 0 or 5 minutes, or one hour

	// OutputByTool asks for structured output by forcing a call of a tool with the wanted schema,
	// instead of with output_config.format, for models and servers that lack the latter. The call's
	// arguments are streamed as text.
	OutputByTool bool
	// ServerTools are declarations of tools that run on the provider's side. They are sent
	// unchanged before the request's tools.
	ServerTools []json.RawMessage
	// Extra is merged into every request body; [agent.Request.Extra] wins over it.
	Extra map[string]json.RawMessage
}

// Model is a Claude model. It is safe for concurrent use.
type Model struct {
	cfg     Config
	client  sdk.Client
	family  family
	thinker string // whose reasoning the server accepts back, see agent.Thinking
	schemas schemaCache
	fit     atomic.Pointer[fit] // the form in which the server takes histories
}

var _ agent.Model = (*Model)(nil)

// New returns a model, or an error that names the invalid field of cfg. It reads the environment
// and sends nothing.
func New(cfg Config) (*Model, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("anthropic: new model: %w", err)
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // the environment was read once, above
		option.WithMaxRetries(0),            // the loop retries, and reports it to the host
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(limitErrorBody),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(cfg.BaseURL))
	}
	if cfg.HTTPClient != nil {
		opts = append(opts, option.WithHTTPClient(cfg.HTTPClient))
	}
	for name, values := range cfg.Headers {
		opts = append(opts, option.WithHeaderDel(name))
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	m := &Model{cfg: cfg, client: sdk.NewClient(opts...), family: parseFamily(cfg.Model)}
	m.thinker = m.signer()
	m.fit.Store(&fit{unsigned: m.thinker != provider, ids: wire.IDRule{Max: maxID}})
	return m, nil
}

// signer names who signs the model's reasoning. A signature by one of the provider's own models is
// valid wherever they are served; signatures by other servers of this API are valid only there.
func (m *Model) signer() string {
	if u, err := url.Parse(m.cfg.BaseURL); err == nil && !m.family.claude && u.Host != "" {
		return provider + "@" + u.Host
	}
	return provider
}

// fill sets the fields that come from the environment and checks every field.
func (c *Config) fill() error {
	if c.Model == "" {
		return errors.New("Model is empty; name one, such as \"claude-sonnet-4-5\"")
	}
	if c.APIKey == "" {
		c.APIKey = os.Getenv("ANTHROPIC_API_KEY")
	}
	ownServer := c.BaseURL != ""
	if c.BaseURL == "" {
		c.BaseURL = os.Getenv("ANTHROPIC_BASE_URL")
	}
	if c.BaseURL != "" {
		base, err := cleanBaseURL(c.BaseURL)
		if err != nil {
			return err
		}
		c.BaseURL = base
	}
	if c.APIKey == "" && !ownServer && c.Headers.Get("Authorization") == "" && c.Headers.Get("X-Api-Key") == "" {
		return errors.New("APIKey is empty and ANTHROPIC_API_KEY is not set")
	}
	return c.check()
}

func (c *Config) check() error {
	switch {
	case c.MaxOutput < 0:
		return fmt.Errorf("MaxOutput is %d; it must not be negative", c.MaxOutput)
	case !c.Thinking.valid():
		return fmt.Errorf("Thinking is %q; use one of the Thinking constants", c.Thinking)
	case c.ThinkingDisplay != "" && c.ThinkingDisplay != "summarized" && c.ThinkingDisplay != "omitted":
		return fmt.Errorf("ThinkingDisplay is %q; use \"summarized\" or \"omitted\"", c.ThinkingDisplay)
	case c.CacheTTL != 0 && c.CacheTTL != 5*time.Minute && c.CacheTTL != time.Hour:
		return fmt.Errorf("CacheTTL is %v; the provider offers 5 minutes and one hour", c.CacheTTL)
	}
	for i, tool := range c.ServerTools {
		if !wire.IsObject(tool) {
			return fmt.Errorf("ServerTools[%d] is not a JSON object", i)
		}
	}
	for key, value := range c.Extra {
		if !json.Valid(value) {
			return fmt.Errorf("Extra[%q] is not valid JSON", key)
		}
	}
	return nil
}

// cleanBaseURL drops the version, which the SDK adds itself but many configurations include.
func cleanBaseURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("BaseURL is %q; it must be an http or https address", raw)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/"
	return u.String(), nil
}
