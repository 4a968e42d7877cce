package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// source is a subschema as it appears in the document.
type source struct {
	raw  any
	path string // JSON pointer from the root of the document
	res  *resource
}

// resource is a schema with its own identifier: the document, or a subschema with an $id.
type resource struct {
	root  *source
	base  *url.URL
	draft int // 4, 6, 7, 2019 or 2020
}

func parseDraft(uri string, or int) int {
	for _, d := range []struct {
		part  string
		draft int
	}{{"draft-03", 4}, {"draft-04", 4}, {"draft-06", 6}, {"draft-07", 7}, {"2019-09", 2019}, {"2020-12", 2020}} {
		if strings.Contains(uri, d.part) {
			return d.draft
		}
	}
	return or
}

// document parses a schema document.
func (s *schemas) document(doc json.RawMessage) (*expr, error) {
	if jsontree.Depth(doc) > jsontree.MaxDepth {
		return nil, errSchemaDeep
	}
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	var raw any
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("schema is followed by something else")
	}
	s.root = &resource{base: &url.URL{}, draft: 2020}
	src := &source{raw: raw, res: s.root}
	s.root.root = src
	if m, ok := raw.(map[string]any); ok {
		if uri, ok := m["$schema"].(string); ok {
			s.root.draft = parseDraft(uri, 2020)
		}
		if id := identity(m, s.root.draft); id != "" {
			if u, err := url.Parse(id); err == nil {
				u.Fragment = ""
				s.root.base = u
			}
		}
	}
	return s.of(src), nil
}

// identity returns the $id of a subschema, if it has one that is more than a fragment.
func identity(m map[string]any, draft int) string {
	key := "$id"
	if draft <= 4 {
		key = "id"
	}
	id, _ := m[key].(string)
	if strings.HasPrefix(id, "#") {
		return ""
	}
	return id
}

// of returns the expression of a subschema.
func (s *schemas) of(src *source) *expr {
	if b, ok := src.raw.(bool); ok {
		if b {
			return s.any
		}
		return s.none
	}
	if m, ok := src.raw.(map[string]any); ok && len(m) == 0 {
		return s.any
	}
	if e, ok := s.sources[src.path]; ok {
		return e
	}
	e := s.add(&expr{kind: exprSource, src: src})
	s.sources[src.path] = e
	return e
}

// sub returns the subschema at the path keys below src.
func (src *source) sub(raw any, keys ...string) *source {
	path := src.path
	for _, k := range keys {
		path += "/" + strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
	}
	out := &source{raw: raw, path: path, res: src.res}
	if m, ok := raw.(map[string]any); ok {
		if id := identity(m, src.res.draft); id != "" && keys[0] != "enum" && keys[0] != "const" {
			if u, err := url.Parse(id); err == nil {
				base := src.res.base.ResolveReference(u)
				base.Fragment = ""
				out.res = &resource{base: base, draft: src.res.draft}
				if uri, ok := m["$schema"].(string); ok {
					out.res.draft = parseDraft(uri, src.res.draft)
				}
				out.res.root = out
			}
		}
	}
	return out
}

func (src *source) unsupported(keyword, format string, args ...any) error {
	path := ""
	if src != nil {
		path = src.path
	}
	return &UnsupportedError{Keyword: keyword, Path: path, Reason: fmt.Sprintf(format, args...)}
}

func (src *source) bad(keyword, format string, args ...any) error {
	path := src.path
	if path == "" {
		path = "the root"
	}
	return fmt.Errorf("keyword %q at %s: %s", keyword, path, fmt.Sprintf(format, args...))
}

// ref resolves a reference.
func (s *schemas) ref(src *source, keyword, ref string) (*expr, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, src.bad(keyword, "%v", err)
	}
	from := src.res.root
	if u.Path != "" || u.Host != "" || u.Scheme != "" || u.Opaque != "" {
		abs := src.res.base.ResolveReference(u)
		abs.Fragment, abs.RawFragment = "", ""
		s.index()
		found, ok := s.ids[strings.TrimSuffix(abs.String(), "#")]
		if !ok {
			return nil, src.unsupported(keyword, "%q is outside the document: put the schema into $defs", clip(ref))
		}
		from = found
	}
	frag := u.Fragment
	if frag == "" {
		return s.of(from), nil
	}
	if !strings.HasPrefix(frag, "/") {
		s.index()
		if found, ok := s.ids[from.res.base.String()+"#"+frag]; ok {
			return s.of(found), nil
		}
		return nil, src.bad(keyword, "no anchor %q in the document", clip(frag))
	}
	at := from
	for _, part := range strings.Split(frag[1:], "/") {
		key := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		var raw any
		ok := false
		switch v := at.raw.(type) {
		case map[string]any:
			raw, ok = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if ok = err == nil && i >= 0 && i < len(v); ok {
				raw = v[i]
			}
		}
		if !ok {
			return nil, src.bad(keyword, "%q leads nowhere", clip(ref))
		}
		at = at.sub(raw, key)
	}
	return s.of(at), nil
}

// index finds every $id and anchor of the document.
func (s *schemas) index() {
	if s.indexed {
		return
	}
	s.indexed = true
	s.ids = map[string]*source{}
	s.indexFrom(s.root.root, 0)
}

func (s *schemas) indexFrom(src *source, depth int) {
	if depth > 2*maxNest {
		return
	}
	switch v := src.raw.(type) {
	case map[string]any:
		if src.res.root == src {
			s.ids[src.res.base.String()] = src
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if a, ok := v[key].(string); ok {
				s.ids[src.res.base.String()+"#"+a] = src
			}
		}
		for _, key := range []string{"$id", "id"} {
			if a, ok := v[key].(string); ok && strings.HasPrefix(a, "#") && len(a) > 1 {
				s.ids[src.res.base.String()+a] = src
			}
		}
		for k, x := range v {
			if k != "enum" && k != "const" && k != "default" && k != "examples" {
				s.indexFrom(src.sub(x, k), depth+1)
			}
		}
	case []any:
		for i, x := range v {
			s.indexFrom(src.sub(x, strconv.Itoa(i)), depth+1)
		}
	}
}

// number reads a JSON number exactly.
func (src *source) number(keyword string, raw any) (*big.Rat, error) {
	n, ok := raw.(json.Number)
	if !ok {
		return nil, src.bad(keyword, "must be a number")
	}
	return src.rational(keyword, string(n))
}

const maxDigits = 400

func (src *source) rational(keyword, text string) (*big.Rat, error) {
	mantissa, exp, _ := strings.Cut(strings.ToLower(text), "e")
	if e, err := strconv.Atoi(exp); exp != "" && (err != nil || e > maxDigits || e < -maxDigits) || len(mantissa) > maxDigits {
		return nil, src.unsupported(keyword, "the number %s has too many digits", clip(text))
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, src.bad(keyword, "bad number %q", clip(text))
	}
	return r, nil
}

// count reads a JSON number that must be a non-negative integer.
func (src *source) count(keyword string, raw any) (int, error) {
	r, err := src.number(keyword, raw)
	if err != nil {
		return 0, err
	}
	if !r.IsInt() || r.Sign() < 0 {
		return 0, src.bad(keyword, "must be a whole number from 0")
	}
	if !r.Num().IsInt64() || r.Num().Int64() > 1<<30 {
		return 1 << 30, nil
	}
	return int(r.Num().Int64()), nil
}
