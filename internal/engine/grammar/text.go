package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CompileText compiles a grammar written in the language described in the package comment. The text
// starts with the rule root.
func CompileText(src string, v *Vocab) (*Grammar, error) {
	if v == nil {
		return nil, errors.New("grammar: compile text: no vocabulary")
	}
	rules, err := parseText(src, v)
	if err != nil {
		return nil, fmt.Errorf("grammar: compile text: %w", err)
	}
	if _, ok := rules["root"]; !ok {
		return nil, errors.New("grammar: compile text: no rule root: name the rule that the text starts with root")
	}
	return CompileRules("root", rules, v)
}

type textParser struct {
	src   string
	pos   int
	v     *Vocab
	depth int
}

func parseText(src string, v *Vocab) (map[string]Node, error) {
	ps := &textParser{src: src, v: v}
	rules := map[string]Node{}
	for {
		ps.blank(true)
		if ps.pos == len(src) {
			return rules, nil
		}
		name := ps.name()
		if name == "" {
			return nil, ps.errorf("expected the name of a rule")
		}
		ps.blank(false)
		if !ps.accept("::=") {
			return nil, ps.errorf("expected ::= after %q", name)
		}
		if _, ok := rules[name]; ok {
			return nil, ps.errorf("rule %q is there twice", name)
		}
		ps.blank(true)
		n, err := ps.alternation(false)
		if err != nil {
			return nil, err
		}
		rules[name] = n
	}
}

