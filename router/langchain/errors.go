package langchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

func (m *model) fail(kind agent.ErrorKind, err error) *agent.ModelError {
	return &agent.ModelError{Kind: kind, Provider: cmp.Or(m.traits.provider, "langchain"), Err: err}
}

// failed classifies an error of a call: by the context, by its type if it is typed, and otherwise
// by its text.
func (m *model) failed(ctx context.Context, err error) *agent.ModelError {
	if ctx.Err() != nil {
		return m.fail(agent.ErrCanceled, fmt.Errorf("generate content: %w", context.Cause(ctx)))
	}
	if me, ok := errors.AsType[*agent.ModelError](err); ok { // a model of this library, wrapped by LLM
		return me
	}
	me := m.fail(agent.ErrUnknown, fmt.Errorf("generate content: %w", err))
	if le, ok := errors.AsType[*llms.Error](err); ok {
		me.Kind = codeKind(le.Code)
	}
	text := strings.ToLower(err.Error())
	me.Status = statusOf(text)
	if me.Kind == agent.ErrUnknown || me.Kind == agent.ErrInvalid {
		var full agent.ErrorKind
		if r := (wire.Refusal{Status: me.Status, Message: strings.TrimPrefix(text, "api returned unexpected")}); r.Overflows() {
			full = agent.ErrContextLength
		}
		me.Kind = cmp.Or(full, textKind(text), statusKind(me.Status), typeKind(err), me.Kind)
	}
	if me.Kind.Retryable() {
		me.RetryAfter = wire.StatedWait([]byte(text))
	}
	return me
}

func codeKind(code llms.ErrorCode) agent.ErrorKind {
	switch code {
	case llms.ErrCodeAuthentication, llms.ErrCodeQuotaExceeded:
		return agent.ErrAuth
	case llms.ErrCodeRateLimit:
		return agent.ErrRateLimit
	case llms.ErrCodeInvalidRequest, llms.ErrCodeResourceNotFound:
		return agent.ErrInvalid
	case llms.ErrCodeTimeout:
		return agent.ErrTimeout
	case llms.ErrCodeCanceled:
		return agent.ErrCanceled
	case llms.ErrCodeContentFilter:
		return agent.ErrFilter
	case llms.ErrCodeTokenLimit:
		return agent.ErrContextLength
	case llms.ErrCodeProviderUnavailable:
		return agent.ErrOverloaded
	case llms.ErrCodeNotImplemented:
		return agent.ErrUnsupported
	}
	return agent.ErrUnknown
}

var statusText = regexp.MustCompile(`status(?: code)?:? (\d{3})\b`)

// statusOf finds the HTTP status that langchaingo's clients put into their texts.
func statusOf(text string) int {
	match := statusText.FindStringSubmatch(text)
	if match == nil {
		return 0
	}
	status, _ := strconv.Atoi(match[1])
	return status
}

func statusKind(status int) agent.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return agent.ErrRateLimit
	case status == http.StatusServiceUnavailable, status == 529:
		return agent.ErrOverloaded
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return agent.ErrAuth
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return agent.ErrTimeout
	case status == http.StatusRequestEntityTooLarge:
		return agent.ErrContextLength
	case status >= 500:
		return agent.ErrServer
	case status >= 400:
		return agent.ErrInvalid
	}
	return ""
}

// textKinds maps texts in an error to its kind, the more specific ones first.
var textKinds = []struct {
	kind  agent.ErrorKind
	words []string
}{
	{agent.ErrContextLength, []string{"context_length_exceeded"}},
	{agent.ErrOverloaded, []string{"overloaded"}},
	{agent.ErrAuth, []string{"credit balance", "insufficient_quota", "invalid api key", "incorrect api key", "authentication_error"}},
	{agent.ErrRateLimit, []string{"rate limit", "rate_limit"}},
	{agent.ErrFilter, []string{"content filter", "content_filter", "content management policy"}},
	{agent.ErrTimeout, []string{"request timeout"}},
	{agent.ErrNetwork, []string{"network error", "connection refused", "connection reset", "no such host"}},
	{agent.ErrIncomplete, []string{"no response", "empty response", "unexpected eof", "unexpected end of json input"}},
	{agent.ErrUnsupported, []string{"unsupported content type", "unsupported human message part", "not supported"}},
	{agent.ErrServer, []string{"received error event", "failed to parse stream event", "failed to process stream event", "parse response", "token too long"}},
}

func textKind(text string) agent.ErrorKind {
	for _, k := range textKinds {
		for _, w := range k.words {
			if strings.Contains(text, w) {
				return k.kind
			}
		}
	}
	return ""
}

func typeKind(err error) agent.ErrorKind {
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, io.EOF):
		return agent.ErrIncomplete
	case isNet && timeout.Timeout():
		return agent.ErrTimeout
	case isNet:
		return agent.ErrNetwork
	}
	return ""
}
