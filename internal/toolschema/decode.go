package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Decoder decodes arguments that [FromType]'s schema accepts into values of the Go type. It works
// like encoding/json, except that a [time.Duration] is read from text such as "1m30s", and a whole
// number may be written 5.0 or 1e3.
type Decoder struct {
	durations rewrite  // nil if the type has none
	keys      [][]byte // quoted names of the members that hold durations
}

// rewrite converts the durations inside one value to nanoseconds.
type rewrite func(v *jsontree.Value) error

// NewDecoder returns the decoder of t, a type that [FromType] accepts.
func NewDecoder(t reflect.Type) *Decoder {
	keys := map[string]bool{}
	d := &Decoder{durations: durationsOf(t, keys)}
	for key := range keys {
		d.keys = append(d.keys, jsontree.AppendQuoted(nil, key))
	}
	return d
}

// mentions reports whether args may hold a duration, that is, whether the key of a duration occurs
// anywhere in the text.
func (d *Decoder) mentions(args []byte) bool {
	for _, key := range d.keys {
		if bytes.Contains(args, key) {
			return true
		}
	}
	return bytes.Contains(args, []byte(`\u`)) // a key may be written with escapes
}

// Decode decodes args into the value that ptr points to.
func (d *Decoder) Decode(args json.RawMessage, ptr any) error {
	if d.durations != nil && d.mentions(args) {
		v, err := jsontree.Parse(args)
		if err != nil {
			return err
		}
		if err := d.durations(v); err != nil {
			return err
		}
		args = v.JSON()
	}
	err := json.Unmarshal(args, ptr)
	te, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	if strings.HasPrefix(te.Value, "number") {
		v, perr := jsontree.Parse(args)
		if perr == nil && wholeNumbers(v) && json.Unmarshal(v.JSON(), ptr) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s: %s does not fit into a %v", te.Field, te.Value, te.Type)
}

// wholeNumbers rewrites numbers such as 5.0 and 1e3 as integers and reports whether there were any.
func wholeNumbers(v *jsontree.Value) bool {
	changed := false
	switch v.Kind {
	case jsontree.Number:
		raw := v.Raw()
		if !strings.ContainsAny(raw, ".eE") || len(raw) > 64 {
			return false
		}
		if r, ok := new(big.Rat).SetString(raw); ok && r.IsInt() && r.Num().IsInt64() {
			*v = *jsontree.NewInt(r.Num().Int64())
			return true
		}
	case jsontree.Array:
		for _, x := range v.Items {
			changed = wholeNumbers(x) || changed
		}
	case jsontree.Object:
		for _, m := range v.Members {
			changed = wholeNumbers(m.Value) || changed
		}
	}
	return changed
}

// durationsOf returns a function that rewrites the durations in a value of t, or nil if there are
// none. It adds the names of the struct fields that hold durations to keys.
func durationsOf(t reflect.Type, keys map[string]bool) rewrite {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == durationType {
		return rewriteDuration
	}
	if isLeaf(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return structDurations(t, keys)
	case reflect.Slice, reflect.Array:
		if inner := durationsOf(t.Elem(), keys); inner != nil {
			return func(v *jsontree.Value) error {
				for i, x := range v.Items {
					if err := inner(x); err != nil {
						return fmt.Errorf("[%d]%w", i, err)
					}
				}
				return nil
			}
		}
	case reflect.Map:
		if inner := durationsOf(t.Elem(), keys); inner != nil {
			return func(v *jsontree.Value) error {
				for _, m := range v.Members {
					if err := inner(m.Value); err != nil {
						return fmt.Errorf("%s: %w", m.Key, err)
					}
				}
				return nil
			}
		}
	}
	return nil
}

func structDurations(t reflect.Type, keys map[string]bool) rewrite {
	byKey := map[string]rewrite{}
	for _, f := range jsonFields(t) {
		if inner := durationsOf(f.Type, keys); inner != nil {
			keys[f.key] = true
			byKey[f.key] = inner
		}
	}
	if len(byKey) == 0 {
		return nil
	}
	return func(v *jsontree.Value) error {
		for _, m := range v.Members {
			if inner := byKey[m.Key]; inner != nil {
				if err := inner(m.Value); err != nil {
					return fmt.Errorf("%s: %w", m.Key, err)
				}
			}
		}
		return nil
	}
}

func rewriteDuration(v *jsontree.Value) error {
	if v.Kind != jsontree.String {
		return nil
	}
	text := strings.TrimSpace(v.Text())
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%s is not a duration; write one such as \"30s\", \"1m30s\" or \"2h\"", strconv.Quote(text))
	}
	*v = *jsontree.NewInt(int64(d))
	return nil
}
