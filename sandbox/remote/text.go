package remote

import (
	"encoding/json"
	"unicode/utf8"
)

// text is a string that is transmitted byte for byte. Names of files and arguments of commands need
// not be UTF-8, but JSON strings must be: any other string is sent as an array that contains its
// bytes in base 64.
type text string

// MarshalJSON writes a string, or an array that contains one.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal([1][]byte{[]byte(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var raw [1][]byte
		err := json.Unmarshal(b, &raw)
		*t = text(raw[0])
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

func toTexts(list []string) []text {
	out := make([]text, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

func fromTexts(list []text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}
