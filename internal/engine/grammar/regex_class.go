package grammar

import (
	"errors"
	"fmt"
	"strconv"
	"unicode"
)

func (ps *reParser) class() ([]span, error) {
	neg := ps.accept("^")
	var set []span
	for {
		if !ps.more() {
			return nil, errors.New("missing ]")
		}
		if ps.accept("]") {
			break
		}
		lo, err := ps.classAtom()
		if err != nil {
			return nil, err
		}
		if ps.peek() == '-' && ps.pos+1 < len(ps.src) && ps.src[ps.pos+1] != ']' && single(lo) {
			save := ps.pos
			ps.pos++
			hi, err := ps.classAtom()
			if err != nil {
				return nil, err
			}
			if single(hi) {
				if hi[0].lo < lo[0].lo {
					return nil, errors.New("range out of order")
				}
				lo = []span{{lo[0].lo, hi[0].lo}}
			} else {
				ps.pos = save // as in [a-\d]: the dash is literal
			}
		}
		set = append(set, lo...)
	}
	if neg {
		return outside(set), nil
	}
	return normalise(set), nil
}

func single(s []span) bool { return len(s) == 1 && s[0].lo == s[0].hi }

func (ps *reParser) classAtom() ([]span, error) {
	r := ps.rune()
	if r == '\\' {
		return ps.escape(true)
	}
	return []span{{r, r}}, nil
}

var (
	digits = []span{{'0', '9'}}
	words  = []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaces = []span{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}}
)

func (ps *reParser) escape(inClass bool) ([]span, error) {
	if !ps.more() {
		return nil, errors.New("pattern ends with a backslash")
	}
	one := func(r rune) ([]span, error) { return []span{{r, r}}, nil }
	switch r := ps.rune(); r {
	case 'd':
		return digits, nil
	case 'D':
		return outside(digits), nil
	case 'w':
		return words, nil
	case 'W':
		return outside(words), nil
	case 's':
		return spaces, nil
	case 'S':
		return outside(spaces), nil
	case 't':
		return one('\t')
	case 'n':
		return one('\n')
	case 'r':
		return one('\r')
	case 'f':
		return one('\f')
	case 'v':
		return one('\v')
	case '0':
		return one(0)
	case 'b':
		if inClass {
			return one('\b')
		}
		return nil, errors.New(`word boundary \b is not supported`)
	case 'B':
		return nil, errors.New(`\B is not supported`)
	case 'x':
		return ps.hexRune(2)
	case 'u':
		if ps.accept("{") {
			start := ps.pos
			for ps.more() && ps.peek() != '}' {
				ps.pos++
			}
			n, err := strconv.ParseUint(ps.src[start:ps.pos], 16, 32)
			if err != nil || !ps.accept("}") || rune(n) > runeMax {
				return nil, errors.New(`bad \u{...}`)
			}
			return one(rune(n))
		}
		return ps.hexRune(4)
	case 'c':
		if l := ps.peek(); l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z' {
			ps.pos++
			return one(rune(l & 31))
		}
		return nil, errors.New(`bad \c`)
	case 'p', 'P':
		return ps.property(r == 'P')
	default:
		if r >= '1' && r <= '9' {
			return nil, errors.New("a reference to a group is not supported")
		}
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return nil, fmt.Errorf(`unknown escape \%c`, r)
		}
		return one(r)
	}
}

func (ps *reParser) hexRune(n int) ([]span, error) {
	if ps.pos+n > len(ps.src) {
		return nil, errors.New("hexadecimal escape is too short")
	}
	v, err := strconv.ParseUint(ps.src[ps.pos:ps.pos+n], 16, 32)
	if err != nil {
		return nil, errors.New("bad hexadecimal escape")
	}
	ps.pos += n
	r := rune(v)
	if r >= 0xd800 && r <= 0xdbff && ps.accept(`\u`) {
		low, err := ps.hexRune(4)
		if err != nil || low[0].lo < 0xdc00 || low[0].lo > 0xdfff {
			return nil, errors.New("half of a surrogate pair")
		}
		r = pair(r, low[0].lo)
	}
	return []span{{r, r}}, nil
}

// property reads the rest of \p{Name} or \p{Key=Name}.
func (ps *reParser) property(neg bool) ([]span, error) {
	var name string
	if ps.accept("{") {
		start := ps.pos
		for ps.more() && ps.peek() != '}' {
			ps.pos++
		}
		name = ps.src[start:ps.pos]
		if !ps.accept("}") {
			return nil, errors.New(`\p without }`)
		}
	} else if ps.more() {
		name = string(ps.rune())
	}
	table := unicodeTable(name)
	if table == nil {
		return nil, fmt.Errorf(`unknown property \p{%s}`, clip(name))
	}
	var set []span
	for _, r := range table.R16 {
		set = appendRange(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		set = appendRange(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	if neg {
		return outside(set), nil
	}
	return normalise(set), nil
}

func appendRange(set []span, lo, hi, stride rune) []span {
	if stride == 1 {
		return append(set, span{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		set = append(set, span{r, r})
	}
	return set
}

var longCategories = map[string]string{
	"Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Mark": "M", "Number": "N", "Decimal_Number": "Nd",
	"Punctuation": "P", "Symbol": "S", "Separator": "Z", "Space_Separator": "Zs", "Other": "C", "Control": "Cc",
	"digit": "Nd", "punct": "P", "Alphabetic": "L",
}

func unicodeTable(name string) *unicode.RangeTable {
	for _, key := range []string{"General_Category=", "gc=", "Script=", "sc=", "Script_Extensions=", "scx="} {
		if len(name) > len(key) && name[:len(key)] == key {
			name = name[len(key):]
			break
		}
	}
	if short, ok := longCategories[name]; ok {
		name = short
	}
	if t, ok := unicode.Categories[name]; ok {
		return t
	}
	if t, ok := unicode.Scripts[name]; ok {
		return t
	}
	return unicode.Properties[name]
}
