package toolschema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// DurationPattern matches a [time.Duration] argument in the form that [time.ParseDuration] reads.
const DurationPattern = `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`

const durationHint = `A duration such as "30s", "1m30s" or "2h".`

// FromType returns the JSON Schema of the arguments that decode into t, which must be a struct or a
// pointer to one. Fields follow encoding/json (names, omitempty, embedding, "-"); the tags are
// those of github.com/invopop/jsonschema, except that a description may contain commas. A field
// that is a pointer, has omitempty or omitzero, or has a default is optional. It is an error if t
// is recursive or holds a type that JSON cannot represent.
func FromType(t reflect.Type) (*jsontree.Value, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isLeaf(t) {
		return nil, fmt.Errorf("arguments are an object, and %v is not a struct; use a struct with one field an argument, such as struct { Path string `json:\"path\"` }", t)
	}
	if err := checkType(t, t.Name(), nil); err != nil {
		return nil, err
	}
	v, err := reflectSchema(t)
	if err != nil {
		return nil, err
	}
	if err := refine(t, v); err != nil {
		return nil, err
	}
	v.Delete("$schema")
	v.Delete("$id")
	return v, nil
}

// reflectSchema returns invopop's schema of t, with everything in one tree.
func reflectSchema(t reflect.Type) (v *jsontree.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("schema of %v: %v", t, r)
		}
	}()
	r := &jsonschema.Reflector{DoNotReference: true, Anonymous: true, Mapper: mapType}
	text, err := json.Marshal(r.ReflectFromType(t))
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	return jsontree.Parse(text)
}

var (
	durationType   = reflect.TypeFor[time.Duration]()
	timeType       = reflect.TypeFor[time.Time]()
	urlType        = reflect.TypeFor[url.URL]()
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	bigIntType     = reflect.TypeFor[big.Int]()
	schemaImpl     = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
	aliasImpl      = reflect.TypeFor[interface{ JSONSchemaAlias() any }]()
	textImpl       = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonImpl       = reflect.TypeFor[json.Unmarshaler]()
)

// implements reports whether t or *t has the methods of iface.
func implements(t, iface reflect.Type) bool {
	return t.Implements(iface) || reflect.PointerTo(t).Implements(iface)
}

// isLeaf reports whether t decodes itself from one JSON value, whatever its Go fields are.
func isLeaf(t reflect.Type) bool {
	switch t {
	case durationType, timeType, rawMessageType, numberType, bigIntType:
		return true
	}
	return implements(t, schemaImpl) || implements(t, aliasImpl) || implements(t, jsonImpl) || implements(t, textImpl)
}

// mapType is called first for every type. It returns a fresh schema each time, because the
// reflector writes the field's tags into the schema.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case durationType:
		return &jsonschema.Schema{Type: "string", Pattern: DurationPattern}
	case timeType:
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case rawMessageType:
		return &jsonschema.Schema{}
	case numberType:
		return &jsonschema.Schema{Type: "number"}
	case bigIntType:
		return &jsonschema.Schema{Type: "integer"}
	}
	switch {
	case t.Implements(schemaImpl), t.Implements(aliasImpl):
		return nil // the reflector uses the type's own method
	case reflect.PointerTo(t).Implements(schemaImpl):
		return reflect.New(t).Interface().(interface{ JSONSchema() *jsonschema.Schema }).JSONSchema()
	case implements(t, jsonImpl):
		return &jsonschema.Schema{} // the type has custom JSON decoding, so any value may be valid
	case implements(t, textImpl):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// checkType finds types that would make the reflector overflow the stack or panic, and returns an
// error that names their location.
func checkType(t reflect.Type, at string, above []reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == urlType {
		return fmt.Errorf("%s: url.URL does not decode from JSON; use a string and url.Parse", at)
	}
	if isLeaf(t) {
		return nil
	}
	for _, up := range above {
		if up == t {
			return fmt.Errorf("%s: type %v contains itself, and a model's schema cannot be recursive; flatten it, or use json.RawMessage for the inner part", at, t)
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		above = append(above[:len(above):len(above)], t)
		for _, f := range jsonFields(t) {
			if err := checkType(f.Type, at+"."+f.Name, above); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		if t.Name() != "" {
			above = append(above[:len(above):len(above)], t)
		}
		return checkType(t.Elem(), at+"[]", above)
	case reflect.Map:
		if t.Name() != "" {
			above = append(above[:len(above):len(above)], t)
		}
		if err := checkMapKey(t, at); err != nil {
			return err
		}
		return checkType(t.Elem(), at+"{}", above)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s: JSON cannot decode into the interface %v; use any, json.RawMessage or a concrete type", at, t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s: a %v cannot be an argument; leave the field out with the tag json:\"-\"", at, t)
	}
	return nil
}

func checkMapKey(t reflect.Type, at string) error {
	switch t.Key().Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	}
	if implements(t.Key(), textImpl) {
		return nil
	}
	return fmt.Errorf("%s: the keys of %v are not text; use a map with string keys", at, t)
}
