package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/toolschema"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// body is a request body that is written field by field. It is append-only, so that a long history
// costs one pass over its bytes. Its last field is the one that grows from request to request.
type body struct {
	buf   []byte
	extra map[string]json.RawMessage
}

// field begins a field and reports whether the caller should write it: not if Extra names it.
func (b *body) field(name string) bool {
	if _, ok := b.extra[name]; ok {
		return false
	}
	b.key(name)
	return true
}

func (b *body) key(name string) {
	switch n := len(b.buf); {
	case n == 0:
		b.buf = append(b.buf, '{')
	case b.buf[n-1] != '{':
		b.buf = append(b.buf, ',')
	}
	b.str(name)
	b.buf = append(b.buf, ':')
}

func (b *body) str(s string)   { b.buf = jsontree.AppendQuoted(b.buf, s) }
func (b *body) raw(s string)   { b.buf = append(b.buf, s...) }
func (b *body) int(n int64)    { b.buf = strconv.AppendInt(b.buf, n, 10) }
func (b *body) bytes(p []byte) { b.buf = append(b.buf, p...) }

// comma separates the items of the list or object being written.
func (b *body) comma() {
	if n := len(b.buf); n > 0 && b.buf[n-1] != '[' && b.buf[n-1] != '{' {
		b.buf = append(b.buf, ',')
	}
}

func (b *body) stringField(name, value string) {
	if b.field(name) {
		b.str(value)
	}
}

func (b *body) rawField(name, value string) {
	if b.field(name) {
		b.raw(value)
	}
}

// extras writes the fields of Extra in a fixed order. A null value removes the field from the body.
func (b *body) extras() error {
	for _, name := range slices.Sorted(maps.Keys(b.extra)) {
		value := bytes.TrimSpace(b.extra[name])
		if !json.Valid(value) {
			return invalid("Request.Extra[%q] is not JSON: %s", name, excerpt(value))
		}
		if string(value) != "null" {
			b.key(name)
			b.bytes(value)
		}
	}
	return nil
}

// image appends an image's URL or data URL as a string.
func (b *body) image(img agent.Image) error {
	switch {
	case len(img.Data) > 0 && img.MediaType == "":
		return invalid("an image has data but no MediaType; set it, for instance to \"image/png\"")
	case len(img.Data) > 0:
		b.raw(`"data:`)
		quoted := jsontree.AppendQuoted(nil, img.MediaType)
		b.bytes(quoted[1 : len(quoted)-1])
		b.raw(`;base64,`)
		b.buf = base64.StdEncoding.AppendEncode(b.buf, img.Data)
		b.raw(`"`)
	case img.URL != "":
		b.str(img.URL)
	default:
		return invalid("an image has neither Data nor URL")
	}
	return nil
}

// arguments appends a call's arguments as a string. Servers that render chat templates parse it,
// and refuse the whole conversation if it is not an object.
func (b *body) arguments(args json.RawMessage) { b.str(string(wire.Object(args))) }

// members writes the fields of an object, sorted, without those that are written already.
func (b *body) members(fields map[string]json.RawMessage, written ...string) {
	if len(fields) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(written, name) {
			b.raw(",")
			b.str(name)
			b.raw(":")
			b.bytes(fields[name])
		}
	}
}

func invalid(format string, args ...any) *agent.ModelError {
	return &agent.ModelError{Kind: agent.ErrInvalid, Provider: provider, Err: fmt.Errorf("encode request: "+format, args...)}
}

func unsupported(format string, args ...any) *agent.ModelError {
	return &agent.ModelError{Kind: agent.ErrUnsupported, Provider: provider, Err: fmt.Errorf("encode request: "+format, args...)}
}

// schemaCache keeps converted schemas: a conversation offers the same tools in every request.
type schemaCache struct {
	mu sync.Mutex
	m  map[string]emitted
}

type emitted struct {
	schema string
	strict bool
}

const maxSchemas = 1024

// emit returns schema converted to a dialect.
func (c *schemaCache) emit(d toolschema.Dialect, schema json.RawMessage) (emitted, error) {
	key := string(d) + " " + string(schema)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.m[key]; ok {
		return e, nil
	}
	out, strict, err := toolschema.Emit(d, schema)
	if err != nil {
		return emitted{}, err
	}
	if c.m == nil || len(c.m) >= maxSchemas {
		c.m = map[string]emitted{}
	}
	e := emitted{string(out), strict}
	c.m[key] = e
	return e, nil
}
