package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// statusClientGone is nginx's status for a client that closed its connection.
const statusClientGone = 499

// failure is an error in the API's form.
type failure struct {
	status     int
	kind       string // "type" on the wire
	code       string
	param      string
	message    string
	retryAfter time.Duration
}

func (f *failure) Error() string { return f.message }

// wire returns the error object.
func (f *failure) wire() map[string]any {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"error": map[string]any{"message": f.message, "type": f.kind, "code": null(f.code), "param": null(f.param)}}
}

func writeFailure(w http.ResponseWriter, f *failure) {
	if f.retryAfter > 0 {
		// Whole seconds, as RFC 9110 requires; rounded up, so that nobody retries too early.
		w.Header().Set("Retry-After", strconv.Itoa(int((f.retryAfter+time.Second-1)/time.Second)))
	}
	writeJSON(w, f.status, f.wire())
}

// wireKind maps a kind of model error to its form for a client.
var wireKind = map[agent.ErrorKind]failure{
	agent.ErrRateLimit:     {status: http.StatusTooManyRequests, kind: "rate_limit_error", code: "rate_limit_exceeded"},
	agent.ErrOverloaded:    {status: http.StatusServiceUnavailable, kind: "server_error", code: "overloaded"},
	agent.ErrServer:        {status: http.StatusInternalServerError, kind: "server_error", code: "server_error"},
	agent.ErrNetwork:       {status: http.StatusBadGateway, kind: "server_error", code: "server_error"},
	agent.ErrTimeout:       {status: http.StatusGatewayTimeout, kind: "server_error", code: "timeout"},
	agent.ErrIncomplete:    {status: http.StatusBadGateway, kind: "server_error", code: "server_error"},
	agent.ErrContextLength: {status: http.StatusBadRequest, kind: "invalid_request_error", code: "context_length_exceeded", param: "messages"},
	agent.ErrAuth:          {status: http.StatusUnauthorized, kind: "authentication_error", code: "invalid_api_key"},
	agent.ErrInvalid:       {status: http.StatusBadRequest, kind: "invalid_request_error"},
	agent.ErrUnsupported:   {status: http.StatusBadRequest, kind: "invalid_request_error", code: "unsupported_value"},
	agent.ErrFilter:        {status: http.StatusBadRequest, kind: "invalid_request_error", code: "content_filter"},
	agent.ErrCanceled:      {status: statusClientGone, kind: "timeout"},
}

// failureOf describes a model's error. The status of an upstream server is kept if it is more
// specific than ours.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	me := agent.AsModelError(err)
	f, ok := wireKind[me.Kind]
	if !ok {
		f = wireKind[agent.ErrServer]
	}
	if me.Status >= 400 && me.Status != http.StatusRequestEntityTooLarge {
		f.status = me.Status
	}
	f.retryAfter = me.RetryAfter
	f.message = me.Error()
	return &f
}

// badBody describes a body that could not be read as JSON.
func badBody(err error) *failure {
	f := &failure{status: http.StatusBadRequest, kind: "invalid_request_error", message: "the body is not a valid request: " + err.Error()}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		f.status, f.message = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than the %d bytes this server takes", big.Limit)
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.param, f.message = te.Field, fmt.Sprintf("%s must be %s, not %s", te.Field, te.Type, te.Value)
	}
	return f
}

func invalid(param, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, message: fmt.Sprintf(format, args...)}
}
