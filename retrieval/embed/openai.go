package embed

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
	"github.com/luthier-dev/luthier/retrieval"
)

// OpenAIConfig selects a model on a server. Only Model is required.
type OpenAIConfig struct {
	Model   string // as named by the server
	BaseURL string // up to and including /v1; empty means OpenAI's server
	Key     string // sent as a bearer token; empty means none, which suits local servers
	Version string // becomes part of the embedder's name; change it if the server replaces the model under the same name

	// Dimensions requests vectors with this number of components, which some models support; 0
	// means the model's default.
	Dimensions int
	// Prefixes are put before texts; nil means those known for the model's name, see [PrefixesOf].
	Prefixes *Prefixes
	// MaxText limits the bytes of a text that are embedded; the rest is ignored. 0 means 16 KiB.
	MaxText int

	Batch       int           // texts per request; 0 means 64
	Concurrency int           // concurrent requests of one call of Embed; 0 means 2
	Retries     int           // retries of a failed request; 0 means 4, negative means none
	MaxWait     time.Duration // the longest wait that a server may ask for before a retry; 0 means a minute
	Timeout     time.Duration // of one request; 0 means two minutes

	Headers    map[string]string // additional request headers
	HTTPClient *http.Client      // nil means a client on http.DefaultTransport that follows no redirects
}

// OpenAI is an embedder that uses a server with OpenAI's embeddings API: POST /embeddings. An
// OpenAI is safe for concurrent use.
//
// Texts are sent in batches, several at a time. A request that fails for a temporary reason is sent
// again, after the wait that the server asks for. Vectors are requested as base64 if the server
// supports it, and are put into the order of the texts by the indices in the response. A response
// is refused if it is too large, if it does not have exactly one vector for each text, or if a
// vector is not a valid embedding: it has a different number of components than the others, is not
// finite, or is all zeros.
type OpenAI struct {
	cfg    OpenAIConfig
	url    string
	client *http.Client
	prep   preparation
	dim    atomic.Int64 // 0 while not known
	plain  atomic.Bool  // the server does not support encoding_format
	sleep  func(ctx context.Context, d time.Duration) error
}

var _ retrieval.Embedder = (*OpenAI)(nil)

// NewOpenAI returns an embedder. Nothing is sent before the first text is embedded.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	if cfg.Model == "" {
		return nil, fmt.Errorf("embed: new OpenAI embedder: OpenAIConfig.Model is empty; vectors are kept under its name")
	}
	if cfg.Dimensions < 0 || cfg.Dimensions > maxDim {
		return nil, fmt.Errorf("embed: new OpenAI embedder: OpenAIConfig.Dimensions is %d, want 0 to %d", cfg.Dimensions, maxDim)
	}
	cfg.setDefaults()
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("embed: new OpenAI embedder: OpenAIConfig.BaseURL %q is no http address; give one such as http://127.0.0.1:8080/v1", cfg.BaseURL)
	}
	o := &OpenAI{cfg: cfg, url: base.JoinPath("embeddings").String(), client: cfg.HTTPClient, prep: newPreparation(cfg.Model, cfg.Prefixes, cfg.MaxText), sleep: wait.For}
	if o.client == nil {
		o.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	o.dim.Store(int64(cfg.Dimensions))
	return o, nil
}

func (c *OpenAIConfig) setDefaults() {
	if c.BaseURL == "" {
		c.BaseURL = "https://api.openai.com/v1"
	}
	if c.Batch < 1 {
		c.Batch = 64
	}
	if c.Concurrency < 1 {
		c.Concurrency = 2
	}
	if c.Retries == 0 {
		c.Retries = 4
	}
	if c.MaxWait <= 0 {
		c.MaxWait = time.Minute
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Minute
	}
}

// Name identifies everything that determines the vectors of documents. The server's address is not
// part of it: a model is the same wherever it runs.
func (o *OpenAI) Name() string {
	model := "openai " + o.cfg.Model
	if o.cfg.Version != "" {
		model += " " + o.cfg.Version
	}
	return o.prep.name(strings.Join(strings.Fields(model), " "), o.cfg.Dimensions)
}

// Dim returns the number of components of a vector. It is 0 before the first response unless
// Dimensions sets it.
func (o *OpenAI) Dim() int { return int(o.dim.Load()) }

// Embed returns a vector for each text; see [retrieval.Embedder]. An error from the server is an
// *[Error].
func (o *OpenAI) Embed(ctx context.Context, texts []string, kind retrieval.EmbedKind) ([][]float32, error) {
	texts = o.prep.apply(texts, kind)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	vectors := make([][]float32, len(texts))
	var wg sync.WaitGroup
	free := make(chan struct{}, o.cfg.Concurrency)
	for lo := 0; lo < len(texts); lo += o.cfg.Batch {
		hi := min(len(texts), lo+o.cfg.Batch)
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			defer func() { <-free }()
			got, err := o.batch(ctx, texts[lo:hi])
			if err != nil {
				cancel(err)
			}
			copy(vectors[lo:hi], got)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("embed: embed %d texts with %s: %w", len(texts), o.cfg.Model, context.Cause(ctx))
	}
	return vectors, nil
}

// batch requests the vectors of some texts, retrying after temporary failures.
func (o *OpenAI) batch(ctx context.Context, texts []string) ([][]float32, error) {
	for try := 0; ; try++ {
		vectors, err := o.ask(ctx, texts)
		if err == nil || ctx.Err() != nil {
			return vectors, err
		}
		wait, again := o.again(err, try)
		if !again {
			return nil, err
		}
		if err := o.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}
