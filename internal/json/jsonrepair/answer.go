package jsonrepair

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Answer finds the JSON in a model's answer that accept takes, which returns it in its final form.
// It tries the answer as it is, then with its syntax repaired, and then the JSON values that stand
// in it, of which exactly one must be accepted.
func Answer(answer string, accept func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	text := []byte(strings.TrimSpace(strings.TrimPrefix(answer, "\ufeff")))
	res, fault := Repair(text)
	if fault == nil {
		var out json.RawMessage
		if out, fault = accept(bytes.TrimSpace(res.JSON)); fault == nil {
			return out, nil
		}
	} else {
		fault = syntax(text, fault)
	}
	if json.Valid(text) {
		return nil, fault
	}
	var found json.RawMessage
	for _, x := range embedded(text) {
		out, err := accept(x)
		switch {
		case err != nil:
		case found != nil && !bytes.Equal(found, out):
			return nil, errors.New("the answer contains several JSON values that fit; give exactly one")
		default:
			found = out
		}
	}
	if found == nil {
		return nil, fault
	}
	return found, nil
}

// syntax describes why text is not JSON.
func syntax(text []byte, err error) error {
	re, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("the answer is not valid JSON: %w", err)
	}
	lo, hi := max(0, min(re.Offset, len(text))-30), min(len(text), re.Offset+20)
	near := ""
	if lo < hi {
		near = fmt.Sprintf(" (near %q)", strings.ToValidUTF8(string(text[lo:hi]), ""))
	}
	return fmt.Errorf("the answer is not valid JSON: %w%s", err, near)
}

// opensJSON matches the beginning of an object or a list in any spelling. Code and prose in
// brackets do not match.
var opensJSON = regexp.MustCompile(`^(\{\s*($|["'“‘` + "`" + `\\/]|[\w$.-]+\s*:)|\[\s*($|["'“‘\[{\\/]|-?\d))`)

// maxEmbedded is the maximum number of places at which embedded tries to read JSON.
const maxEmbedded = 64

// embedded returns the JSON objects and lists that stand in a text, such as an answer that explains
// itself. It repairs nothing: each is valid as it stands. It returns none if what looks like an
// object or a list begins in the text and cannot be read, because that one may be the value that
// was meant.
func embedded(text []byte) []json.RawMessage {
	var out []json.RawMessage
	for i, tries := 0, 0; i < len(text); i++ {
		if text[i] != '{' && text[i] != '[' {
			continue
		}
		if tries++; tries > maxEmbedded {
			return nil
		}
		dec := json.NewDecoder(bytes.NewReader(text[i:]))
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			if opensJSON.Match(text[i:]) {
				return nil
			}
			continue
		}
		out = append(out, v)
		i += len(v) - 1
	}
	return out
}
