package jinja

import (
	"strconv"
	"strings"
)

// strFormat is text.format(…).
func strFormat(r *run, c call) (Value, error) {
	d := NewDict()
	for _, k := range c.kw {
		d.Set(k.name, k.v)
	}
	return formatText(r, c.self, c.rest, d)
}

func strFormatMap(r *run, c call) (Value, error) {
	d, ok := c.args[0].(*Dict)
	if !ok {
		return nil, typeError("format_map() takes a mapping, not %s", c.args[0].typeName())
	}
	return formatText(r, c.self, nil, d)
}

func formatText(r *run, model Value, args []Value, kw *Dict) (Value, error) {
	f := &braceFormatter{r: r, args: args, kw: kw, safe: isMarkup(model)}
	s, _ := text(model)
	out, err := f.format(s, 2)
	return like(model, out), err
}

// braceFormatter fills replacement fields {name.attr[index]!conversion:spec}.
type braceFormatter struct {
	r    *run
	args []Value
	kw   *Dict
	auto int // index of the next {}; -1 once fields are numbered
	safe bool
}

func (f *braceFormatter) format(in string, depth int) (string, error) {
	if depth == 0 {
		return "", valueError("Max string recursion exceeded")
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(in, "{}")
		if i < 0 {
			b.WriteString(in)
			return b.String(), f.r.grow(b.Len())
		}
		b.WriteString(in[:i])
		if strings.HasPrefix(in[i+1:], in[i:i+1]) {
			b.WriteByte(in[i])
			in = in[i+2:]
			continue
		}
		if in[i] == '}' {
			return "", valueError("Single '}' encountered in format string")
		}
		end := fieldEnd(in[i+1:])
		if end < 0 {
			return "", valueError("expected '}' before end of string")
		}
		s, err := f.field(in[i+1:i+1+end], depth)
		if err != nil {
			return "", err
		}
		b.WriteString(s)
		if err := f.r.grow(b.Len()); err != nil {
			return "", err
		}
		in = in[i+2+end:]
	}
}

// fieldEnd returns the index of the brace that closes a field.
func fieldEnd(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

func (f *braceFormatter) field(in string, depth int) (string, error) {
	name, format, _ := strings.Cut(in, ":")
	conversion := ""
	if i := strings.LastIndexByte(name, '!'); i >= 0 {
		name, conversion = name[:i], name[i+1:]
	}
	v, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(format, "{}") {
		if format, err = f.format(format, depth-1); err != nil {
			return "", err
		}
	}
	switch conversion {
	case "":
	case "s":
		s, err := f.r.str(v)
		if err != nil {
			return "", err
		}
		v = Str(s)
	case "r", "a":
		v = Str(repr(v))
	default:
		return "", valueError("Unknown conversion specifier %s", quoteRepr(conversion))
	}
	return f.value(v, format)
}

func (f *braceFormatter) value(v Value, format string) (string, error) {
	var s string
	var err error
	if format == "" {
		s, err = f.r.str(v)
	} else {
		var sp *spec
		if sp, err = parseSpec(format, f.r.opts.MaxOutput); err == nil {
			s, err = sp.format(f.r, v)
		}
	}
	if f.safe && !isMarkup(v) {
		s = escapeHTML(s)
	}
	return s, err
}

// lookup resolves a field name: an argument, then attributes and indexes.
func (f *braceFormatter) lookup(name string) (Value, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v, err := f.argument(name[:end])
	if err != nil {
		return nil, err
	}
	for rest := name[end:]; rest != ""; {
		var key string
		if rest[0] == '.' {
			n := strings.IndexAny(rest[1:], ".[")
			if n < 0 {
				n = len(rest) - 1
			}
			key, rest = rest[1:1+n], rest[1+n:]
			v, err = getAttr(v, key, Str(key))
		} else {
			n := strings.IndexByte(rest, ']')
			if n < 0 {
				return nil, valueError("Missing ']' in format string")
			}
			key, rest = rest[1:n], rest[n+1:]
			var index Value = Str(key)
			if i, err := strconv.ParseInt(key, 10, 64); err == nil {
				index = Int(i)
			}
			v, err = getItem(v, index)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (f *braceFormatter) argument(name string) (Value, error) {
	if name == "" {
		if f.auto < 0 {
			return nil, valueError("cannot switch from manual field specification to automatic field numbering")
		}
		f.auto++
		return f.at(f.auto - 1)
	}
	if i, err := strconv.Atoi(name); err == nil {
		if f.auto > 0 {
			return nil, valueError("cannot switch from automatic field numbering to manual field specification")
		}
		f.auto = -1
		return f.at(i)
	}
	v, ok := f.kw.Get(name)
	if !ok {
		return nil, &fault{"KeyError", quoteRepr(name)}
	}
	return v, nil
}

func (f *braceFormatter) at(i int) (Value, error) {
	if i < 0 || i >= len(f.args) {
		return nil, &fault{"IndexError", "Replacement index " + strconv.Itoa(i) + " out of range for positional args tuple"}
	}
	return f.args[i], nil
}
