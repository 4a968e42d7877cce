package embed

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

func TestMain(m *testing.M) { tier.Main(m) }

// server answers embeddings requests with the function edit, or correctly if edit is nil.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	got  []request
	busy atomic.Int64
	most atomic.Int64 // maximum of concurrent requests
}

func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, body request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.most.Store(max(s.most.Load(), s.busy.Add(1)))
		defer s.busy.Add(-1)
		var body request
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != "POST" || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		s.mu.Lock()
		s.got = append(s.got, body)
		s.mu.Unlock()
		handle(w, r, body)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// vectorOf returns the embedding that the test servers return for a text.
func vectorOf(text string) []float32 {
	v := []float32{float32(len(text)) + 1, -0.1, 1e-7, 3e30}
	for i := range text {
		v[1] += float32(text[i]) / 7
	}
	return v
}

// answerWell writes the embeddings of all inputs, in reverse order, as base64 if requested.
func answerWell(w http.ResponseWriter, _ *http.Request, body request) {
	var data []map[string]any
	for i := len(body.Input) - 1; i >= 0; i-- {
		v := vectorOf(body.Input[i])
		var e any = v
		if body.Encoding == "base64" {
			b := make([]byte, 4*len(v))
			for j, x := range v {
				binary.LittleEndian.PutUint32(b[4*j:], math.Float32bits(x))
			}
			e = base64.StdEncoding.EncodeToString(b)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": e})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": body.Model, "usage": map[string]int{"total_tokens": 5}})
}

func newOpenAI(t *testing.T, s *server, cfg OpenAIConfig) *OpenAI {
	t.Helper()
	cfg.BaseURL = s.URL + "/v1"
	if cfg.Model == "" {
		cfg.Model = "test"
	}
	if cfg.HTTPClient == nil {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		cfg.HTTPClient = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	o, err := NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOpenAI checks that texts are embedded in batches, with prefixes and cut to length, and that
// the vectors are in the order of the texts.
func TestOpenAI(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, body request) {
		if got := r.Header.Get("Authorization") + r.Header.Get("X-More"); got != "Bearer secretyes" {
			t.Errorf("headers %q", got)
		}
		time.Sleep(5 * time.Millisecond) // so that requests overlap
		answerWell(w, r, body)
	})
	o := newOpenAI(t, s, OpenAIConfig{Model: "nomic-embed-text", Key: "secret", Headers: map[string]string{"X-More": "yes"}, Batch: 3, Concurrency: 2, Dimensions: 4, MaxText: 9})
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("<é%d>", i))
	}
	texts[7] = "1234567é and more"
	for kind, prefix := range map[retrieval.EmbedKind]string{retrieval.EmbedDocument: "search_document: ", retrieval.EmbedQuery: "search_query: "} {
		got, err := o.Embed(t.Context(), texts, kind)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]float32
		for i, x := range texts {
			if i == 7 {
				x = "1234567é"
			}
			want = append(want, vectorOf(prefix+x))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	if s.most.Load() != 2 || len(s.got) != 14 {
		t.Errorf("%d requests at a time, %d in all", s.most.Load(), len(s.got))
	}
	for _, r := range s.got {
		if r.Model != "nomic-embed-text" || r.Dimensions != 4 || r.Encoding != "base64" || len(r.Input) > 3 {
			t.Errorf("%+v", r)
		}
	}
	if o.Name() != `openai nomic-embed-text, texts to 9 bytes after "search_document: ", 4 components` || o.Dim() != 4 {
		t.Errorf("%s, %d", o.Name(), o.Dim())
	}
}

// TestPlainNumbers checks that a request is sent again without encoding_format if the server does
// not support it, and that all later requests omit it.
func TestPlainNumbers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, body request) {
		if body.Encoding != "" {
			http.Error(w, `{"error":{"message":"unknown field encoding_format"}}`, 400)
			return
		}
		answerWell(w, r, body)
	})
	o := newOpenAI(t, s, OpenAIConfig{})
	for range 3 {
		got, err := o.Embed(t.Context(), []string{"abc", "d"}, retrieval.EmbedQuery)
		if d := cmp.Diff([][]float32{vectorOf("abc"), vectorOf("d")}, got); d != "" || err != nil {
			t.Fatal(err, d)
		}
	}
	if len(s.got) != 4 || o.Dim() != 4 {
		t.Errorf("%d requests, Dim %d", len(s.got), o.Dim())
	}
	if none, err := o.Embed(t.Context(), nil, retrieval.EmbedQuery); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}

