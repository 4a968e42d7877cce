package jinja

import (
	"html"
	"net/url"
	"strings"
)

var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escapeHTML escapes as markupsafe does.
func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

func filterStriptags(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	if err != nil {
		return nil, err
	}
	s = cutBetween(s, "<!--", "-->")
	s = cutBetween(s, "<", ">")
	return Str(html.UnescapeString(strings.Join(strings.FieldsFunc(s, isSpace), " "))), nil
}

// cutBetween removes every part of s that starts with the text open and ends with the next text
// end.
func cutBetween(s, open, end string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, open)
		if i < 0 {
			break
		}
		n := strings.Index(s[i:], end)
		if n < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i+n+len(end):]
	}
	return b.String() + s
}

func filterXMLAttr(r *run, c call) (Value, error) {
	d, ok := c.self.(*Dict)
	if !ok {
		return nil, noAttribute(c.self, "items")
	}
	var b strings.Builder
	for _, e := range d.entries {
		if e.value == Value(None{}) || isUndefined(e.value) {
			continue
		}
		key, ok := text(e.key)
		if !ok {
			return nil, typeError("expected string or bytes-like object, got %s", quoteRepr(e.key.typeName()))
		}
		if strings.ContainsAny(key, " \t\n\r\f\v/>=") {
			return nil, valueError("Invalid character in attribute name: %s", quoteRepr(key))
		}
		s, err := r.str(e.value)
		if err != nil {
			return nil, err
		}
		if _, safe := e.value.(markup); !safe {
			s = escapeHTML(s)
		}
		if b.Len() > 0 || c.boolArg(0, true) {
			b.WriteByte(' ')
		}
		b.WriteString(escapeHTML(key) + `="` + s + `"`)
		if err := r.grow(b.Len()); err != nil {
			return nil, err
		}
	}
	return Str(b.String()), nil
}

// quoteURL is Python's quote: it keeps letters, digits and _.-~, and also / unless the text is part
// of a query.
func quoteURL(s string, query bool) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "%7E", "~")
	if !query {
		return strings.ReplaceAll(strings.ReplaceAll(s, "+", "%20"), "%2F", "/")
	}
	return s
}

func filterURLEncode(r *run, c call) (Value, error) {
	if _, ok := text(c.self); ok || !isIterable(c.self) {
		s, err := r.str(c.self)
		return Str(quoteURL(s, false)), err
	}
	pairs := c.self
	if d, ok := pairs.(*Dict); ok {
		pairs = &dictView{d, 'i'}
	}
	items, err := r.items(pairs)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range items {
		kv, err := r.items(p)
		if err != nil {
			return nil, err
		}
		if len(kv) != 2 {
			return nil, valueError("not enough values to unpack (expected 2, got %d)", len(kv))
		}
		k, err := r.str(kv[0])
		if err != nil {
			return nil, err
		}
		v, err := r.str(kv[1])
		if err != nil {
			return nil, err
		}
		out = append(out, quoteURL(k, true)+"="+quoteURL(v, true))
	}
	s := strings.Join(out, "&")
	return Str(s), r.grow(len(s))
}
