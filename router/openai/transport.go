package openai

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sort"

	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent"
)

// options configures the SDK: it sends once, and never reads an error body itself, since it would
// read it without a limit and lose the status of a body that is not JSON.
func (m *Model) options(base *url.URL) []option.RequestOption {
	c := &m.cfg
	client := c.HTTPClient
	if client == nil {
		client = &http.Client{}
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithAPIKey(c.APIKey),
		option.WithAdminAPIKey(""), // so that it is never used for a missing key
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(m.refuseErrors),
	}
	names := make([]string, 0, len(c.Headers))
	for name := range c.Headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		opts = append(opts, option.WithHeader(name, c.Headers[name]))
	}
	return append(opts, c.Options...)
}

// refuseErrors turns an unsuccessful response into its error.
func (m *Model) refuseErrors(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	defer res.Body.Close()
	return nil, m.statusError(res)
}

// send posts the body and returns the response if it is successful.
func (m *Model) send(ctx context.Context, body []byte) (*http.Response, error) {
	path := "chat/completions"
	if m.cfg.API == Responses {
		path = "responses"
	}
	var res *http.Response
	if err := m.client.Post(ctx, path, body, &res); err != nil {
		return nil, m.transportError(ctx, "send request", err)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/html" {
		defer res.Body.Close()
		page, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return nil, &agent.ModelError{Kind: agent.ErrInvalid, Status: res.StatusCode, Provider: provider,
			Err: fmt.Errorf("read response: %s answered with a web page, not with a stream; check Config.BaseURL: %s", m.cfg.BaseURL, excerpt(page))}
	}
	return res, nil
}
