// Package jsonfit reads a model's answer as JSON and checks it against a JSON Schema. It needs only
// the standard library, because every program that imports package agent links it. A host that
// wants more (values of another type read as the right one, formats, any regular expression) uses
// the outputs of package tools.
//
// It knows every keyword of draft 2020-12 that constrains a value, and the items of draft 7, except
// for unevaluatedProperties, unevaluatedItems, dynamic references, and references to other
// documents. It ignores a format, and a pattern that Go's regular expressions cannot express.
package jsonfit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root *node // nil accepts any JSON
}

// node is one schema. Its zero value accepts everything.
type node struct {
	never    bool // the schema false
	types    []string
	enum     []*jsontree.Value // of enum or const
	ref      *node
	allOf    []*node
	anyOf    []*node
	oneOf    []*node
	not      *node
	cond     [3]*node // if, then, else
	num      numberRules
	length   bounds // of strings
	pattern  *regexp.Regexp
	items    *node
	prefix   []*node
	count    bounds // of items
	contains *node
	matches  bounds // of contains
	unique   bool
	object   objectRules
}

type numberRules struct {
	min, max, above, below, step *big.Rat // nil for none
}

// bounds limits a count; max is -1 for none.
type bounds struct{ min, max int }

type objectRules struct {
	props    map[string]*node
	patterns []patternRule
	rest     *node // of other members; nil accepts them
	names    *node
	required []string
	needs    map[string][]string // dependentRequired
	also     map[string]*node    // dependentSchemas
	count    bounds
}

type patternRule struct {
	re *regexp.Regexp
	s  *node
}

// Compile compiles a schema. An empty schema accepts any JSON.
func Compile(schema json.RawMessage) (*Schema, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return &Schema{}, nil
	}
	tree, err := jsontree.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	c := &compiler{root: tree, nodes: map[*jsontree.Value]*node{}}
	n := c.node(tree)
	if len(c.faults) > 0 {
		return nil, errors.New("compile schema: " + c.faults[0])
	}
	return &Schema{root: n}, nil
}

// compiler compiles each schema of a document once, so that a schema may refer to itself.
type compiler struct {
	root   *jsontree.Value
	nodes  map[*jsontree.Value]*node
	faults []string
}

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *compiler) node(v *jsontree.Value) *node {
	if v == nil {
		return nil
	}
	if n := c.nodes[v]; n != nil {
		return n
	}
	n := &node{length: bounds{0, -1}, count: bounds{0, -1}, matches: bounds{1, -1}, object: objectRules{count: bounds{0, -1}}}
	c.nodes[v] = n
	if yes, ok := v.Bool(); ok {
		n.never = !yes
		return n
	}
	if v.Kind != jsontree.Object {
		c.fault("a schema must be an object or a boolean, not %s", v.Kind)
		return n
	}
	for _, m := range v.Members {
		c.keyword(n, m.Key, m.Value)
	}
	if items := v.Get("items"); items != nil && items.Kind == jsontree.Array { // draft 7
		n.prefix, n.items = c.list(items), c.node(v.Get("additionalItems"))
	}
	c.exclusive(n, v)
	return n
}

// keyword compiles one keyword of a schema. It ignores those that constrain nothing.
func (c *compiler) keyword(n *node, key string, v *jsontree.Value) {
	switch key {
	case "type":
		n.types = c.texts(key, v)
	case "enum":
		n.enum = v.Items
	case "const":
		n.enum = []*jsontree.Value{v}
	case "$ref":
		n.ref = c.ref(v.Text())
	case "allOf":
		n.allOf = c.list(v)
	case "anyOf":
		n.anyOf = c.list(v)
	case "oneOf":
		n.oneOf = c.list(v)
	case "not":
		n.not = c.node(v)
	case "if":
		n.cond[0] = c.node(v)
	case "then":
		n.cond[1] = c.node(v)
	case "else":
		n.cond[2] = c.node(v)
	case "minimum":
		n.num.min = c.number(key, v)
	case "maximum":
		n.num.max = c.number(key, v)
	case "multipleOf":
		n.num.step = c.number(key, v)
	case "minLength":
		n.length.min = c.count(key, v)
	case "maxLength":
		n.length.max = c.count(key, v)
	case "pattern":
		n.pattern, _ = regexp.Compile(v.Text())
	case "items":
		if v.Kind != jsontree.Array {
			n.items = c.node(v)
		}
	case "prefixItems":
		n.prefix = c.list(v)
	case "contains":
		n.contains = c.node(v)
	case "minItems":
		n.count.min = c.count(key, v)
	case "maxItems":
		n.count.max = c.count(key, v)
	case "minContains":
		n.matches.min = c.count(key, v)
	case "maxContains":
		n.matches.max = c.count(key, v)
	case "uniqueItems":
		n.unique, _ = v.Bool()
	default:
		c.objectKeyword(&n.object, key, v)
	}
}

