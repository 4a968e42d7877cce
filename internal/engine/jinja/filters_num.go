package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

func filterAbs(_ *run, c call) (Value, error) {
	switch v := c.self.(type) {
	case Float:
		return Float(math.Abs(float64(v))), nil
	case *undefined:
		return nil, v.err()
	}
	b, ok := bigOf(c.self)
	if !ok {
		return nil, typeError("bad operand type for abs(): %s", quoteRepr(c.self.typeName()))
	}
	return intOf(new(big.Int).Abs(b)), nil
}

func filterInt(_ *run, c call) (Value, error) {
	base, err := c.intArg(1, 10)
	if err != nil {
		return nil, err
	}
	def := c.arg(0, Int(0))
	switch v := c.self.(type) {
	case Int, *bigInt:
		return v, nil
	case Bool:
		return boolInt(v), nil
	case Float:
		return truncFloat(float64(v), def)
	case *undefined:
		return nil, v.err()
	}
	s, ok := text(c.self)
	if !ok {
		return def, nil
	}
	if b, ok := parseInt(s, base); ok {
		return intOf(b), nil
	}
	if f, ok := parseFloat(s); ok {
		return truncFloat(f, def)
	}
	return def, nil
}

func truncFloat(f float64, def Value) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return def, nil
	}
	b, _ := big.NewFloat(math.Trunc(f)).Int(nil)
	return intOf(b), nil
}

// parseInt is Python's int(s, base).
func parseInt(s string, base int) (*big.Int, bool) {
	s = strings.TrimFunc(s, isSpace)
	digits := strings.TrimLeft(s, "+-")
	if base == 10 {
		digits = strings.TrimLeft(digits, "0")
	}
	if len(digits) > maxBits/4 || base < 0 || base == 1 || base > 36 || len(s)-len(strings.TrimLeft(s, "+-")) > 1 {
		return nil, false
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" {
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign, s = s[:1], s[1:]
		}
		if len(s) > 2 && strings.EqualFold(s[:2], prefix) {
			s = s[2:]
		}
		s = sign + s
	}
	return new(big.Int).SetString(s, base)
}

// parseFloat is Python's float(s).
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func filterFloat(_ *run, c call) (Value, error) {
	if u, ok := c.self.(*undefined); ok {
		return nil, u.err()
	}
	if f, ok := floatValue(c.self); ok {
		return Float(f), nil
	}
	if s, ok := text(c.self); ok {
		if f, ok := parseFloat(s); ok {
			return Float(f), nil
		}
	}
	return c.arg(0, Float(0)), nil
}

func filterRound(_ *run, c call) (Value, error) {
	precision, err := c.intArg(0, 0)
	if err != nil {
		return nil, err
	}
	method, err := c.strArg(1, "common")
	if err != nil {
		return nil, err
	}
	if u, ok := c.self.(*undefined); ok {
		return nil, u.err()
	}
	f, ok := floatValue(c.self)
	if !ok {
		return nil, typeError("type %s doesn't define __round__ method", c.self.typeName())
	}
	switch method {
	case "common":
		if !isFloat(c.self) {
			return roundInt(c.self, precision)
		}
		return roundFloat(f, precision), nil
	case "ceil", "floor":
		fn := map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor}[method]
		scale := math.Pow(10, float64(precision))
		return Float(fn(f*scale) / scale), nil
	}
	return nil, &fault{"FilterArgumentError", "method must be common, ceil or floor"}
}

// roundFloat rounds half to even on the exact value, as Python does.
func roundFloat(f float64, precision int) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) || precision > 323 {
		return Float(f)
	}
	if precision >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return Float(out)
	}
	if precision < -308 {
		return Float(math.Copysign(0, f))
	}
	scale := math.Pow(10, float64(-precision))
	return Float(math.RoundToEven(f/scale) * scale)
}

func roundInt(v Value, precision int) (Value, error) {
	b, _ := bigOf(v)
	if precision >= 0 {
		return intOf(b), nil
	}
	if precision < -maxBits/4 {
		return Int(0), nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-precision)), nil)
	q, m := new(big.Int).DivMod(b, unit, new(big.Int))
	m.Lsh(m, 1)
	if c := m.Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return intOf(q.Mul(q, unit)), nil
}

func filterFilesize(_ *run, c call) (Value, error) {
	f, ok := floatValue(c.self)
	if s, isText := text(c.self); isText {
		if f, ok = parseFloat(s); !ok {
			return nil, valueError("could not convert string to float: %s", quoteRepr(s))
		}
	}
	if u, isUndef := c.self.(*undefined); isUndef {
		return nil, u.err()
	}
	if !ok {
		return nil, typeError("float() argument must be a string or a real number, not %s", quoteRepr(c.self.typeName()))
	}
	base, units := 1000.0, [...]string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if c.boolArg(0, false) {
		base, units = 1024, [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case f == 1:
		return Str("1 Byte"), nil
	case f < base:
		return Str(fmt.Sprintf("%d Bytes", int64(f))), nil
	}
	i := 0
	for unit := base * base; f >= unit && i < len(units)-1; unit *= base {
		i++
	}
	return Str(fmt.Sprintf("%.1f %s", f/math.Pow(base, float64(i+1)), units[i])), nil
}
