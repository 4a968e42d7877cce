package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// request is the body of a request.
type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Encoding   string   `json:"encoding_format,omitempty"`
}

// ask sends one request and reads the response.
func (o *OpenAI) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	body := request{Model: o.cfg.Model, Input: texts, Dimensions: o.cfg.Dimensions, Encoding: "base64"}
	plain := o.plain.Load()
	if plain {
		body.Encoding = ""
	}
	res, err := o.post(ctx, body)
	if err != nil {
		return nil, &passing{err}
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		e := readError(res)
		if e.Refused() && !plain && strings.Contains(e.Message, "encoding_format") {
			o.plain.Store(true)
			return o.ask(ctx, texts)
		}
		return nil, e
	}
	data, err := readLimited(res.Body, o.answerLimit(len(texts)))
	if err != nil {
		return nil, err
	}
	vectors, err := parseAnswer(data, len(texts), o.Dim())
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", res.Request.URL.Host, err)
	}
	if len(vectors) > 0 {
		o.dim.CompareAndSwap(0, int64(len(vectors[0])))
	}
	return vectors, nil
}

// post sends the request body.
func (o *OpenAI) post(ctx context.Context, body request) (*http.Response, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, &b)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if o.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+o.cfg.Key)
	}
	for name, value := range o.cfg.Headers {
		req.Header.Set(name, value)
	}
	return o.client.Do(req)
}

// answerLimit returns the maximum size in bytes of the response for n texts: a number in JSON takes
// about twenty bytes.
func (o *OpenAI) answerLimit(n int) int64 {
	dim := o.Dim()
	if dim == 0 {
		dim = maxDim
	}
	return 64<<10 + int64(n)*(1<<10+32*int64(dim))
}

var errLarge = errors.New("the answer is larger than the vectors that were asked for can be")

// readLimited reads a body of at most limit bytes. An error in the middle of the body is retryable.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, &passing{fmt.Errorf("read the answer: %w", err)}
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", errLarge, limit)
	}
	return data, nil
}

// passing is a temporary error of the connection.
type passing struct{ error }

func (p *passing) Unwrap() error { return p.error }

// again reports whether to send a request again after err, and how long to wait first.
func (o *OpenAI) again(err error, try int) (wait time.Duration, again bool) {
	if try >= o.cfg.Retries {
		return 0, false
	}
	wait = time.Duration(float64(500*time.Millisecond<<min(try, 4)) * (0.75 + rand.Float64()/2))
	if e, ok := errors.AsType[*Error](err); ok {
		if e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
		return wait, e.passes() && e.RetryAfter <= o.cfg.MaxWait
	}
	_, again = errors.AsType[*passing](err)
	return wait, again
}
