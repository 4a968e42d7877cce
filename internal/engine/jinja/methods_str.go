package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// strMethods are the methods of text.
var strMethods table

func init() {
	m := func(f func(string) string) builtin { return builtin{fn: onText(f)} }
	is := func(f func(string) bool) builtin {
		return builtin{fn: func(_ *run, c call) (Value, error) { return Bool(f(c.selfText())), nil }}
	}
	strip := func(left, right bool) builtin {
		return builtin{params: params("chars="), fn: func(_ *run, c call) (Value, error) {
			return stripped(c, c.selfText(), left, right)
		}}
	}
	pad := func(align byte) builtin {
		return builtin{params: params("width fillchar="), fn: func(r *run, c call) (Value, error) { return padded(r, c, align) }}
	}
	strMethods = newTable(map[string]builtin{
		"capitalize": m(capitalize), "lower": m(lower), "upper": m(upper), "title": m(title), "swapcase": m(swapcase),
		"casefold": m(func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(lower(s), "ß", "ss"), "ς", "σ") }),
		"isalnum":  is(all(isAlnum)), "isalpha": is(all(unicode.IsLetter)), "isdigit": is(all(unicode.IsDigit)),
		"isdecimal": is(all(unicode.IsDigit)), "isnumeric": is(all(unicode.IsNumber)), "isspace": is(all(isSpace)),
		"islower": is(isLower), "isupper": is(isUpper), "istitle": is(isTitle), "isascii": is(isASCII),
		"isidentifier": is(isIdentifier),
		"isprintable":  is(func(s string) bool { return s == "" || all(unicode.IsPrint)(s) }),
		"strip":        strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"center": pad('^'), "ljust": pad('<'), "rjust": pad('>'),
		"zfill":        {params: params("width"), fn: strZfill},
		"startswith":   {params: params("prefix start= end="), fn: affix(strings.HasPrefix)},
		"endswith":     {params: params("suffix start= end="), fn: affix(strings.HasSuffix)},
		"removeprefix": {params: params("prefix"), fn: withoutAffix(strings.TrimPrefix)},
		"removesuffix": {params: params("suffix"), fn: withoutAffix(strings.TrimSuffix)},
		"split":        {params: params("sep= maxsplit="), fn: strSplit},
		"rsplit":       {params: params("sep= maxsplit="), fn: strRsplit},
		"splitlines":   {params: params("keepends="), fn: strSplitlines},
		"partition":    {params: params("sep"), fn: partitioner(strings.Index, false)},
		"rpartition":   {params: params("sep"), fn: partitioner(strings.LastIndex, true)},
		"join":         {params: params("iterable"), fn: strJoin},
		"replace":      {params: params("old new count="), fn: strReplace},
		"count":        {params: params("sub start= end="), fn: strCount},
		"find":         {params: params("sub start= end="), fn: finder(strings.Index, false)},
		"rfind":        {params: params("sub start= end="), fn: finder(strings.LastIndex, false)},
		"index":        {params: params("sub start= end="), fn: finder(strings.Index, true)},
		"rindex":       {params: params("sub start= end="), fn: finder(strings.LastIndex, true)},
		"expandtabs":   {params: params("tabsize="), fn: strExpandtabs},
		"format":       {rest: true, kwargs: true, fn: strFormat},
		"format_map":   {params: params("mapping"), fn: strFormatMap},
	})
}

// selfText returns the text that a method works on.
func (c *call) selfText() string {
	s, _ := text(c.self)
	return s
}

