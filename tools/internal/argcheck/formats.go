package argcheck

import (
	"errors"
	"net/url"
	"regexp"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// uriChars matches the characters of RFC 3986 with complete percent-escapes; net/url also accepts
// spaces and other characters.
var uriChars = regexp.MustCompile(`^([A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$`)

// uriFormat returns the format called name. If abs is set, the URI must be absolute.
func uriFormat(name string, abs bool) *jsonschema.Format {
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		if !uriChars.MatchString(s) {
			return errors.New("holds a character that a URI cannot")
		}
		u, err := url.Parse(s)
		if err != nil {
			return err
		}
		if abs && !u.IsAbs() {
			return errors.New("has no scheme")
		}
		return nil
	}}
}

// matchTimeout limits one match of a backtracking pattern. Patterns may be untrusted, and text
// comes from a model.
const matchTimeout = 100 * time.Millisecond

// backtracking is a pattern that Go's linear engine does not support, such as one with a
// look-ahead.
type backtracking struct{ *regexp2.Regexp }

// MatchString reports whether s matches. A match that takes too long counts as no match.
func (b backtracking) MatchString(s string) bool {
	ok, err := b.Regexp.MatchString(s)
	return ok && err == nil
}

// compilePattern compiles a JSON Schema pattern. It uses Go's engine, which runs in linear time, if
// possible, and otherwise one for JavaScript's dialect, which the specification recommends.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchTimeout
	return backtracking{re}, nil
}
