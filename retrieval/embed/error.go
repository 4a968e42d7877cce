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

// Error is an error response from a server.
type Error struct {
	Status     int           // HTTP status
	Message    string        // the server's message, shortened to one line
	RetryAfter time.Duration // the wait that the server asked for; 0 if none
}

// Error returns the status and the server's message.
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

// Refused reports whether the texts of the request are the cause, so that other texts may still be
// embedded.
func (e *Error) Refused() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError: // llama.cpp's status for a text longer than its batch
		return strings.Contains(e.Message, "too large to process")
	}
	return false
}

// passes reports whether the same request may succeed later.
func (e *Error) passes() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusTooManyRequests:
		return !strings.Contains(e.Message, "insufficient_quota")
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented && !e.Refused()
}

// maxError limits the bytes read of an error's body.
const maxError = 16 << 10

// readError makes an error from an unsuccessful response.
func readError(res *http.Response) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // a partial body is fine
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

// errorText returns the text of an error object: its message and code, or the string itself.
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

// excerpt returns the beginning of a server's text, about 300 bytes, on one line and without
// control characters.
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
