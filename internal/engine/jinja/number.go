package jinja

import (
	"math"
	"math/big"
)

// maxBits limits the size of integers. Larger results are an error, so that powers cannot exhaust
// the memory.
const maxBits = 1 << 16

// intOf returns the integer as an Int if it fits.
func intOf(b *big.Int) Value {
	if b.IsInt64() {
		return Int(b.Int64())
	}
	return &bigInt{b}
}

// bigOf returns the integer in an Int, Bool or bigInt.
func bigOf(v Value) (*big.Int, bool) {
	switch v := v.(type) {
	case Int:
		return big.NewInt(int64(v)), true
	case Bool:
		return big.NewInt(int64(boolInt(v))), true
	case *bigInt:
		return v.v, true
	}
	return nil, false
}

func boolInt(b Bool) Int {
	if b {
		return 1
	}
	return 0
}

// intValue returns a small integer: an Int or a Bool.
func intValue(v Value) (int64, bool) {
	switch v := v.(type) {
	case Int:
		return int64(v), true
	case Bool:
		return int64(boolInt(v)), true
	}
	return 0, false
}

// floatValue returns a number of any kind as a float; the result ok is false for other kinds.
func floatValue(v Value) (f float64, ok bool) {
	switch v := v.(type) {
	case Float:
		return float64(v), true
	case Int:
		return float64(v), true
	case Bool:
		return float64(boolInt(v)), true
	case *bigInt:
		f, _ := new(big.Float).SetInt(v.v).Float64()
		return f, true
	}
	return 0, false
}

func isNumber(v Value) bool {
	switch v.(type) {
	case Int, Float, Bool, *bigInt:
		return true
	}
	return false
}

// arith applies an operator to two numbers.
func arith(op operator, a, b Value) (Value, error) {
	_, aFloat := a.(Float)
	_, bFloat := b.(Float)
	if aFloat || bFloat || op == opDiv {
		return floatArith(op, a, b)
	}
	x, ok1 := intValue(a)
	y, ok2 := intValue(b)
	if ok1 && ok2 {
		if v, ok, err := smallArith(op, x, y); ok || err != nil {
			return v, err
		}
	}
	bx, _ := bigOf(a)
	by, _ := bigOf(b)
	return bigArith(op, bx, by)
}

var errZeroDiv = &fault{"ZeroDivisionError", "integer division or modulo by zero"}

// smallArith works in 64 bits; the result ok is false if the value may not fit.
func smallArith(op operator, x, y int64) (v Value, ok bool, err error) {
	switch op {
	case opAdd:
		s := x + y
		return Int(s), (s > x) == (y > 0), nil
	case opSub:
		s := x - y
		return Int(s), (s < x) == (y > 0), nil
	case opMul:
		if x == 0 || y == 0 {
			return Int(0), true, nil
		}
		p := x * y
		return Int(p), p/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64), nil
	case opFloorDiv, opMod:
		if y == 0 {
			return nil, false, errZeroDiv
		}
		if x == math.MinInt64 && y == -1 {
			return nil, false, nil
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q, m = q-1, m+y
		}
		if op == opMod {
			return Int(m), true, nil
		}
		return Int(q), true, nil
	}
	return nil, false, nil
}

func bigArith(op operator, x, y *big.Int) (Value, error) {
	z := new(big.Int)
	switch op {
	case opAdd:
		z.Add(x, y)
	case opSub:
		z.Sub(x, y)
	case opMul:
		z.Mul(x, y)
	case opFloorDiv, opMod:
		if y.Sign() == 0 {
			return nil, errZeroDiv
		}
		m := new(big.Int)
		z.DivMod(x, y, m) // Euclidean: 0 <= m; Python's remainder has the sign of y
		if m.Sign() != 0 && y.Sign() < 0 {
			z.Sub(z, big.NewInt(1))
			m.Add(m, y)
		}
		if op == opMod {
			z = m
		}
	case opPow:
		if y.Sign() < 0 {
			return floatArith(op, intOf(x), intOf(y))
		}
		if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits/int64(x.BitLen()-1)) {
			return nil, limitError("integer power is larger than %d bits", maxBits)
		}
		if x.BitLen() <= 1 { // -1, 0 and 1, for any power
			if y.Sign() > 0 {
				odd := y.Bit(0)
				y = big.NewInt(int64(2 - odd))
			}
		}
		z.Exp(x, y, nil)
	}
	if z.BitLen() > maxBits {
		return nil, limitError("integer is larger than %d bits", maxBits)
	}
	return intOf(z), nil
}

