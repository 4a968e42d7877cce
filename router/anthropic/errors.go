package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// refuse returns the reason why a request cannot be sent.
func refuse(kind agent.ErrorKind, format string, args ...any) *agent.ModelError {
	return &agent.ModelError{Kind: kind, Provider: provider, Err: fmt.Errorf(format, args...)}
}

// failure is the error object of the API, in an error response and in the stream.
type failure struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Error     struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// cause is a short description of an error that still unwraps to the original.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.err }

// sendError classifies an error of sending a request.
func sendError(ctx context.Context, err error) *agent.ModelError {
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return transportError(ctx, "send request", err)
	}
	me := &agent.ModelError{Status: api.StatusCode, RequestID: api.RequestID, Provider: provider}
	raw := api.RawJSON()
	var f failure
	_ = json.NewDecoder(strings.NewReader(raw)).Decode(&f) // proxies answer with HTML pages, or add to the object
	me.Kind = kindOf(f.Error.Type, f.Error.Message, api.StatusCode)
	if api.Response != nil {
		me.RetryAfter = wait.RetryAfter(api.Response.Header, time.Now())
		if me.RetryAfter == 0 && me.Kind.Retryable() {
			me.RetryAfter = wire.Wait(api.Response.Header, []byte(raw), me.Kind == agent.ErrRateLimit, time.Now())
		}
	}
	if me.RequestID == "" {
		me.RequestID = f.RequestID
	}
	text := f.Error.Type + ": " + f.Error.Message
	if f.Error.Type == "" {
		text = shorten(raw)
	}
	me.Err = &cause{text, err}
	return me
}

// streamError classifies an error event.
func streamError(data []byte) *agent.ModelError {
	var f failure
	_ = json.Unmarshal(data, &f)
	text := f.Error.Type + ": " + f.Error.Message
	if f.Error.Type == "" {
		text = shorten(string(data))
	}
	return &agent.ModelError{Kind: kindOf(f.Error.Type, f.Error.Message, 0), RequestID: f.RequestID, Provider: provider, RetryAfter: wire.StatedWait(data),
		Err: fmt.Errorf("read stream: %s", text)}
}

// transportError classifies a failure without an answer from the API.
func transportError(ctx context.Context, verb string, err error) *agent.ModelError {
	me := &agent.ModelError{Kind: agent.ErrNetwork, Provider: provider, Err: fmt.Errorf("%s: %w", verb, err)}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case ctx.Err() != nil:
		me.Kind, me.Err = agent.ErrCanceled, fmt.Errorf("%s: %w", verb, context.Cause(ctx))
	case isNet && timeout.Timeout():
		me.Kind = agent.ErrTimeout
	case errors.Is(err, wire.ErrTooLong):
		me.Kind = agent.ErrServer
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		me.Kind = agent.ErrIncomplete
		if verb == "send request" {
			me.Kind = agent.ErrNetwork
		}
	}
	return me
}

// kindOf classifies by the API's error type, then by HTTP status; status is 0 inside a stream.
func kindOf(errType, message string, status int) agent.ErrorKind {
	switch errType {
	case "rate_limit_error":
		return agent.ErrRateLimit
	case "overloaded_error":
		return agent.ErrOverloaded
	case "authentication_error", "permission_error", "billing_error":
		return agent.ErrAuth
	case "timeout_error":
		return agent.ErrTimeout
	case "not_found_error":
		return agent.ErrInvalid
	case "request_too_large":
		return agent.ErrContextLength
	case "invalid_request_error":
		return invalidKind(message)
	case "api_error":
		if strings.Contains(message, "content filtering") {
			return agent.ErrFilter
		}
		return agent.ErrServer
	}
	if r := (wire.Refusal{Status: status, Type: errType, Message: message}); status != 0 && r.Overflows() {
		return agent.ErrContextLength
	}
	return statusKind(status)
}

// invalidKind classifies what the API reports as an invalid request, which is possible only by its
// text.
func invalidKind(message string) agent.ErrorKind {
	text := strings.ToLower(message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("too many total text bytes") || (&wire.Refusal{Message: message}).Overflows():
		return agent.ErrContextLength
	case has("credit balance", "usage limits"):
		return agent.ErrAuth
	case has("content filtering"):
		return agent.ErrFilter
	}
	return agent.ErrInvalid
}

func statusKind(status int) agent.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return agent.ErrRateLimit
	case status == 529, status == http.StatusServiceUnavailable:
		return agent.ErrOverloaded
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return agent.ErrAuth
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return agent.ErrTimeout
	case status == http.StatusRequestEntityTooLarge:
		return agent.ErrContextLength
	case status >= 500, status == 0:
		return agent.ErrServer
	case status >= 400:
		return agent.ErrInvalid
	}
	return agent.ErrServer
}

const maxErrorText = 512

// shorten makes a server's error text fit on one line.
func shorten(s string) string {
	text := strings.Join(strings.Fields(s[:min(len(s), 4*maxErrorText)]), " ")
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "..."
	}
	if text == "" {
		return "the answer has no body"
	}
	return strings.ToValidUTF8(text, "?")
}

const maxErrorBody = 1 << 20

// limitErrorBody prevents a server from filling memory with an error page.
func limitErrorBody(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode < 400 {
		return res, err
	}
	head, readErr := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	res.Body.Close()
	if readErr != nil && len(head) == 0 {
		return nil, readErr
	}
	res.Body = io.NopCloser(bytes.NewReader(head))
	return res, nil
}
