package jinja

import (
	"strings"
	"unicode"
)

func filterTrim(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	if err != nil {
		return nil, err
	}
	return stripped(c, s, true, true)
}

func filterReplace(r *run, c call) (Value, error) {
	var parts [3]string
	for i, v := range []Value{c.self, c.args[0], c.args[1]} {
		var err error
		if parts[i], err = r.str(v); err != nil {
			return nil, err
		}
	}
	n, err := c.intArg(2, -1)
	if err != nil {
		return nil, err
	}
	return r.replace(parts[0], parts[1], parts[2], n)
}

// replace is str.replace within the limits.
func (r *run) replace(s, old, with string, n int) (Value, error) {
	count := strings.Count(s, old)
	if n >= 0 {
		count = min(count, n)
	}
	if err := r.step((len(s) + 15) / 16); err != nil {
		return nil, err
	}
	if err := r.grow(len(s) + count*max(0, len(with)-len(old))); err != nil {
		return nil, err
	}
	return Str(strings.Replace(s, old, with, n)), nil
}

func filterCenter(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	if err != nil {
		return nil, err
	}
	width, err := c.intArg(0, 80)
	if err != nil {
		return nil, err
	}
	s, err = r.pad(s, width, ' ', '^')
	return like(c.self, s), err
}

func filterIndent(r *run, c call) (Value, error) {
	s, ok := text(c.self)
	if !ok {
		if u, isUndef := c.self.(*undefined); isUndef {
			return nil, u.err()
		}
		if _, isList := c.self.(*List); isList {
			return nil, noAttribute(c.self, "splitlines")
		}
		return nil, operandError(opAdd, c.self, Str(""))
	}
	prefix, ok := text(c.arg(0, Int(4)))
	if !ok {
		n, err := c.intArg(0, 4)
		if err != nil {
			return nil, err
		}
		if prefix, err = r.pad("", n, ' ', '<'); err != nil {
			return nil, err
		}
	}
	blank := c.boolArg(2, false)
	lines := splitLines(s+"\n", false)
	if err := r.grow(len(s) + len(lines)*len(prefix)); err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && c.boolArg(1, false) || i > 0 && (blank || line != "") {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return like(c.self, b.String()), nil
}

func filterTruncate(r *run, c call) (Value, error) {
	limit, err := c.intArg(0, 255)
	if err != nil {
		return nil, err
	}
	end, err := c.strArg(2, "...")
	if err != nil {
		return nil, err
	}
	leeway, err := c.intArg(3, 5)
	if err != nil {
		return nil, err
	}
	if limit < runeLen(end) {
		return nil, &fault{"AssertionError", "expected length >= " + repr(Int(runeLen(end))) + ", got " + repr(Int(limit))}
	}
	s, ok := text(c.self)
	if !ok {
		if n, ok := length(c.self); ok && n <= limit+leeway {
			return c.self, nil
		}
		return nil, typeError("truncate() needs a string, not %s", c.self.typeName())
	}
	runes := []rune(s)
	if err := r.step(len(s) / 16); err != nil {
		return nil, err
	}
	if len(runes) <= limit+leeway {
		return c.self, nil
	}
	cut := string(runes[:limit-runeLen(end)])
	if !c.boolArg(1, false) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return like(c.self, cut+end), nil
}

func filterWordcount(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' })
	return Int(len(words)), nil
}

// filterWordwrap wraps each line of a text greedily. It breaks at spaces and, unless disabled,
// after hyphens between letters and inside words longer than a line.
func filterWordwrap(r *run, c call) (Value, error) {
	s, ok := text(c.self)
	if !ok {
		return nil, noAttribute(c.self, "splitlines")
	}
	width, err := c.intArg(0, 79)
	if err != nil {
		return nil, err
	}
	if width <= 0 {
		return nil, valueError("invalid width %d (must be > 0)", width)
	}
	sep, ok := text(c.arg(2, Str("\n")))
	if !ok {
		sep = "\n"
	}
	var lines []string
	for _, line := range splitLines(s, false) {
		w := wrapper{width: width, breakLong: c.boolArg(1, true), hyphens: c.boolArg(3, true)}
		lines = append(lines, strings.Join(w.wrap(line), sep))
	}
	out := strings.Join(lines, sep)
	return Str(out), r.grow(len(out))
}

type wrapper struct {
	width              int
	breakLong, hyphens bool
}

func (w *wrapper) wrap(line string) []string {
	chunks := w.chunks(line)
	var lines []string
	for len(chunks) > 0 {
		if len(lines) > 0 && strings.TrimFunc(chunks[0], isSpace) == "" {
			chunks = chunks[1:]
			if len(chunks) == 0 {
				break
			}
		}
		var cur []string
		n := 0
		for len(chunks) > 0 && n+runeLen(chunks[0]) <= w.width {
			n += runeLen(chunks[0])
			cur, chunks = append(cur, chunks[0]), chunks[1:]
		}
		if len(chunks) > 0 && runeLen(chunks[0]) > w.width {
			runes := []rune(chunks[0])
			switch space := w.width - n; {
			case w.breakLong:
				if w.hyphens {
					if i := strings.LastIndexByte(string(runes[:space]), '-'); i > 0 && strings.Trim(string(runes[:space])[:i], "-") != "" {
						space = runeLen(string(runes[:space])[:i]) + 1
					}
				}
				cur = append(cur, string(runes[:space]))
				chunks[0] = string(runes[space:])
			case len(cur) == 0:
				cur, chunks = append(cur, chunks[0]), chunks[1:]
			}
		}
		if k := len(cur); k > 0 && strings.TrimFunc(cur[k-1], isSpace) == "" {
			cur = cur[:k-1]
		}
		if len(cur) > 0 {
			lines = append(lines, strings.Join(cur, ""))
		}
	}
	return lines
}

// chunks cuts a line into words and the spaces between them.
func (w *wrapper) chunks(line string) []string {
	var out []string
	runes := []rune(line)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || isSpace(runes[i]) != isSpace(runes[i-1]) || w.hyphens && breaksAfter(runes, i) {
			out = append(out, string(runes[start:i]))
			start = i
		}
	}
	return out
}

// breaksAfter reports whether a line may end before i because a hyphen between letters is there.
func breaksAfter(runes []rune, i int) bool {
	return i >= 3 && i+1 < len(runes) && runes[i-1] == '-' && unicode.IsLetter(runes[i-2]) && unicode.IsLetter(runes[i-3]) &&
		unicode.IsLetter(runes[i]) && unicode.IsLetter(runes[i+1])
}