func floatArith(op operator, a, b Value) (Value, error) {
	x, _ := floatValue(a)
	y, _ := floatValue(b)
	if math.IsInf(x, 0) && !isFloat(a) || math.IsInf(y, 0) && !isFloat(b) {
		return nil, &fault{"OverflowError", "int too large to convert to float"}
	}
	switch op {
	case opAdd:
		return Float(x + y), nil
	case opSub:
		return Float(x - y), nil
	case opMul:
		return Float(x * y), nil
	case opPow:
		return floatPow(x, y)
	}
	if y == 0 {
		return nil, divisionByZero(op, a, b)
	}
	switch op {
	case opDiv:
		bx, ok1 := bigOf(a)
		by, ok2 := bigOf(b)
		if ok1 && ok2 && (bx.BitLen() > 53 || by.BitLen() > 53) { // round once instead of three times
			q, _ := new(big.Rat).SetFrac(bx, by).Float64()
			return Float(q), nil
		}
		return Float(x / y), nil
	case opFloorDiv:
		q, _ := floatDivMod(x, y)
		return Float(q), nil
	}
	_, m := floatDivMod(x, y)
	return Float(m), nil
}

func isFloat(v Value) bool { _, ok := v.(Float); return ok }

func divisionByZero(op operator, a, b Value) error {
	msg := "float division by zero"
	switch {
	case op == opDiv && !isFloat(a) && !isFloat(b):
		msg = "division by zero"
	case op == opFloorDiv:
		msg = "float floor division by zero"
	case op == opMod:
		msg = "float modulo"
	}
	return &fault{"ZeroDivisionError", msg}
}

// floatDivMod is Python's divmod: the remainder has the sign of the divisor.
func floatDivMod(x, y float64) (q, m float64) {
	m = math.Mod(x, y)
	q = (x - m) / y
	if m != 0 {
		if (y < 0) != (m < 0) {
			m += y
			q--
		}
	} else {
		m = math.Copysign(0, y)
	}
	if q != 0 {
		f := math.Floor(q)
		if q-f > 0.5 {
			f++
		}
		return f, m
	}
	return math.Copysign(0, x/y), m
}

func floatPow(x, y float64) (Value, error) {
	if x == 0 && y < 0 {
		return nil, &fault{"ZeroDivisionError", "0.0 cannot be raised to a negative power"}
	}
	if x < 0 && y != math.Floor(y) && !math.IsInf(y, 0) && !math.IsInf(x, 0) {
		return nil, valueError("complex numbers are not supported: negative number to a fractional power")
	}
	z := pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, &fault{"OverflowError", "(34, 'Numerical result out of range')"}
	}
	return Float(z), nil
}

// pow rounds whole powers correctly, as the C library does; math.Pow can be wrong in the last
// digits.
func pow(x, y float64) float64 {
	if y != math.Trunc(y) || math.Abs(y) > 1024 || x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return math.Pow(x, y)
	}
	z := big.NewFloat(1).SetPrec(512)
	base := big.NewFloat(x).SetPrec(512)
	for n := uint(math.Abs(y)); n > 0; n >>= 1 {
		if n&1 == 1 {
			z.Mul(z, base)
		}
		base.Mul(base, base)
	}
	if y < 0 {
		z.Quo(big.NewFloat(1).SetPrec(512), z)
	}
	f, _ := z.Float64()
	return f
}
