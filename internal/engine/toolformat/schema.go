package toolformat

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// kinds is the set of JSON types that an argument may have; 0 if nothing is known.
type kinds uint8

const (
	isString  kinds = 1 << iota
	isInteger       // a number without a fraction
	isFraction
	isBool
	isNull
	isObject
	isArray

	isNumber  = isInteger | isFraction
	notString = isNumber | isBool | isNull | isObject | isArray
)

var kindOf = map[string]kinds{
	"string": isString, "number": isNumber, "integer": isInteger, "boolean": isBool,
	"null": isNull, "object": isObject, "array": isArray,
}

// types holds the types of a tool's arguments.
type types struct {
	root  *jsontree.Value // the schema of all arguments; may be nil
	kinds map[string]kinds
}

// of returns the kinds that the argument key may have. The receiver may be nil.
func (t *types) of(key string) kinds {
	if t == nil {
		return 0
	}
	return t.kinds[key]
}

// typesOf reads the types of all tools' arguments; nil if there are no tools.
func typesOf(tools []Tool) map[string]*types {
	if len(tools) == 0 {
		return nil
	}
	all := make(map[string]*types, len(tools))
	for _, tool := range tools {
		t := &types{kinds: map[string]kinds{}}
		all[tool.Name] = t
		root, err := jsontree.Parse(tool.Parameters)
		if err != nil {
			continue
		}
		t.root = root
		if props := root.Get("properties"); props != nil {
			for _, m := range props.Members {
				t.kinds[m.Key] = schemaKinds(root, m.Value)
			}
		}
	}
	return all
}

// maxKinds limits the schemas that schemaKinds looks at. Unions of references to unions double, or
// worse, with each level.
const maxKinds = 1000

// schemaKinds returns the types that a schema allows, or 0 if it does not specify them.
func schemaKinds(root, s *jsontree.Value) kinds {
	left := maxKinds
	return kindsOf(root, s, 0, &left)
}

// kindsOf looks at no more than left schemas.
func kindsOf(root, s *jsontree.Value, depth int, left *int) kinds {
	const maxDepth = 16
	if *left--; s == nil || s.Kind != jsontree.Object || depth > maxDepth || *left < 0 {
		return 0
	}
	k := typeKinds(s.Get("type"))
	if k == 0 {
		k = valueKinds(s)
	}
	if k == 0 {
		k = composedKinds(root, s, depth, left)
	}
	if n := s.Get("nullable"); n != nil && k != 0 {
		if yes, _ := n.Bool(); yes {
			k |= isNull
		}
	}
	return k
}

// typeKinds reads the keyword type.
func typeKinds(t *jsontree.Value) kinds {
	if t == nil {
		return 0
	}
	k := kindOf[t.Text()]
	for _, item := range t.Items {
		k |= kindOf[item.Text()]
	}
	return k
}

// valueKinds reads the keywords enum and const.
func valueKinds(s *jsontree.Value) kinds {
	var k kinds
	if e := s.Get("enum"); e != nil {
		for _, item := range e.Items {
			k |= kindOf[typeName(item)]
		}
	}
	if c := s.Get("const"); c != nil {
		k |= kindOf[typeName(c)]
	}
	return k
}

// typeName returns the JSON Schema type of a value.
func typeName(v *jsontree.Value) string {
	if v.Kind == jsontree.Bool {
		return "boolean"
	}
	return v.Kind.String()
}

// composedKinds reads $ref, anyOf, oneOf and allOf.
func composedKinds(root, s *jsontree.Value, depth int, left *int) kinds {
	if ref := s.Get("$ref"); ref != nil {
		return kindsOf(root, pointer(root, ref.Text()), depth+1, left)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list := s.Get(key)
		if list == nil {
			continue
		}
		var k kinds
		for _, item := range list.Items {
			one := kindsOf(root, item, depth+1, left)
			if one == 0 {
				return 0
			}
			k |= one
		}
		return k
	}
	if list := s.Get("allOf"); list != nil {
		for _, item := range list.Items {
			if k := kindsOf(root, item, depth+1, left); k != 0 {
				return k
			}
		}
	}
	return 0
}

// pointer resolves a reference inside a schema.
func pointer(root *jsontree.Value, ref string) *jsontree.Value {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	v := root
	for _, key := range strings.Split(path, "/") {
		if v == nil {
			return nil
		}
		v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
	}
	return v
}

// convert returns the text of an argument as JSON of one of the kinds. Text that matches none of
// them remains a string.
func (k kinds) convert(text string) string {
	if k == isString {
		return quote(text)
	}
	if v, ok := jsonValue(strings.TrimSpace(text)); ok && k.allows(v) {
		return v
	}
	return quote(text)
}

// allows reports whether a JSON text may be a value of the kinds. It returns false for a JSON
// string if strings are allowed, because such a text is used literally, including its quotes.
func (k kinds) allows(v string) bool {
	if k == 0 {
		return v[0] != '"'
	}
	return k&valueKind(v) != 0 && !(v[0] == '"' && k&isString != 0) || k&isString == 0
}

// valueKind returns the kind of a JSON text.
func valueKind(v string) kinds {
	switch v[0] {
	case '"':
		return isString
	case '{':
		return isObject
	case '[':
		return isArray
	case 't', 'f':
		return isBool
	case 'n':
		return isNull
	}
	if !strings.ContainsAny(v, ".eE") {
		return isInteger
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && f == math.Trunc(f) {
		return isInteger
	}
	return isFraction
}

// jsonValue returns a text as JSON, if it is JSON or Python.
func jsonValue(s string) (string, bool) {
	if s == "" {
		return "", false
	}
	if json.Valid([]byte(s)) {
		return s, true
	}
	if w, ok := word(s); ok {
		return w, true
	}
	if s[0] == '{' || s[0] == '[' {
		return pythonValue(s)
	}
	return "", false
}

// quote returns s as a JSON string.
func quote(s string) string { return string(jsontree.AppendQuoted(nil, s)) }