// TestTriesAgain checks that a request is sent again after a temporary failure, after the wait that
// the server asks for.
func TestTriesAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		fail  func(w http.ResponseWriter)
		tries int           // in total; 3 means until it succeeds
		wait  time.Duration // before the second try; 0 for any
	}{
		{"limited", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, 3, 7 * time.Second},
		{"limited in milliseconds", func(w http.ResponseWriter) { w.Header().Set("Retry-After-Ms", "20"); w.WriteHeader(429) }, 3, 20 * time.Millisecond},
		{"limited for long", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7200"); w.WriteHeader(429) }, 1, 0},
		{"out of quota", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"x","code":"insufficient_quota"}}`, 429)
		}, 1, 0},
		{"overloaded", func(w http.ResponseWriter) { w.WriteHeader(503) }, 3, 0},
		{"broken", func(w http.ResponseWriter) { w.WriteHeader(500) }, 3, 0},
		{"too long for llama.cpp", func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"input is too large to process. increase the physical batch size"}}`, 500)
		}, 1, 0},
		{"unknown model", func(w http.ResponseWriter) { w.WriteHeader(404) }, 1, 0},
		{"wrong key", func(w http.ResponseWriter) { w.WriteHeader(401) }, 1, 0},
		{"refused", func(w http.ResponseWriter) { w.WriteHeader(400) }, 1, 0},
		{"elsewhere", func(w http.ResponseWriter) { w.Header().Set("Location", "/v2"); w.WriteHeader(308) }, 1, 0},
		{"connection lost", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 3, 0},
		{"answer cut off", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, `{"data":[`)
			panic(http.ErrAbortHandler)
		}, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request, body request) {
				if n.Add(1) < 3 {
					c.fail(w)
					return
				}
				answerWell(w, r, body)
			})
			o := newOpenAI(t, s, OpenAIConfig{})
			var waits []time.Duration
			o.sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
			got, err := o.Embed(t.Context(), []string{"abc"}, retrieval.EmbedDocument)
			if int(n.Load()) != c.tries || (err == nil) != (c.tries == 3) || err == nil && len(got) != 1 {
				t.Fatalf("%d tries, %v", n.Load(), err)
			}
			if c.tries == 3 && (len(waits) != 2 || waits[0] <= 0 || c.wait > 0 && waits[0] != c.wait) {
				t.Errorf("waited %v", waits)
			}
		})
	}
}

// TestGivesUp checks that a call ends after the last retry, and immediately if it may not retry.
func TestGivesUp(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) {
		n.Add(1)
		w.Header().Set("Retry-After-Ms", "1")
		http.Error(w, `{"error":{"message":"busy\u0007 with\nother  things"}}`, 503)
	})
	for retries, want := range map[int]int64{-1: 1, 2: 3, 0: 5} {
		n.Store(0)
		_, err := newOpenAI(t, s, OpenAIConfig{Retries: retries}).Embed(t.Context(), []string{"abc"}, retrieval.EmbedDocument)
		e, ok := errors.AsType[*Error](err)
		if !ok || n.Load() != want || e.Refused() {
			t.Fatalf("Retries %d: %d tries, %v", retries, n.Load(), err)
		}
		if d := cmp.Diff(Error{503, "busy with other things", time.Millisecond}, *e); d != "" {
			t.Error(d)
		}
	}
}

