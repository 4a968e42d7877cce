package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec describes how one value is formatted: Python's format specification, or a % directive.
type spec struct {
	fill      rune
	align     byte // '<', '>', '^', '=', or 0 for the default of the value's kind
	sign      byte // '+', ' ' or 0
	alt       bool
	zero      bool // pad numbers with zeros after the sign
	width     int
	group     byte // ',' or '_' or 0
	precision int  // -1 means none
	verb      byte // 0 means none
	percent   bool // a % directive, in which the precision of an integer is its number of digits
}

// parseSpec reads [[fill]align][sign][#][0][width][grouping][.precision][type].
func parseSpec(in string, limit int) (*spec, error) {
	s := &spec{fill: ' ', precision: -1}
	if r, n := utf8.DecodeRuneInString(in); n > 0 && len(in) > n && strings.IndexByte("<>=^", in[n]) >= 0 {
		s.fill, s.align, in = r, in[n], in[n+1:]
	} else if in != "" && strings.IndexByte("<>=^", in[0]) >= 0 {
		s.align, in = in[0], in[1:]
	}
	take := func(set string) byte {
		if in == "" || strings.IndexByte(set, in[0]) < 0 {
			return 0
		}
		c := in[0]
		in = in[1:]
		return c
	}
	number := func() (int, error) {
		n := digits(in, isDigit)
		v, err := strconv.Atoi("0" + in[:n])
		in = in[n:]
		if err != nil || v > limit {
			return 0, limitError("format width is more than %d", limit)
		}
		return v, nil
	}
	if s.sign = take("+- "); s.sign == '-' {
		s.sign = 0
	}
	s.alt = take("#") != 0
	s.zero = take("0") != 0
	var err error
	if s.width, err = number(); err != nil {
		return nil, err
	}
	s.group = take(",_")
	if take(".") != 0 {
		if in == "" || !isDigit(in[0]) {
			return nil, valueError("Format specifier missing precision")
		}
		if s.precision, err = number(); err != nil {
			return nil, err
		}
	}
	s.verb = take("bcdeEfFgGnosxX%")
	if in != "" {
		return nil, valueError("Invalid format specifier")
	}
	return s, nil
}

// format applies the specification to a value.
func (s *spec) format(r *run, v Value) (string, error) {
	if t, ok := text(v); ok {
		if s.verb != 0 && s.verb != 's' {
			return "", valueError("Unknown format code '%c' for object of type 'str'", s.verb)
		}
		if s.group != 0 {
			return "", valueError("Cannot specify '%c' with 's'.", s.group)
		}
		return s.text(r, t)
	}
	if b, ok := bigOf(v); ok {
		if strings.IndexByte("\x00bcdnoxX", s.verb) >= 0 {
			return s.integer(r, b)
		}
		if s.verb == 's' {
			return "", valueError("Unknown format code 's' for object of type %s", quoteRepr(v.typeName()))
		}
	}
	if f, ok := floatValue(v); ok {
		if strings.IndexByte("bcdoxXs", s.verb) >= 0 && s.verb != 0 {
			return "", valueError("Unknown format code '%c' for object of type %s", s.verb, quoteRepr(v.typeName()))
		}
		return s.float(r, f)
	}
	return "", typeError("unsupported format string passed to %s.__format__", v.typeName())
}

func (s *spec) text(r *run, t string) (string, error) {
	if s.precision >= 0 && s.precision < runeLen(t) {
		t = string([]rune(t)[:s.precision])
	}
	align := s.align
	if align == 0 {
		align = '<'
		if s.percent {
			align = '>'
		}
	}
	if align == '=' {
		return "", valueError("'=' alignment not allowed in string format specifier")
	}
	if align == '^' {
		return s.centered(r, t)
	}
	fill := s.fill
	if s.zero && !s.percent {
		fill = '0'
	}
	return r.pad(t, s.width, fill, align)
}

// centered puts an odd fill character on the right, as format does (str.center differs).
func (s *spec) centered(r *run, t string) (string, error) {
	n := max(0, s.width-runeLen(t))
	if err := r.grow(n); err != nil {
		return "", err
	}
	f := string(s.fill)
	return strings.Repeat(f, n/2) + t + strings.Repeat(f, n-n/2), nil
}

