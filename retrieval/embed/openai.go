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

// OpenAIConfig says which model on which server. Only Model is required.
type OpenAIConfig struct {
	Model   string // as the server names it
	BaseURL string // up to and including /v1; empty means OpenAI's own
	Key     string // sent as a bearer token; empty means none, which suits local servers
	Version string // becomes part of the embedder's name; change it when the server has another model under the same name

	// Dimensions asks for vectors of so many components, which some models can shorten; 0 means the
	// model's own.
	Dimensions int
	// Prefixes are put before texts; nil means what the model's name is known to want, see
	// [PrefixesOf].
	Prefixes *Prefixes
	// MaxText is how many bytes of a text are embedded, the rest is not seen; 0 means 16 KiB.
	MaxText int

	Batch       int           // texts of one request; 0 means 64
	Concurrency int           // requests at a time of one call of Embed; 0 means 2
	Retries     int           // how often a failed request is sent again; 0 means 4, less than 0 never
	MaxWait     time.Duration // the longest wait that a server may ask for before another try; 0 means a minute
	Timeout     time.Duration // of one request; 0 means two minutes

	Headers    map[string]string // more request headers
	HTTPClient *http.Client      // nil means a client on http.DefaultTransport that follows no redirects
}

// OpenAI is an embedder that asks a server with OpenAI's embeddings API: POST /embeddings. It is
// safe for concurrent use.
//
// Texts go in batches, several at a time. A request that fails for a reason that passes is sent
// again, after as long as the server asks for. Vectors come as base64 where the server can, and are
// put into the order of the texts by the indices that the server gives. An answer is refused when
// it is too large, when there is not one vector for each text, or when a vector is no embedding: of
// another number of components than the others, not finite, or all zeros.
type OpenAI struct {
	cfg    OpenAIConfig
	url    string
	client *http.Client
	prep   preparation
	dim    atomic.Int64 // 0 while that is not known
	plain  atomic.Bool  // the server takes no encoding_format
	sleep  func(ctx context.Context, d time.Duration) error
}

var _ retrieval.Embedder = (*OpenAI)(nil)

// NewOpenAI makes an embedder. Nothing is sent before the first text is embedded.
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

// Name says what decides the vectors of documents. The server's address is no part of it: a model
// is the same wherever it runs.
func (o *OpenAI) Name() string {
	model := "openai " + o.cfg.Model
	if o.cfg.Version != "" {
		model += " " + o.cfg.Version
	}
	return o.prep.name(strings.Join(strings.Fields(model), " "), o.cfg.Dimensions)
}

// Dim is the number of components of a vector, 0 before the first answer unless Dimensions says it.
func (o *OpenAI) Dim() int { return int(o.dim.Load()) }

// Embed returns a vector for each text; see [retrieval.Embedder]. An error of the server is a
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

// batch asks for the vectors of some texts, again when the reason of a failure passes.
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