// TestHostileAnswers checks that responses that are not embeddings are refused with a clear reason,
// and that the request is never sent again.
//
// Evidence: retrieval · Hostile answers of an embedding server are refused
func TestHostileAnswers(t *testing.T) {
	b64 := func(bits ...uint32) string {
		var b []byte
		for _, x := range bits {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	two := func(a, b string) string {
		return `{"data":[{"index":0,"embedding":` + a + `},{"index":1,"embedding":` + b + `}]}`
	}
	for _, c := range []struct{ name, body, words string }{
		{"empty", ``, "no JSON"},
		{"page", `<html>login</html>`, "no JSON"},
		{"list", `[]`, "no JSON"},
		{"nothing", `{}`, "0 embeddings for 2"},
		{"error in a success", `{"error":{"message":"model is loading"}}`, "model is loading"},
		{"too few", `{"data":[{"index":0,"embedding":[1]}]}`, "1 embeddings for 2"},
		{"too many", `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, "3 embeddings for 2"},
		{"index twice", `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "index 1"},
		{"index beyond", `{"data":[{"index":2,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "index 2"},
		{"index below", `{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "index -1"},
		{"index too large", `{"data":[{"index":99999999999999999999,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "no JSON"},
		{"sizes", two(`[1,2]`, `[1,2,3]`), "3 components, want 2"},
		{"no components", two(`[]`, `[]`), "0 components"},
		{"zeros", two(`[0,0]`, `[1,2]`), "zero"},
		{"null", two(`null`, `[1,2]`), "neither"},
		{"null inside", two(`[1,null]`, `[1,2]`), "neither"},
		{"words", two(`["a"]`, `[1]`), "no array of numbers"},
		{"nested", two(`[[1,2]]`, `[[1,2]]`), "no array of numbers"},
		{"beyond float32", two(`[1e39]`, `[1]`), "no array of numbers"},
		{"object", two(`{}`, `[1]`), "neither"},
		{"base64 damaged", two(`"????"`, `[1]`), "damaged"},
		{"base64 cut", two(`"AAAA"`, `[1]`), "whole float32"},
		{"base64 NaN", two(b64(0x7fc00000, 0x3f800000), `[1,2]`), "NaN"},
		{"base64 infinite", two(b64(0x3f800000, 0xff800000), `[1,2]`), "-Inf"},
		{"base64 huge", two(b64(make([]uint32, maxDim+1)...), `[1]`), "components"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ request) { io.WriteString(w, c.body) })
			got, err := newOpenAI(t, s, OpenAIConfig{}).Embed(t.Context(), []string{"a", "b"}, retrieval.EmbedDocument)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, %v", got, err)
			}
			if len(s.got) != 1 {
				t.Errorf("%d requests", len(s.got))
			}
		})
	}
}

// TestEndlessAnswers checks that endless responses are not read on: bodies, errors, and headers
// that never come.
func TestEndlessAnswers(t *testing.T) {
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, r *http.Request) {
		line := []byte(strings.Repeat(" ", 1<<16))
		for r.Context().Err() == nil {
			n, err := w.Write(line)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ request) { endless(w, r) })
	if _, err := newOpenAI(t, s, OpenAIConfig{Dimensions: 8}).Embed(t.Context(), []string{"a"}, retrieval.EmbedDocument); !errors.Is(err, errLarge) {
		t.Error(err)
	}
	s = serve(t, func(w http.ResponseWriter, r *http.Request, _ request) { w.WriteHeader(400); endless(w, r) })
	if _, err := newOpenAI(t, s, OpenAIConfig{}).Embed(t.Context(), []string{"a"}, retrieval.EmbedDocument); err == nil || len(err.Error()) > 500 {
		t.Error(err)
	}
	if sent.Load() > 64<<20 {
		t.Errorf("%d bytes were sent", sent.Load())
	}
	s = serve(t, func(_ http.ResponseWriter, r *http.Request, _ request) { <-r.Context().Done() })
	_, err := newOpenAI(t, s, OpenAIConfig{Timeout: 30 * time.Millisecond, Retries: -1}).Embed(t.Context(), []string{"a"}, retrieval.EmbedDocument)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestCancelled checks that a call that waits for the server or for a retry ends with the cause of
// the context.
func TestCancelled(t *testing.T) {
	why := errors.New("the host closes")
	for name, handle := range map[string]func(http.ResponseWriter, *http.Request){
		"waiting for an answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"waiting to try again":  func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "30"); w.WriteHeader(429) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ request) {
				time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
				handle(w, r)
			})
			_, err := newOpenAI(t, s, OpenAIConfig{Batch: 1}).Embed(ctx, []string{"a", "b", "c"}, retrieval.EmbedDocument)
			if !errors.Is(err, why) {
				t.Error(err)
			}
		})
	}
}

// TestOneBatchFails checks that the error of the failed batch is returned and the other batches are
// stopped.
func TestOneBatchFails(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, body request) {
		if body.Input[0] == "bad" {
			http.Error(w, `{"error":"no"}`, 400)
			return
		}
		<-r.Context().Done()
	})
	_, err := newOpenAI(t, s, OpenAIConfig{Batch: 1}).Embed(t.Context(), []string{"good", "bad", "good", "good"}, retrieval.EmbedDocument)
	if e, ok := errors.AsType[*Error](err); !ok || !e.Refused() || e.Message != "no" {
		t.Error(err)
	}
}

// TestNewOpenAIRefuses checks that invalid settings are refused.
func TestNewOpenAIRefuses(t *testing.T) {
	for _, cfg := range []OpenAIConfig{
		{}, {Model: "x", BaseURL: "localhost:8080"}, {Model: "x", BaseURL: "ftp://x/v1"}, {Model: "x", BaseURL: "http://"},
		{Model: "x", BaseURL: "http://%zz"}, {Model: "x", Dimensions: -1}, {Model: "x", Dimensions: 1 << 20},
	} {
		if o, err := NewOpenAI(cfg); err == nil {
			t.Errorf("%+v made %s", cfg, o.Name())
		}
	}
}

// TestPrefixesOf checks names as hubs and servers write them.
func TestPrefixesOf(t *testing.T) {
	got := map[string]string{}
	for _, name := range []string{"nomic-ai/nomic-embed-text-v1.5", "nomic-embed-text:latest", "intfloat/multilingual-e5-large", "intfloat/e5-base-v2",
		"BAAI/bge-small-en-v1.5", "BAAI/bge-m3", "snowflake-arctic-embed:137m", "text-embedding-3-small", "Qwen3-Embedding-0.6B-Q8_0.gguf"} {
		p := PrefixesOf(name)
		got[name] = p.Query + "|" + p.Document
	}
	want := map[string]string{
		"nomic-ai/nomic-embed-text-v1.5": "search_query: |search_document: ",
		"nomic-embed-text:latest":        "search_query: |search_document: ",
		"intfloat/multilingual-e5-large": "query: |passage: ",
		"intfloat/e5-base-v2":            "query: |passage: ",
		"BAAI/bge-small-en-v1.5":         askPassages + "|",
		"BAAI/bge-m3":                    "|",
		"snowflake-arctic-embed:137m":    askPassages + "|",
		"text-embedding-3-small":         "|",
		"Qwen3-Embedding-0.6B-Q8_0.gguf": "Instruct: Given a search query, retrieve relevant code that answers the query\nQuery:|",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzAnswer parses arbitrary bytes as a response. If they are accepted, the result is n vectors of
// the same size without NaN.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"index":1,"embedding":[1,-2.5e3]},{"index":0,"embedding":"AACAPwAAAEA="}]}`,
		`{"data":[{"embedding":[0.1]},{"embedding":[0.2]}],"model":"x"}`,
		`{"error":{"message":"x"}}`, `{"data":[{"index":null,"embedding":"AAAA"}]}`, `{"data":null}`,
	} {
		f.Add([]byte(body), 2, 0)
		f.Add([]byte(body), 1, 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, n, dim int) {
		if n < 0 || n > 1000 || dim < 0 {
			return
		}
		vectors, err := parseAnswer(body, n, dim)
		if err != nil {
			return
		}
		if len(vectors) != n {
			t.Fatalf("%d vectors for %d texts", len(vectors), n)
		}
		for _, v := range vectors {
			if len(v) != len(vectors[0]) || dim != 0 && len(v) != dim {
				t.Fatalf("%d components", len(v))
			}
			for _, x := range v {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatal(x)
				}
			}
		}
	})
}
