package toolformat

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// nested converts tags inside an argument to JSON. The text open precedes the name of an opening
// tag, and with an added slash the name of a closing tag.
type nested struct {
	open  string
	root  *jsontree.Value // the schema of all arguments, for references; may be nil
	depth int             // tags around this text
}

// maxTags limits how deep tags are read. Deeper ones are text.
const maxTags = 64

// value converts tags to a list if the schema requires one or if all tags are named item, otherwise
// to an object.
func (n nested) value(s string, schema *jsontree.Value) (string, bool) {
	var keys, inner []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		rest, ok := strings.CutPrefix(s, n.open)
		if !ok {
			return "", false
		}
		key, rest, ok := strings.Cut(rest, ">")
		if !ok || strings.HasPrefix(key, "/") {
			return "", false
		}
		text, after, ok := n.element(rest, key)
		if !ok {
			text, after, ok = n.unnamed(rest)
		}
		if !ok {
			return "", false
		}
		keys, inner = append(keys, key), append(inner, text)
		s = after
	}
	k := schemaKinds(n.root, schema)
	list := k == 0 || k&isArray != 0
	for _, key := range keys {
		list = list && (key == "item" || k&isArray != 0 && k&isObject == 0)
	}
	schema = n.branch(schema, list)
	values := make([]string, len(inner))
	for i, text := range inner {
		if list {
			values[i] = n.text(text, schema.Get("items"))
		} else {
			values[i] = quote(keys[i]) + ": " + n.text(text, schema.Get("properties").Get(keys[i]))
		}
	}
	if list {
		return "[" + strings.Join(values, ", ") + "]", true
	}
	return "{" + strings.Join(values, ", ") + "}", true
}

// branch returns the alternative of a schema that describes a list if the parameter list is true,
// otherwise an object.
func (n nested) branch(schema *jsontree.Value, list bool) *jsontree.Value {
	if schema == nil {
		return nil
	}
	want := isObject
	if list {
		want = isArray
	}
	schema = deref(n.root, schema)
	for _, b := range branchesOf(schema) {
		if schemaKinds(n.root, b)&want != 0 {
			return deref(n.root, b)
		}
	}
	return schema
}

// element cuts rest at the closing tag of key, skipping nested elements of the same name.
func (n nested) element(rest, key string) (inner, after string, ok bool) {
	start, end := n.open+key+">", n.open+"/"+key+">"
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

// unnamed cuts rest at the closing tag that balances the opening tag before it, whatever its name.
func (n nested) unnamed(rest string) (inner, after string, ok bool) {
	depth := 1
	for i := 0; ; {
		c := strings.Index(rest[i:], n.open)
		if c < 0 {
			return "", "", false
		}
		at := i + c
		i = at + len(n.open)
		if !strings.HasPrefix(rest[i:], "/") {
			depth++
			continue
		}
		if depth--; depth > 0 {
			continue
		}
		end := strings.IndexByte(rest[i:], '>')
		if end < 0 {
			return "", "", false
		}
		return rest[:at], rest[i+end+1:], true
	}
}

// text returns the inside of a tag as JSON.
func (n nested) text(s string, schema *jsontree.Value) string {
	if n.depth++; n.depth <= maxTags && strings.HasPrefix(strings.TrimSpace(s), n.open) {
		if v, ok := n.value(s, schema); ok {
			return v
		}
	}
	return schemaKinds(n.root, schema).convert(s)
}
