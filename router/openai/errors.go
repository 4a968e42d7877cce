package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

const provider = "openai"

const (
	maxErrorBody = 64 << 10 // bytes read of an error response
	maxMessage   = 2 << 10  // bytes kept of a provider's message
)

// apiError is an error in the form used by OpenAI and compatible servers. Code may be a number, and
// the object may be in "error", next to other fields, or be a bare string.
type apiError struct {
	Message  string          `json:"message"`
	Type     wire.String     `json:"type"`
	Code     json.RawMessage `json:"code"`
	Param    wire.String     `json:"param"`
	Detail   json.RawMessage `json:"detail"` // FastAPI servers
	Metadata struct {
		Raw json.RawMessage `json:"raw"` // OpenRouter: the upstream's own message
	} `json:"metadata"`

	body []byte // all of it
}

// parseError reads an error object from a body or event. It reports false if there is none. Fields
// of an unexpected type count as absent.
func parseError(data []byte) (e apiError, ok bool) {
	defer func() { e.body = data }()
	var outer struct {
		Error json.RawMessage `json:"error"`
		apiError
	}
	if err := json.Unmarshal(data, &outer); err != nil && !odd(err) {
		return apiError{}, false
	}
	if len(outer.Error) == 0 || string(outer.Error) == "null" {
		if outer.Message == "" {
			outer.Message = text(outer.Detail)
		}
		return outer.apiError, outer.Message != ""
	}
	var inner apiError
	if err := json.Unmarshal(outer.Error, &inner); (err != nil && !odd(err)) || inner.Message == "" {
		inner.Message = text(outer.Error)
	}
	if raw := text(inner.Metadata.Raw); raw != "" {
		inner.Message += ": " + raw
	}
	return inner, true
}

// odd reports whether err only says that a field has an unexpected type; the others were read.
func odd(err error) bool { _, ok := errors.AsType[*json.UnmarshalTypeError](err); return ok }

// text returns the string in raw, or raw itself if it is not a string.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// modelError classifies e. status is 0 for an error in a stream.
func (m *Model) modelError(status int, e apiError) *agent.ModelError {
	code := text(e.Code)
	if n, err := strconv.Atoi(code); err == nil && status == 0 && n >= 400 && n < 600 {
		status = n // for servers that put the status into the stream
	}
	words := e.Message
	if words == "" {
		words = strings.TrimSpace(string(e.Type) + " " + code)
	}
	r := wire.Refusal{Status: status, Code: code, Type: string(e.Type), Param: string(e.Param), Message: e.Message, Body: e.body}
	return &agent.ModelError{Kind: kindOf(&r), Status: status, Provider: provider, RetryAfter: wire.StatedWait(e.body), Err: errors.New(m.clean(words))}
}

// clean shortens a provider's message and removes the key from it.
func (m *Model) clean(s string) string {
	if m.cfg.APIKey != "" {
		s = strings.ReplaceAll(s, m.cfg.APIKey, "***")
	}
	return excerpt([]byte(s))
}

// excerpt returns the start of a text on one line.
func excerpt(b []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\ufffd")), " ")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " ..."
}

// statusError reads the error from an unsuccessful response.
func (m *Model) statusError(res *http.Response) *agent.ModelError {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	e, ok := parseError(firstValue(body))
	if !ok {
		e = apiError{Message: fmt.Sprintf("%s: %s", http.StatusText(res.StatusCode), excerpt(body))}
	}
	me := m.modelError(res.StatusCode, e)
	me.Status = res.StatusCode
	if d := wire.Wait(res.Header, body, me.Kind == agent.ErrRateLimit, m.cfg.Now()); me.Kind.Retryable() {
		me.RetryAfter = d
	} else {
		me.RetryAfter = wait.RetryAfter(res.Header, m.cfg.Now())
	}
	me.RequestID = res.Header.Get("X-Request-Id")
	return me
}

// firstValue returns the JSON value that a body starts with.
func firstValue(body []byte) []byte {
	var v json.RawMessage
	if json.NewDecoder(strings.NewReader(string(body))).Decode(&v) != nil {
		return nil
	}
	if len(v) > 0 && v[0] == '[' { // Gemini's OpenAI endpoint wraps its errors in a list
		var list []json.RawMessage
		if json.Unmarshal(v, &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	return v
}

// transportError classifies the error of a request or stream that broke.
func (m *Model) transportError(ctx context.Context, verb string, err error) *agent.ModelError {
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		return me
	}
	kind := agent.ErrNetwork
	if ended := ctx.Err(); ended != nil {
		kind, err = agent.ErrCanceled, ended
		if cause := context.Cause(ctx); cause != ended {
			err = fmt.Errorf("%w: %w", ended, cause)
		}
	} else if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		kind = agent.ErrTimeout
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if verb == readStream {
			kind = agent.ErrIncomplete
		}
	}
	return &agent.ModelError{Kind: kind, Provider: provider, Err: fmt.Errorf("%s: %w", verb, err)}
}
