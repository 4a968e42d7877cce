package jinja

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FromJSON reads one JSON value and keeps the order of keys. Integers stay integers of any size; a
// number with a point or an exponent becomes a Float. If a key is repeated, the last value counts,
// at the position of the first, as in Python.
func FromJSON(data []byte) (Value, error) {
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, fmt.Errorf("jinja: read JSON value: %w", err)
	}
	p := jsonReader{s: string(data)}
	v, err := p.value(0)
	if err != nil {
		return nil, fmt.Errorf("jinja: read JSON value: %w", err)
	}
	return v, nil
}

// filterFromJSON reads JSON text, such as the arguments of a call. Jinja2 and Hugging Face have no
// such filter, but other engines do, under one of two names. It returns a value that is not text as
// it is, because templates do not know in which form they get arguments.
func filterFromJSON(r *run, c call) (Value, error) {
	s, ok := text(c.self)
	if !ok {
		if u, ok := c.self.(*undefined); ok {
			return nil, u.err()
		}
		return c.self, nil
	}
	if err := r.growItems(len(s) / 2); err != nil { // the most values that a text of this size has
		return nil, err
	}
	v, err := FromJSON([]byte(s))
	if err != nil {
		return nil, valueError("%s() cannot read %s: %v", c.name, quoteRepr(clip(s)), errors.Unwrap(err))
	}
	return v, nil
}

// clip returns the beginning of a long text.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// jsonReader walks text that encoding/json has accepted, so it does not check the syntax.
type jsonReader struct {
	s string
	i int
}

func (p *jsonReader) space() byte {
	for strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
	return p.s[p.i]
}

func (p *jsonReader) value(depth int) (Value, error) {
	if depth > maxValueDepth {
		return nil, errors.New(errValueDepth.msg)
	}
	switch p.space() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return Str(p.string()), nil
	case 't':
		p.i += len("true")
		return Bool(true), nil
	case 'f':
		p.i += len("false")
		return Bool(false), nil
	case 'n':
		p.i += len("null")
		return None{}, nil
	}
	return p.number(), nil
}

func (p *jsonReader) object(depth int) (Value, error) {
	d := NewDict()
	for p.i++; p.space() != '}'; {
		if p.s[p.i] == ',' {
			p.i++
			p.space()
		}
		key := p.string()
		p.space()
		p.i++ // the colon
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.Set(key, v)
	}
	p.i++
	return d, nil
}

func (p *jsonReader) array(depth int) (Value, error) {
	l := NewList()
	for p.i++; p.space() != ']'; {
		if p.s[p.i] == ',' {
			p.i++
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	p.i++
	return l, nil
}

func (p *jsonReader) string() string {
	start := p.i
	plain := true
	for p.i++; p.s[p.i] != '"'; p.i++ {
		if p.s[p.i] == '\\' {
			plain = false
			p.i++
		}
	}
	p.i++
	raw := p.s[start:p.i]
	if plain && utf8.ValidString(raw) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // cannot fail: encoding/json has accepted it
	return s
}

func (p *jsonReader) number() Value {
	start := p.i
	for p.i < len(p.s) && strings.IndexByte("+-0123456789.eE", p.s[p.i]) >= 0 {
		p.i++
	}
	raw := p.s[start:p.i]
	if strings.ContainsAny(raw, ".eE") {
		f, _ := strconv.ParseFloat(raw, 64) // out of range: ±Inf, as in Python
		return Float(f)
	}
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return Int(n)
	}
	b, _ := new(big.Int).SetString(raw, 10)
	return intOf(b)
}
