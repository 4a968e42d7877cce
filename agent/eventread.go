package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// wireReader reads what a wireWriter writes. It ignores unknown fields.
type wireReader struct {
	depth int // of objects in objects
}

// value reads one JSON value into v. A null leaves it unchanged.
func (r *wireReader) value(data []byte, v reflect.Value) error {
	if isNull(data) {
		return nil
	}
	switch v.Type() {
	case rawType:
		v.SetBytes(bytes.Clone(data))
		return nil
	case durationType:
		return r.duration(data, v)
	case errorType:
		var e wireError
		if err := r.value(data, reflect.ValueOf(&e).Elem()); err != nil {
			return err
		}
		v.Set(reflect.ValueOf(e.error()))
		return nil
	case eventIface:
		ev, err := unmarshalEvent(data, r.depth)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(ev))
		return nil
	case partIface:
		return r.part(data, v)
	}
	switch v.Kind() {
	case reflect.String:
		var s string
		err := json.Unmarshal(data, &s)
		v.SetString(unescapeBytes(s))
		return err
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(data, v.Elem())
	case reflect.Struct:
		if r.depth++; r.depth > maxEventDepth {
			return errDeep
		}
		defer func() { r.depth-- }()
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		return r.fields(fields, v)
	case reflect.Slice:
		return r.slice(data, v)
	}
	return json.Unmarshal(data, v.Addr().Interface())
}

func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

func (r *wireReader) fields(fields map[string]json.RawMessage, v reflect.Value) error {
	t := v.Type()
	for i := range t.NumField() {
		f, x := t.Field(i), v.Field(i)
		if f.Anonymous {
			if err := r.fields(fields, x); err != nil {
				return err
			}
			continue
		}
		name := wireName(f)
		var err error
		if x.Type() == rawType {
			err = r.raw(fields, name, x)
		} else if data, ok := field(fields, name, f.Name); ok {
			err = r.value(data, x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// field returns the value of a field. Recordings of older versions have the Go name.
func field(fields map[string]json.RawMessage, name, goName string) (json.RawMessage, bool) {
	data, ok := fields[name]
	if !ok {
		data, ok = fields[goName]
	}
	return data, ok
}

// raw reads a JSON value that was written by rawField.
func (r *wireReader) raw(fields map[string]json.RawMessage, name string, v reflect.Value) error {
	if data, ok := fields["raw_"+name]; ok && !isNull(data) {
		var text string
		err := json.Unmarshal(data, &text)
		v.SetBytes([]byte(unescapeBytes(text)))
		return err
	}
	if data, ok := fields[rawBytesName(name)]; ok && !isNull(data) {
		return json.Unmarshal(data, (*[]byte)(v.Addr().Interface().(*json.RawMessage)))
	}
	if data, ok := fields[name]; ok {
		return r.value(data, v)
	}
	return nil
}

func (r *wireReader) duration(data []byte, v reflect.Value) error {
	var text string
	if json.Unmarshal(data, &text) != nil { // a number, as encoding/json writes it
		return json.Unmarshal(data, v.Addr().Interface())
	}
	d, err := time.ParseDuration(text)
	v.SetInt(int64(d))
	return err
}

func (r *wireReader) slice(data []byte, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		var b []byte
		err := json.Unmarshal(data, &b)
		v.SetBytes(b)
		return err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		if err := r.value(item, v.Index(i)); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (r *wireReader) part(data []byte, v reflect.Value) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	typ := partType(head.Type)
	if typ == nil {
		return fmt.Errorf("%w: %q", errNewerPart, head.Type)
	}
	p := reflect.New(typ).Elem()
	if err := r.value(data, p); err != nil {
		return err
	}
	v.Set(p)
	return nil
}