func (s *spec) integer(r *run, b *big.Int) (string, error) {
	base, prefix := 10, ""
	switch s.verb {
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0"+string(s.verb)
	case 'c':
		if !b.IsInt64() || b.Int64() < 0 || b.Int64() > utf8.MaxRune {
			return "", &fault{"OverflowError", "%c arg not in range(0x110000)"}
		}
		return s.text(r, string(rune(b.Int64())))
	}
	if s.precision >= 0 && !s.percent {
		return "", valueError("Precision not allowed in integer format specifier")
	}
	body := new(big.Int).Abs(b).Text(base)
	if s.verb == 'X' {
		body = strings.ToUpper(body)
	}
	if s.percent && s.precision > len(body) {
		var err error
		if body, err = r.pad(body, s.precision, '0', '>'); err != nil {
			return "", err
		}
	}
	sign := s.signOf(b.Sign() < 0)
	if s.alt {
		sign += prefix
	}
	size := 3
	if base != 10 {
		size = 4
	}
	return s.number(r, sign, body, "", size)
}

func (s *spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case s.sign != 0:
		return string(s.sign)
	}
	return ""
}

func (s *spec) float(r *run, f float64) (string, error) {
	verb, precision, suffix := s.verb, s.precision, ""
	if verb == '%' {
		f, verb, suffix = f*100, 'f', "%"
	}
	if precision > 1<<12 {
		return "", limitError("format precision is more than %d", 1<<12)
	}
	if precision < 0 && verb != 0 {
		precision = 6
	}
	sign := s.signOf(math.Signbit(f) && !math.IsNaN(f))
	f = math.Abs(f)
	var body string
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		body = "inf"
		if math.IsNaN(f) {
			body = "nan"
		}
		if verb >= 'E' && verb <= 'G' {
			body = strings.ToUpper(body)
		}
		s.zero = s.zero && !s.percent
	case verb == 0 && precision < 0:
		body = string(appendFloat(nil, f))
	case verb == 'f' || verb == 'F':
		body = strconv.FormatFloat(f, 'f', precision, 64)
	case verb == 'e' || verb == 'E':
		body = strconv.FormatFloat(f, verb, precision, 64)
	default:
		body = s.general(f, verb, precision)
	}
	whole, rest := body, ""
	if i := strings.IndexAny(body, ".eE"); i >= 0 {
		whole, rest = body[:i], body[i:]
	}
	return s.number(r, sign, whole, rest+suffix, 3)
}

// general is the g format: it uses exponent notation if the exponent is below -4, or is equal to or
// above the precision.
func (s *spec) general(f float64, verb byte, precision int) string {
	precision = max(precision, 1)
	e := strconv.FormatFloat(f, 'e', precision-1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	bound := precision
	if verb == 0 { // no type: like g, but a whole number keeps a digit after the point
		bound--
	}
	var body string
	if exp < -4 || exp >= max(bound, 1) && (verb == 0 || exp >= precision) {
		mant := e[:strings.IndexByte(e, 'e')]
		if !s.alt && strings.Contains(mant, ".") {
			mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
		}
		body = mant + e[strings.IndexByte(e, 'e'):]
	} else {
		body = strconv.FormatFloat(f, 'f', max(0, precision-1-exp), 64)
		if !s.alt && strings.Contains(body, ".") {
			body = strings.TrimRight(strings.TrimRight(body, "0"), ".")
		}
		if verb == 0 && !strings.Contains(body, ".") {
			body += ".0"
		}
	}
	if verb == 'G' {
		body = strings.ToUpper(body)
	}
	return body
}

// number assembles a number from sign, grouped digits, the rest and padding.
func (s *spec) number(r *run, sign, digits, rest string, groupSize int) (string, error) {
	align, fill := s.align, s.fill
	if s.zero && (align == 0 || align == '=') {
		align = '='
		if fill == ' ' {
			fill = '0'
		}
	}
	if s.zero && s.percent && s.align == '<' {
		align, fill = '<', ' '
	}
	if align == 0 {
		align = '>'
	}
	if s.width > 0 {
		if err := r.grow(s.width); err != nil {
			return "", err
		}
	}
	if align == '=' && fill == '0' && s.group != 0 {
		for grouped := s.grouped(digits, groupSize); len(sign)+len(grouped)+len(rest) < s.width; grouped = s.grouped(digits, groupSize) {
			digits = "0" + digits
		}
	}
	body := s.grouped(digits, groupSize) + rest
	switch align {
	case '=':
		body, err := r.pad(body, s.width-len(sign), fill, '>')
		return sign + body, err
	case '^':
		return s.centered(r, sign+body)
	}
	return r.pad(sign+body, s.width, fill, align)
}

func (s *spec) grouped(digits string, size int) string {
	if s.group == 0 || !isDigit(digits[0]) && size == 3 {
		return digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%size == 0 {
			b.WriteByte(s.group)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
