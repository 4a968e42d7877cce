package chat

import (
	"encoding/json"
	"strings"
)

// nestedValue turns tags inside an argument into JSON: tags that are all called
// item make a list, others an object. Open stands before the name of a tag, and
// with a slash after it before that of a closing one.
func nestedValue(s, open string) (string, bool) {
	var keys, values []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		rest, ok := strings.CutPrefix(s, open)
		if !ok {
			return "", false
		}
		key, rest, ok := strings.Cut(rest, ">")
		if !ok || strings.HasPrefix(key, "/") {
			return "", false
		}
		inner, after, ok := cutElement(rest, open, key)
		if !ok {
			return "", false
		}
		keys, values = append(keys, key), append(values, nestedText(inner, open))
		s = after
	}
	list := len(keys) > 0
	for _, k := range keys {
		list = list && k == "item"
	}
	if list {
		return "[" + strings.Join(values, ", ") + "]", true
	}
	for i, k := range keys {
		values[i] = quote(k) + ": " + values[i]
	}
	return "{" + strings.Join(values, ", ") + "}", true
}

// cutElement cuts rest at the closing tag of key, past elements of the same name.
func cutElement(rest, open, key string) (inner, after string, ok bool) {
	start, end := open+key+">", open+"/"+key+">"
	depth := 1
	for i := 0; ; {
		c := strings.Index(rest[i:], end)
		if c < 0 {
			return "", "", false
		}
		depth += strings.Count(rest[i:i+c], start) - 1
		if depth == 0 {
			return rest[:i+c], rest[i+c+len(end):], true
		}
		i += c + len(end)
	}
}

// nestedText returns the inside of a tag as JSON.
func nestedText(s, open string) string {
	if t := strings.TrimSpace(s); strings.HasPrefix(t, open) {
		if v, ok := nestedValue(t, open); ok {
			return v
		}
	} else if json.Valid([]byte(t)) {
		return t
	}
	return quote(s)
}
