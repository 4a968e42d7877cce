package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// Config configures how a model is served. The zero value serves without limits and without a key.
type Config struct {
	Name string // the model's id for clients; empty means the model's own name
	// Aliases are further names that clients may use for the model. "*" accepts every name. A
	// request for another model is refused with status 404; one without a name is answered.
	Aliases       []string
	MaxConcurrent int    // answers that are generated at once; 0 means no limit
	Queue         int    // requests that may wait for their turn; more are refused with 429
	MaxBody       int64  // bytes of a request; 0 means 32 MiB
	Key           string // a bearer token that clients must send; empty means none
	// MaxChoices limits n, the answers that one request may ask for; 0 means 8. Each is a call of
	// the model. Further choices run at once if MaxConcurrent leaves places, and otherwise one by
	// one.
	MaxChoices int
	// Origins lists the web origins whose pages may call the server from a browser (CORS), such as
	// "https://app.example" or "http://localhost:3000". "*" allows every origin, without
	// credentials. Requests of other origins are refused with status 403. Empty adds no headers and
	// refuses nothing.
	Origins []string
	// Heartbeat is the time after which a silent stream sends a comment, so that proxies keep the
	// connection open; 0 means 15 s.
	Heartbeat time.Duration
	// WriteTimeout limits the time in which a client must receive each piece of an answer. After
	// that it is dropped and its place is free. 0 means a minute. WriteTimeout replaces the one of
	// http.Server, which limits whole answers.
	WriteTimeout time.Duration
	// Metrics adds the model's own metrics to /metrics; see EachMetric of router/moe's Model, which
	// has this signature.
	Metrics func(emit func(name, help string, counter bool, labels map[string]string, value float64))

	Logger *slog.Logger     // nil means no logging
	Now    func() time.Time // nil means time.Now
	NewID  func() string    // ids of answers; nil means random ones
}

// Tokenizer is implemented by models that can be asked for tokens over HTTP.
type Tokenizer interface {
	Tokenize(text string, special bool) []int32
	Detokenize(tokens []int32) string
}

// Server is an http.Handler that serves one model.
type Server struct {
	model   agent.Model
	cfg     Config
	mux     *http.ServeMux
	gate    *gate
	metrics *metrics
	origins origins
	born    int64
}

// New checks cfg and returns the handler.
func New(m agent.Model, cfg Config) (*Server, error) {
	if m == nil {
		return nil, errors.New("serve: new: the model is nil")
	}
	if cfg.MaxConcurrent < 0 || cfg.Queue < 0 || cfg.MaxBody < 0 || cfg.MaxChoices < 0 {
		return nil, errors.New("serve: new: MaxConcurrent, Queue, MaxBody and MaxChoices must not be negative")
	}
	origins, err := newOrigins(cfg.Origins)
	if err != nil {
		return nil, err
	}
	if cfg.MaxChoices == 0 {
		cfg.MaxChoices = 8
	}
	if cfg.Name == "" {
		cfg.Name = agent.ModelName(m)
	}
	if cfg.Name == "" {
		cfg.Name = "luthier"
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 32 << 20
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{model: m, cfg: cfg, mux: http.NewServeMux(), gate: newGate(cfg.MaxConcurrent, cfg.Queue), origins: origins, born: cfg.Now().Unix()}
	s.metrics = newMetrics(s)
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /v1/models/{id...}", s.oneModel)
	s.mux.Handle("GET /metrics", s.metrics.handler)
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	if t, ok := s.model.(Tokenizer); ok {
		s.mux.HandleFunc("POST /tokenize", s.tokenize(t))
		s.mux.HandleFunc("POST /detokenize", s.detokenize(t))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFailure(w, &failure{status: http.StatusNotFound, kind: "invalid_request_error", code: "unknown_url",
			message: "no such endpoint: " + r.Method + " " + r.URL.Path + "; there are POST /v1/chat/completions, GET /v1/models, /health and /metrics"})
	})
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answered := s.origins.answer(w, r); answered {
		return
	}
	if !s.allowed(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeFailure(w, &failure{status: http.StatusUnauthorized, kind: "authentication_error", code: "invalid_api_key",
			message: "wrong or missing API key; send it as a bearer token"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// allowed reports whether the request carries the key. Health checks need none.
func (s *Server) allowed(r *http.Request) bool {
	if s.cfg.Key == "" || r.URL.Path == "/health" {
		return true
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return subtle.ConstantTimeCompare([]byte(key), []byte(s.cfg.Key)) == 1
}

// tokenize accepts {"content": text, "special": true}, as llama.cpp's server does.
func (s *Server) tokenize(t Tokenizer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := struct {
			Content string `json:"content"`
			Special *bool  `json:"special"`
		}{}
		if !s.readJSON(w, r, &in) {
			return
		}
		tokens := t.Tokenize(in.Content, in.Special == nil || *in.Special)
		if tokens == nil {
			tokens = []int32{}
		}
		writeJSON(w, http.StatusOK, map[string]any{"tokens": tokens})
	}
}

func (s *Server) detokenize(t Tokenizer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := struct {
			Tokens []int32 `json:"tokens"`
		}{}
		if s.readJSON(w, r, &in) {
			writeJSON(w, http.StatusOK, map[string]any{"content": t.Detokenize(in.Tokens)})
		}
	}
}

// readJSON decodes a body. If the body is invalid, it answers with the error and returns false.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.cfg.MaxBody)).Decode(v)
	if err != nil {
		writeFailure(w, badBody(err))
	}
	return err == nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func randomID() string {
	var b [12]byte
	rand.Read(b[:])
	return "chatcmpl-" + hex.EncodeToString(b[:])
}

// enter waits for a place, or returns the reason why there is none.
func (s *Server) enter(ctx context.Context) (leave func(), f *failure) {
	leave, wait, err := s.gate.enter(ctx)
	switch {
	case err == nil:
		return leave, nil
	case errors.Is(err, errFull):
		s.metrics.refused.Inc()
		return nil, &failure{status: http.StatusTooManyRequests, kind: "rate_limit_error", code: "rate_limit_exceeded", retryAfter: wait,
			message: "every place is taken and the queue is full; try again after the time in Retry-After"}
	default:
		if clientLeft(ctx, err) {
			s.metrics.aborted()
		}
		return nil, &failure{status: statusClientGone, kind: "timeout", message: err.Error()}
	}
}