func (ps *textParser) errorf(format string, args ...any) error {
	line := 1 + strings.Count(ps.src[:min(ps.pos, len(ps.src))], "\n")
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// blank skips white space and comments. It skips line breaks only if they do not end a rule.
func (ps *textParser) blank(lines bool) {
	for ps.pos < len(ps.src) {
		switch c := ps.src[ps.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			ps.pos++
		case c == '#':
			for ps.pos < len(ps.src) && ps.src[ps.pos] != '\n' {
				ps.pos++
			}
		default:
			return
		}
	}
}

func (ps *textParser) peek() byte {
	if ps.pos < len(ps.src) {
		return ps.src[ps.pos]
	}
	return 0
}

func (ps *textParser) accept(s string) bool {
	if strings.HasPrefix(ps.src[ps.pos:], s) {
		ps.pos += len(s)
		return true
	}
	return false
}

func (ps *textParser) name() string {
	start := ps.pos
	for ps.pos < len(ps.src) {
		c := ps.src[ps.pos]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || ps.pos > start && (c >= '0' && c <= '9' || c == '-') {
			ps.pos++
			continue
		}
		break
	}
	return ps.src[start:ps.pos]
}

func (ps *textParser) alternation(nested bool) (Node, error) {
	if ps.depth++; ps.depth > 200 {
		return nil, ps.errorf("nested too deeply")
	}
	defer func() { ps.depth-- }()
	var alts []Node
	for {
		n, err := ps.sequence(nested)
		if err != nil {
			return nil, err
		}
		alts = append(alts, n)
		save := ps.pos
		ps.blank(true) // an alternative may be on a line of its own
		if !ps.accept("|") {
			if !nested {
				ps.pos = save
			}
			break
		}
		ps.blank(true)
	}
	if len(alts) == 1 {
		return alts[0], nil
	}
	return Alt(alts...), nil
}

func (ps *textParser) sequence(nested bool) (Node, error) {
	var parts []Node
	for {
		ps.blank(nested)
		c := ps.peek()
		if c == 0 || c == '|' || c == ')' || c == '\n' {
			break
		}
		n, err := ps.item()
		if err != nil {
			return nil, err
		}
		if n, err = ps.repeats(n); err != nil {
			return nil, err
		}
		parts = append(parts, n)
	}
	if !nested && ps.peek() == ')' {
		return nil, ps.errorf("unmatched )")
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Seq(parts...), nil
}

func (ps *textParser) repeats(n Node) (Node, error) {
	for {
		switch ps.peek() {
		case '*':
			ps.pos++
			n = Repeat(n, 0, -1)
		case '+':
			ps.pos++
			n = Repeat(n, 1, -1)
		case '?':
			ps.pos++
			n = Opt(n)
		case '{':
			end := strings.IndexByte(ps.src[ps.pos:], '}')
			if end < 0 {
				return nil, ps.errorf("{ without }")
			}
			lo, hi, err := counts(ps.src[ps.pos+1 : ps.pos+end])
			if err != nil {
				return nil, ps.errorf("%v", err)
			}
			ps.pos += end + 1
			n = Repeat(n, lo, hi)
		default:
			return n, nil
		}
	}
}

func counts(s string) (lo, hi int, err error) {
	a, b, comma := strings.Cut(s, ",")
	if lo, err = strconv.Atoi(strings.TrimSpace(a)); err != nil || lo < 0 {
		return 0, 0, fmt.Errorf("bad repetition {%s}", clip(s))
	}
	if !comma {
		return lo, lo, nil
	}
	if b = strings.TrimSpace(b); b == "" {
		return lo, -1, nil
	}
	if hi, err = strconv.Atoi(b); err != nil || hi < lo {
		return 0, 0, fmt.Errorf("bad repetition {%s}", clip(s))
	}
	return lo, hi, nil
}

func (ps *textParser) item() (Node, error) {
	switch c := ps.peek(); {
	case c == '"':
		s, err := ps.quoted()
		return Lit(s), err
	case c == '[':
		return ps.class()
	case c == '.':
		ps.pos++
		return classNode{outside([]span{{'\n', '\n'}})}, nil
	case c == '(':
		ps.pos++
		n, err := ps.alternation(true)
		if err != nil {
			return nil, err
		}
		ps.blank(true)
		if !ps.accept(")") {
			return nil, ps.errorf("missing )")
		}
		return n, nil
	case c == '/':
		return ps.regex()
	case c == '<':
		return ps.token()
	case c == '%':
		return ps.directive()
	}
	if name := ps.name(); name != "" {
		return Rule(name), nil
	}
	r, _ := utf8.DecodeRuneInString(ps.src[ps.pos:])
	return nil, ps.errorf("unexpected %q", r)
}

// quoted reads a literal with the escapes \n \r \t \" \\ \xHH \uHHHH \UHHHHHHHH.
func (ps *textParser) quoted() (string, error) {
	ps.pos++
	var out []byte
	for ps.pos < len(ps.src) {
		switch c := ps.src[ps.pos]; c {
		case '"':
			ps.pos++
			return string(out), nil
		case '\n':
			return "", ps.errorf("a literal ends with its line: write \\n")
		case '\\':
			if strings.HasPrefix(ps.src[ps.pos:], `\x`) && ps.pos+4 <= len(ps.src) {
				n, err := strconv.ParseUint(ps.src[ps.pos+2:ps.pos+4], 16, 8)
				if err != nil {
					return "", ps.errorf("bad escape")
				}
				out = append(out, byte(n))
				ps.pos += 4
				continue
			}
			r, err := ps.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
			ps.pos++
		}
	}
	return "", ps.errorf(`missing "`)
}

func (ps *textParser) escape() (rune, error) {
	if ps.pos+1 >= len(ps.src) {
		return 0, ps.errorf("ends with a backslash")
	}
	c := ps.src[ps.pos+1]
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if n > 0 {
		if ps.pos+2+n > len(ps.src) {
			return 0, ps.errorf("escape is too short")
		}
		v, err := strconv.ParseUint(ps.src[ps.pos+2:ps.pos+2+n], 16, 32)
		if err != nil || v > uint64(runeMax) {
			return 0, ps.errorf("bad escape")
		}
		ps.pos += 2 + n
		return rune(v), nil
	}
	ps.pos++
	r, size := utf8.DecodeRuneInString(ps.src[ps.pos:])
	ps.pos += size
	switch r {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return 0, ps.errorf(`unknown escape \%c`, r)
	}
	return r, nil
}

func (ps *textParser) class() (Node, error) {
	ps.pos++
	neg := ps.accept("^")
	var set []span
	one := func() (rune, error) {
		if ps.pos >= len(ps.src) || ps.src[ps.pos] == '\n' {
			return 0, ps.errorf("missing ]")
		}
		if ps.src[ps.pos] == '\\' {
			return ps.escape()
		}
		r, n := utf8.DecodeRuneInString(ps.src[ps.pos:])
		ps.pos += n
		return r, nil
	}
	for !ps.accept("]") {
		lo, err := one()
		if err != nil {
			return nil, err
		}
		hi := lo
		if ps.peek() == '-' && ps.pos+1 < len(ps.src) && ps.src[ps.pos+1] != ']' {
			ps.pos++
			if hi, err = one(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, ps.errorf("range out of order")
		}
		set = append(set, span{lo, hi})
	}
	if neg {
		set = outside(set)
	}
	return classNode{normalise(set)}, nil
}

// regex reads /pattern/.
func (ps *textParser) regex() (Node, error) {
	ps.pos++
	start := ps.pos
	for ps.pos < len(ps.src) && ps.src[ps.pos] != '\n' {
		switch ps.src[ps.pos] {
		case '\\':
			ps.pos++
		case '/':
			ps.pos++
			return Regex(strings.ReplaceAll(ps.src[start:ps.pos-1], `\/`, `/`)), nil
		}
		ps.pos++
	}
	return nil, ps.errorf("missing / at the end of a pattern")
}

// token reads <[123]> or <name>.
func (ps *textParser) token() (Node, error) {
	end := strings.IndexByte(ps.src[ps.pos:], '>')
	if end < 0 || strings.IndexByte(ps.src[ps.pos:ps.pos+end], '\n') >= 0 {
		return nil, ps.errorf("missing > after a token")
	}
	text := ps.src[ps.pos : ps.pos+end+1]
	if strings.HasPrefix(text, "<[") && strings.HasSuffix(text, "]>") {
		id, err := strconv.ParseInt(text[2:len(text)-2], 10, 32)
		if err != nil || id < 0 || int(id) >= ps.v.size {
			return nil, ps.errorf("no token %s", clip(text))
		}
		ps.pos += end + 1
		return Token(int32(id)), nil
	}
	id, ok := ps.v.named(text)
	if !ok {
		return nil, ps.errorf("no token %s in the vocabulary: give it by number as <[id]>, or its text in quotes", clip(text))
	}
	ps.pos += end + 1
	return Token(id), nil
}

// directive reads %json{...} or %until "...".
func (ps *textParser) directive() (Node, error) {
	ps.pos++
	switch name := ps.name(); name {
	case "json":
		dec := json.NewDecoder(strings.NewReader(ps.src[ps.pos:]))
		var schema json.RawMessage
		if err := dec.Decode(&schema); err != nil {
			return nil, ps.errorf("schema after %%json: %v", err)
		}
		ps.pos += int(dec.InputOffset())
		return JSON(schema, SchemaOptions{}), nil
	case "until", "without":
		var stops []string
		for {
			ps.blank(false)
			if ps.peek() != '"' {
				break
			}
			s, err := ps.quoted()
			if err != nil {
				return nil, err
			}
			if s == "" {
				return nil, ps.errorf("an empty text after %%%s", name)
			}
			stops = append(stops, s)
			ps.blank(false)
			if !ps.accept(",") {
				break
			}
		}
		if len(stops) == 0 {
			return nil, ps.errorf("expected a quoted text after %%%s", name)
		}
		return untilNode{stops, name == "until"}, nil
	default:
		return nil, ps.errorf("unknown directive %%%s: there are %%json, %%until and %%without", name)
	}
}
