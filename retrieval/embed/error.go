package embed

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/luthier-dev/luthier/internal/wait"
)

// Error is what a server answered instead of embeddings.
type Error struct {
	Status     int           // of HTTP
	Message    string        // of the server, shortened to one line
	RetryAfter time.Duration // how long it asked to wait; 0 when it did not say
}

// Error names the status and what the server said.
func (e *Error) Error() string {
	s := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf("; it asks to wait %v", e.RetryAfter.Round(time.Millisecond))
	}
	return s
}

// Refused tells whether the texts of the request are the reason, so that others may be embedded.
func (e *Error) Refused() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError: // of llama.cpp for a text longer than its batch
		return strings.Contains(e.Message, "too large to process")
	}
	return false
}

// passes tells whether the same request may succeed later.
func (e *Error) passes() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusTooManyRequests:
		return !strings.Contains(e.Message, "insufficient_quota")
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented && !e.Refused()
}

// maxError is how much of an error's body is read.
const maxError = 16 << 10

// readError makes an error of a response that is no success.
func readError(res *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what there is of it
	e := &Error{Status: res.StatusCode, RetryAfter: wait.RetryAfter(res.Header, time.Now())}
	var parsed struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	text := string(body)
	if json.Unmarshal(body, &parsed) == nil {
		switch {
		case len(parsed.Error) > 0:
			text = errorText(parsed.Error)
		case parsed.Message != "":
			text = parsed.Message
		case len(parsed.Detail) > 0:
			text = string(parsed.Detail)
		}
	}
	if location := res.Header.Get("Location"); location != "" && res.StatusCode/100 == 3 {
		text = "it is at " + location + "; set BaseURL to that"
	}
	e.Message = excerpt(text)
	return e
}

// errorText returns what an error object says: message and code, or the string that it is.
func errorText(raw json.RawMessage) string {
	var object struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &object) == nil && object.Message != "":
		if code, ok := object.Code.(string); ok && code != "" {
			return object.Message + " (" + code + ")"
		}
		return object.Message
	}
	return string(raw)
}

// excerpt makes one line of at most some 300 bytes of a server's words, without control characters.
func excerpt(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
