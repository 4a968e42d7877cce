package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// percent implements Python's expression text % values.
func (r *run) percent(model Value, format string, args Value) (Value, error) {
	p := &percentFormatter{r: r, in: format, safe: isMarkup(model), mapping: args}
	switch a := args.(type) {
	case *tuple:
		p.args, p.mapping = a.items, nil
	default:
		p.args, p.single = []Value{args}, true
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	_, isDict := args.(*Dict)
	if p.used < len(p.args) && !isDict && !(p.single && isIndexable(args)) {
		return nil, typeError("not all arguments converted during string formatting")
	}
	return like(model, p.out.String()), nil
}

func isMarkup(v Value) bool { _, ok := v.(markup); return ok }

// isIndexable reports whether Python treats a single value as a mapping, in which case it is not an
// error if the format does not use it.
func isIndexable(v Value) bool {
	switch v.(type) {
	case *List, *rangeValue, *undefined:
		return true
	}
	return false
}

func filterFormat(r *run, c call) (Value, error) {
	if len(c.rest) > 0 && len(c.kw) > 0 {
		return nil, &fault{"FilterArgumentError", "can't handle positional and keyword arguments at the same time"}
	}
	s, err := r.str(c.self)
	if err != nil {
		return nil, err
	}
	if len(c.kw) > 0 {
		d := NewDict()
		for _, k := range c.kw {
			d.Set(k.name, k.v)
		}
		return r.percent(c.self, s, d)
	}
	return r.percent(c.self, s, &tuple{items: c.rest})
}

type percentFormatter struct {
	r       *run
	in      string
	out     strings.Builder
	args    []Value
	used    int
	single  bool
	mapping Value
	safe    bool // the format is safe text, so values are escaped
}

func (p *percentFormatter) run() error {
	for {
		i := strings.IndexByte(p.in, '%')
		if i < 0 {
			p.out.WriteString(p.in)
			return p.r.grow(p.out.Len())
		}
		p.out.WriteString(p.in[:i])
		p.in = p.in[i+1:]
		if err := p.directive(); err != nil {
			return err
		}
		if err := p.r.grow(p.out.Len()); err != nil {
			return err
		}
	}
}

func (p *percentFormatter) next() (Value, error) {
	if p.used >= len(p.args) {
		return nil, typeError("not enough arguments for format string")
	}
	p.used++
	return p.args[p.used-1], nil
}

// width reads a number or a *.
func (p *percentFormatter) width() (int, error) {
	if strings.HasPrefix(p.in, "*") {
		p.in = p.in[1:]
		v, err := p.next()
		if err != nil {
			return 0, err
		}
		n, ok := intValue(v)
		if !ok {
			return 0, typeError("* wants int")
		}
		return int(n), nil
	}
	n := digits(p.in, isDigit)
	if n == 0 {
		return 0, nil
	}
	v, err := strconv.Atoi(p.in[:n])
	p.in = p.in[n:]
	if err != nil || v > p.r.opts.MaxOutput {
		return 0, p.r.grow(p.r.opts.MaxOutput + 1)
	}
	return v, nil
}

func (p *percentFormatter) directive() error {
	s := spec{fill: ' ', precision: -1, percent: true}
	value, keyed, err := p.key()
	if err != nil {
		return err
	}
	for p.in != "" && strings.IndexByte("-+ #0", p.in[0]) >= 0 {
		switch p.in[0] {
		case '-':
			s.align = '<'
		case '+', ' ':
			if s.sign != '+' {
				s.sign = p.in[0]
			}
		case '#':
			s.alt = true
		case '0':
			s.zero = true
		}
		p.in = p.in[1:]
	}
	if s.width, err = p.width(); err != nil {
		return err
	}
	if s.width < 0 {
		s.align, s.width = '<', -s.width
	}
	if strings.HasPrefix(p.in, ".") {
		p.in = p.in[1:]
		if s.precision, err = p.width(); err != nil {
			return err
		}
	}
	p.in = strings.TrimLeft(p.in, "hlL")
	if p.in == "" {
		return valueError("incomplete format")
	}
	verb, n := utf8.DecodeRuneInString(p.in)
	p.in = p.in[n:]
	if verb == '%' {
		p.out.WriteByte('%')
		return nil
	}
	if !keyed {
		if value, err = p.next(); err != nil {
			return err
		}
	}
	return p.convert(&s, verb, value)
}

// key reads an optional (name).
func (p *percentFormatter) key() (v Value, ok bool, err error) {
	if !strings.HasPrefix(p.in, "(") {
		return nil, false, nil
	}
	end := strings.IndexByte(p.in, ')')
	if end < 0 {
		return nil, false, valueError("incomplete format key")
	}
	d, isDict := p.mapping.(*Dict)
	if !isDict {
		return nil, false, typeError("format requires a mapping")
	}
	name := p.in[1:end]
	p.in = p.in[end+1:]
	if v, ok = d.Get(name); !ok {
		return nil, false, &fault{"KeyError", quoteRepr(name)}
	}
	return v, true, nil
}

func (p *percentFormatter) convert(s *spec, verb rune, v Value) error {
	if u, ok := v.(*undefined); ok && verb != 's' && verb != 'r' && verb != 'a' {
		return u.err()
	}
	var out string
	var err error
	switch verb {
	case 's', 'r', 'a':
		out, err = p.text(s, verb, v)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		out, err = p.integer(s, verb, v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f, ok := floatValue(v)
		if !ok {
			return typeError("must be real number, not %s", v.typeName())
		}
		if s.precision < 0 {
			s.precision = 6
		}
		s.verb = byte(verb)
		out, err = s.float(p.r, f)
	case 'c':
		out, err = p.char(s, v)
	default:
		return valueError("unsupported format character '%c' (0x%x)", verb, verb)
	}
	p.out.WriteString(out)
	return err
}

func (p *percentFormatter) text(s *spec, verb rune, v Value) (string, error) {
	out := ""
	if verb == 's' {
		var err error
		if out, err = p.r.str(v); err != nil {
			return "", err
		}
		if p.safe && !isMarkup(v) {
			out = escapeHTML(out)
		}
	} else if out = repr(v); p.safe {
		out = escapeHTML(out)
	}
	s.zero = false
	return s.text(p.r, out)
}

func (p *percentFormatter) integer(s *spec, verb rune, v Value) (string, error) {
	if f, ok := v.(Float); ok && (verb == 'd' || verb == 'i' || verb == 'u') && !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) {
		v, _ = truncFloat(float64(f), Int(0))
	}
	b, ok := bigOf(v)
	if !ok {
		if verb == 'd' || verb == 'i' || verb == 'u' {
			return "", typeError("%%%c format: a real number is required, not %s", verb, v.typeName())
		}
		return "", typeError("%%%c format: an integer is required, not %s", verb, v.typeName())
	}
	if verb == 'i' || verb == 'u' {
		verb = 'd'
	}
	s.verb = byte(verb)
	return s.integer(p.r, b)
}

func (p *percentFormatter) char(s *spec, v Value) (string, error) {
	if t, ok := text(v); ok && runeLen(t) == 1 {
		return s.text(p.r, t)
	}
	if b, ok := bigOf(v); ok {
		if b.Sign() < 0 || b.Cmp(big.NewInt(utf8.MaxRune)) > 0 {
			return "", &fault{"OverflowError", "%c arg not in range(0x110000)"}
		}
		return s.text(p.r, string(rune(b.Int64())))
	}
	return "", typeError("%%c requires int or char")
}