func (c *compiler) objectKeyword(o *objectRules, key string, v *jsontree.Value) {
	switch key {
	case "properties":
		o.props = map[string]*node{}
		for _, m := range v.Members {
			o.props[m.Key] = c.node(m.Value)
		}
	case "patternProperties":
		for _, m := range v.Members {
			re, err := regexp.Compile(m.Key)
			if err != nil {
				c.fault("patternProperties: %v", err)
				continue
			}
			o.patterns = append(o.patterns, patternRule{re, c.node(m.Value)})
		}
	case "additionalProperties":
		o.rest = c.node(v)
	case "propertyNames":
		o.names = c.node(v)
	case "required":
		o.required = c.texts(key, v)
	case "dependentRequired":
		o.needs = map[string][]string{}
		for _, m := range v.Members {
			o.needs[m.Key] = c.texts(key, m.Value)
		}
	case "dependentSchemas":
		o.also = map[string]*node{}
		for _, m := range v.Members {
			o.also[m.Key] = c.node(m.Value)
		}
	case "minProperties":
		o.count.min = c.count(key, v)
	case "maxProperties":
		o.count.max = c.count(key, v)
	}
}

// exclusive reads the exclusive bounds, which are numbers, or booleans about the other bounds in
// draft 4.
func (c *compiler) exclusive(n *node, v *jsontree.Value) {
	for _, b := range []struct {
		key          string
		plain, above **big.Rat
	}{{"exclusiveMinimum", &n.num.min, &n.num.above}, {"exclusiveMaximum", &n.num.max, &n.num.below}} {
		x := v.Get(b.key)
		if x == nil {
			continue
		}
		if yes, ok := x.Bool(); !ok {
			*b.above = c.number(b.key, x)
		} else if yes {
			*b.above, *b.plain = *b.plain, nil
		}
	}
}

func (c *compiler) list(v *jsontree.Value) []*node {
	var out []*node
	for _, x := range v.Items {
		out = append(out, c.node(x))
	}
	return out
}

func (c *compiler) texts(key string, v *jsontree.Value) []string {
	if v.Kind == jsontree.String {
		return []string{v.Text()}
	}
	var out []string
	for _, x := range v.Items {
		out = append(out, x.Text())
	}
	if len(out) == 0 && v.Kind != jsontree.Array {
		c.fault("%s must be a text or a list of texts", key)
	}
	return out
}

func (c *compiler) number(key string, v *jsontree.Value) *big.Rat {
	n := rat(v)
	if n == nil || (key == "multipleOf" && n.Sign() <= 0) {
		c.fault("%s: %s is no suitable number", key, v.JSON())
		return nil
	}
	return n
}

func (c *compiler) count(key string, v *jsontree.Value) int {
	n := rat(v)
	if n == nil || !n.IsInt() || !n.Num().IsInt64() || n.Sign() < 0 {
		c.fault("%s: %s is no count", key, v.JSON())
		return 0
	}
	return int(min(n.Num().Int64(), 1<<31-1))
}

// ref returns the schema that a local reference points at.
func (c *compiler) ref(at string) *node {
	pointer, ok := strings.CutPrefix(at, "#")
	if ok && pointer != "" && pointer[0] != '/' {
		if v := anchored(c.root, pointer); v != nil {
			return c.node(v)
		}
	}
	v := c.root
	if ok && pointer != "" {
		pointer, _ = url.PathUnescape(pointer)
		for _, seg := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
			if i, err := strconv.Atoi(seg); err == nil && v.Kind == jsontree.Array && i >= 0 && i < len(v.Items) {
				v = v.Items[i]
			} else {
				v = v.Get(seg)
			}
			if v == nil {
				break
			}
		}
	}
	if !ok || v == nil {
		c.fault("the reference %q leads nowhere; only references inside the schema are followed", at)
		return nil
	}
	return c.node(v)
}

// anchored returns the schema with an $anchor.
func anchored(v *jsontree.Value, name string) *jsontree.Value {
	if v.Get("$anchor").IsString(name) {
		return v
	}
	for _, m := range v.Members {
		if x := anchored(m.Value, name); x != nil {
			return x
		}
	}
	for _, x := range v.Items {
		if x := anchored(x, name); x != nil {
			return x
		}
	}
	return nil
}

// rat returns the exact value of a number, or nil. Computing with a number whose exponent has more
// than three digits would take unlimited memory.
func rat(v *jsontree.Value) *big.Rat {
	if v.Kind != jsontree.Number {
		return nil
	}
	raw := v.Raw()
	if i := strings.IndexAny(raw, "eE"); i >= 0 && len(strings.TrimLeft(raw[i+1:], "+-0")) > 3 {
		return nil
	}
	n, ok := new(big.Rat).SetString(raw)
	if !ok {
		return nil
	}
	return n
}