// stripped removes white space, or the characters of the first argument, from the ends.
func stripped(c call, s string, left, right bool) (Value, error) {
	cut := isSpace
	if c.args[0] != nil && c.args[0] != Value(None{}) {
		chars, ok := text(c.args[0])
		if !ok {
			return nil, typeError("%s arg must be None or str", c.name)
		}
		cut = func(r rune) bool { return strings.ContainsRune(chars, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return like(c.self, s), nil
}

// pad fills s up to width code points.
func (r *run) pad(s string, width int, fill rune, align byte) (string, error) {
	n := width - runeLen(s)
	if n <= 0 {
		return s, nil
	}
	if err := r.grow(n); err != nil {
		return "", err
	}
	left := 0
	switch align {
	case '>':
		left = n
	case '^':
		left = n/2 + n&width&1 // rounds like Python's str.center
	}
	f := string(fill)
	return strings.Repeat(f, left) + s + strings.Repeat(f, n-left), nil
}

func padded(r *run, c call, align byte) (Value, error) {
	width, err := c.intArg(0, 0)
	if err != nil {
		return nil, err
	}
	fill, err := c.strArg(1, " ")
	if err != nil {
		return nil, err
	}
	if runeLen(fill) != 1 {
		return nil, typeError("The fill character must be exactly one character long")
	}
	f, _ := utf8.DecodeRuneInString(fill)
	s, err := r.pad(c.selfText(), width, f, align)
	return like(c.self, s), err
}

func strZfill(r *run, c call) (Value, error) {
	width, err := c.intArg(0, 0)
	if err != nil {
		return nil, err
	}
	s, sign := c.selfText(), ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	s, err = r.pad(s, width-len(sign), '0', '>')
	return like(c.self, sign+s), err
}

// window cuts s to the optional bounds in arguments i and i+1; the result ok is false if the start
// is beyond the end.
func (c *call) window(i int) (s string, offset int, ok bool, err error) {
	s = c.selfText()
	if c.args[i] == nil && c.args[i+1] == nil {
		return s, 0, true, nil
	}
	n := runeLen(s)
	start, _, _, count, err := sliceBounds([3]Value{c.args[i], c.args[i+1], nil}, n)
	if err != nil {
		return "", 0, false, err
	}
	if from, _ := intValue(c.arg(i, Int(0))); from > int64(n) {
		return "", 0, false, nil
	}
	return sliceText(s, n, start, 1, count), start, true, nil
}

func affix(has func(s, x string) bool) func(*run, call) (Value, error) {
	return func(_ *run, c call) (Value, error) {
		s, _, ok, err := c.window(1)
		if err != nil || !ok {
			return Bool(false), err
		}
		candidates := []Value{c.args[0]}
		if t, ok := c.args[0].(*tuple); ok {
			candidates = t.items
		}
		for _, x := range candidates {
			p, ok := text(x)
			if !ok {
				return nil, typeError("%s first arg must be str or a tuple of str, not %s", c.name, x.typeName())
			}
			if has(s, p) {
				return Bool(true), nil
			}
		}
		return Bool(false), nil
	}
}

func withoutAffix(trim func(s, x string) string) func(*run, call) (Value, error) {
	return func(_ *run, c call) (Value, error) {
		x, err := c.strArg(0, "")
		return like(c.self, trim(c.selfText(), x)), err
	}
}

// texts makes a list of strings.
func (r *run) texts(model Value, parts []string) (Value, error) {
	if err := r.growItems(len(parts)); err != nil {
		return nil, err
	}
	l := &List{make([]Value, len(parts))}
	for i, p := range parts {
		l.Items[i] = like(model, p)
	}
	return l, nil
}

// splitArgs returns the separator ("" means white space) and the limit (-1 means none).
func splitArgs(c call) (sep string, n int, err error) {
	if n, err = c.intArg(1, -1); err != nil {
		return "", 0, err
	}
	if c.args[0] == nil || c.args[0] == Value(None{}) {
		return "", n, nil
	}
	if sep, err = c.strArg(0, ""); err == nil && sep == "" {
		err = valueError("empty separator")
	}
	return sep, n, err
}

func strSplit(r *run, c call) (Value, error) {
	sep, n, err := splitArgs(c)
	if err != nil {
		return nil, err
	}
	s := c.selfText()
	if sep != "" {
		if n >= 0 {
			n++
		}
		return r.texts(c.self, strings.SplitN(s, sep, n))
	}
	var parts []string
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		end := strings.IndexFunc(s, isSpace)
		if end < 0 || n >= 0 && len(parts) == n {
			end = len(s)
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
	return r.texts(c.self, parts)
}

func strRsplit(r *run, c call) (Value, error) {
	sep, n, err := splitArgs(c)
	if err != nil {
		return nil, err
	}
	s := c.selfText()
	var parts []string // from the end backwards
	if sep != "" {
		for n < 0 || len(parts) < n {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[i+len(sep):])
			s = s[:i]
		}
		parts = append(parts, s)
	} else {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; s = strings.TrimRightFunc(s, isSpace) {
			start := strings.LastIndexFunc(s, isSpace)
			if start >= 0 {
				_, size := utf8.DecodeRuneInString(s[start:])
				start += size
			}
			if start < 0 || n >= 0 && len(parts) == n {
				start = 0
			}
			parts = append(parts, s[start:])
			s = s[:start]
		}
	}
	slices.Reverse(parts)
	return r.texts(c.self, parts)
}

func strSplitlines(r *run, c call) (Value, error) {
	return r.texts(c.self, splitLines(c.selfText(), c.boolArg(0, false)))
}

func partitioner(index func(s, sep string) int, fromEnd bool) func(*run, call) (Value, error) {
	return func(_ *run, c call) (Value, error) {
		sep, err := c.strArg(0, "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, valueError("empty separator")
		}
		s := c.selfText()
		parts := [3]string{s, "", ""}
		if fromEnd {
			parts = [3]string{"", "", s}
		}
		if i := index(s, sep); i >= 0 {
			parts = [3]string{s[:i], sep, s[i+len(sep):]}
		}
		t := &tuple{}
		for _, p := range parts {
			t.items = append(t.items, like(c.self, p))
		}
		return t, nil
	}
}

func strJoin(r *run, c call) (Value, error) {
	items, err := r.items(c.args[0])
	if err != nil {
		return nil, typeError("can only join an iterable")
	}
	parts := make([]string, len(items))
	size := 0
	for i, x := range items {
		s, ok := text(x)
		if !ok {
			return nil, typeError("sequence item %d: expected str instance, %s found", i, x.typeName())
		}
		parts[i] = s
		size += len(s) + len(c.selfText())
		if err := r.grow(size); err != nil {
			return nil, err
		}
	}
	return like(c.self, strings.Join(parts, c.selfText())), nil
}

func strReplace(r *run, c call) (Value, error) {
	old, err := c.strArg(0, "")
	if err != nil {
		return nil, err
	}
	with, err := c.strArg(1, "")
	if err != nil {
		return nil, err
	}
	n, err := c.intArg(2, -1)
	if err != nil {
		return nil, err
	}
	v, err := r.replace(c.selfText(), old, with, n)
	if err != nil {
		return nil, err
	}
	return like(c.self, string(v.(Str))), nil
}

func strCount(_ *run, c call) (Value, error) {
	sub, err := c.strArg(0, "")
	if err != nil {
		return nil, err
	}
	s, _, ok, err := c.window(1)
	if err != nil || !ok {
		return Int(0), err
	}
	return Int(strings.Count(s, sub)), nil
}

func finder(index func(s, sub string) int, must bool) func(*run, call) (Value, error) {
	return func(_ *run, c call) (Value, error) {
		sub, err := c.strArg(0, "")
		if err != nil {
			return nil, err
		}
		s, offset, ok, err := c.window(1)
		if err != nil {
			return nil, err
		}
		if i := index(s, sub); ok && i >= 0 {
			return Int(offset + runeLen(s[:i])), nil
		}
		if must {
			return nil, valueError("substring not found")
		}
		return Int(-1), nil
	}
}

func strExpandtabs(r *run, c call) (Value, error) {
	size, err := c.intArg(0, 8)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	col := 0
	for _, ch := range c.selfText() {
		switch ch {
		case '\t':
			if size > 0 {
				n := size - col%size
				if err := r.grow(b.Len() + n); err != nil {
					return nil, err
				}
				b.WriteString(strings.Repeat(" ", n))
				col += n
			}
			continue
		case '\n', '\r':
			col = -1
		}
		b.WriteRune(ch)
		col++
	}
	return like(c.self, b.String()), nil
}
