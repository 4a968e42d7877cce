package openai

import (
	"net/http"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// kindByCode maps the codes and types that OpenAI and compatible servers use. Codes take precedence
// over types.
var kindByCode = map[string]agent.ErrorKind{
	"context_length_exceeded":    agent.ErrContextLength,
	"exceed_context_size_error":  agent.ErrContextLength, // llama.cpp
	"rate_limit_exceeded":        agent.ErrRateLimit,
	"rate_limit_error":           agent.ErrRateLimit,
	"too_many_requests":          agent.ErrRateLimit,
	"tokens":                     agent.ErrRateLimit,
	"requests":                   agent.ErrRateLimit,
	"insufficient_quota":         agent.ErrAuth,
	"billing_hard_limit_reached": agent.ErrAuth,
	"invalid_api_key":            agent.ErrAuth,
	"authentication_error":       agent.ErrAuth,
	"permission_error":           agent.ErrAuth,
	"server_error":               agent.ErrServer,
	"internal_error":             agent.ErrServer,
	"internal_server_error":      agent.ErrServer,
	"api_error":                  agent.ErrServer,
	"overloaded":                 agent.ErrOverloaded,
	"overloaded_error":           agent.ErrOverloaded,
	"server_overloaded":          agent.ErrOverloaded,
	"engine_overloaded":          agent.ErrOverloaded,
	"slow_down":                  agent.ErrOverloaded,
	"unavailable_error":          agent.ErrOverloaded, // llama.cpp while it loads
	"service_unavailable":        agent.ErrOverloaded,
	"timeout":                    agent.ErrTimeout,
	"content_filter":             agent.ErrFilter,
	"content_policy_violation":   agent.ErrFilter,
	"moderation_blocked":         agent.ErrFilter,
	"unsupported_parameter":      agent.ErrUnsupported,
	"unsupported_value":          agent.ErrUnsupported,
	"not_supported_error":        agent.ErrUnsupported,
	"model_not_found":            agent.ErrInvalid,
	"invalid_request_error":      agent.ErrInvalid,
	"bad_request_error":          agent.ErrInvalid,
}

// kindOf classifies an error: a full context first, since servers report it under any code and
// status, then the code, then the status, then the type.
func kindOf(r *wire.Refusal) agent.ErrorKind {
	status, code, typ := r.Status, r.Code, r.Type
	limited := status == http.StatusTooManyRequests || kindByCode[code] == agent.ErrRateLimit
	if kindByCode[code] == agent.ErrContextLength || kindByCode[typ] == agent.ErrContextLength {
		return agent.ErrContextLength
	}
	if known := kindByCode[code]; !limited && (known == "" || known == agent.ErrInvalid || known == agent.ErrServer) && r.Overflows() {
		return agent.ErrContextLength
	}
	if k, ok := kindByCode[code]; ok && k != agent.ErrInvalid { // some servers send it with every status
		return k
	}
	if k, ok := kindByStatus(status); ok && !(status == http.StatusTooManyRequests && kindByCode[typ] == agent.ErrAuth) {
		return k
	}
	if k, ok := kindByCode[strings.ToLower(typ)]; ok {
		return k
	}
	switch {
	case status == 0 || status >= 500:
		return agent.ErrServer
	case status >= 400:
		return agent.ErrInvalid
	}
	return agent.ErrUnknown
}

func kindByStatus(status int) (agent.ErrorKind, bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return agent.ErrAuth, true
	case http.StatusNotFound:
		return agent.ErrInvalid, true
	case http.StatusTooManyRequests:
		return agent.ErrRateLimit, true
	case http.StatusRequestEntityTooLarge:
		return agent.ErrContextLength, true
	case http.StatusRequestTimeout, 524: // 524: Cloudflare's "a timeout occurred"
		return agent.ErrTimeout, true
	case http.StatusServiceUnavailable, 529, 498: // 498: Groq's "capacity exceeded"
		return agent.ErrOverloaded, true
	}
	return "", false
}
