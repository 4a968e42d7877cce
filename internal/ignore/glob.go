package ignore

import "strings"

// A glob is one compiled wildcard pattern. It has the syntax of git's wildmatch with WM_PATHNAME:
// `*`, `?` and classes never match a slash; `**` does if it is a whole path element. Units are
// bytes, as in git.
type glob []token

type tokenKind uint8

const (
	literal    tokenKind = iota // exactly b
	anyByte                     // ? : one byte except a slash
	class                       // [...]: one byte of set
	star                        // * : any sequence without slashes
	starStar                    // ** : any sequence
	leadingDir                  // **/ : the empty string, or any sequence that ends in a slash
)

type token struct {
	kind tokenKind
	b    byte
	set  *[256]bool
}

// compileGlob compiles p. It returns ok=false for a pattern that cannot match any path (an unclosed
// class, a backslash at the end).
func compileGlob(p string) (g glob, ok bool) {
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '\\':
			if i+1 == len(p) {
				return nil, false
			}
			g = append(g, token{kind: literal, b: p[i+1]})
			i += 2
		case '?':
			g = append(g, token{kind: anyByte})
			i++
		case '[':
			set, n := compileClass(p[i:])
			if n == 0 {
				return nil, false
			}
			g = append(g, token{kind: class, set: set})
			i += n
		case '*':
			start := i
			for i < len(p) && p[i] == '*' {
				i++
			}
			t, next := starToken(p, start, i)
			g, i = append(g, t), next
		default:
			g = append(g, token{kind: literal, b: c})
			i++
		}
	}
	return g, true
}

// starToken returns the token for the run of stars p[start:end], and the position next where the
// pattern continues.
func starToken(p string, start, end int) (t token, next int) {
	opens := start == 0 || p[start-1] == '/'
	switch rest := p[end:]; {
	case end-start == 1 || !opens:
		return token{kind: star}, end
	case rest == "" || strings.HasPrefix(rest, `\/`):
		return token{kind: starStar}, end
	case rest[0] == '/':
		return token{kind: leadingDir}, end + 1
	}
	return token{kind: star}, end
}

// compileClass parses a bracket expression at the start of p and returns its length, or 0 if it is
// never closed.
func compileClass(p string) (*[256]bool, int) {
	var set [256]bool
	i := 1
	negate := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negate {
		i++
	}
	prev := -1 // the byte that a range may start from
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			if negate {
				for b := range set {
					set[b] = !set[b]
				}
			}
			set['/'] = false
			return &set, i + 1
		case c == '[' && i+1 < len(p) && p[i+1] == ':':
			n, posix := posixClass(p[i:])
			if n == 0 { // "[:" without a closing ":]": an ordinary bracket
				set['['] = true
				prev = '['
				i++
				continue
			}
			if posix == nil {
				return nil, 0
			}
			for b := range set {
				set[b] = set[b] || posix(byte(b))
			}
			prev = -1
			i += n
			continue
		case c == '-' && prev >= 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				if i++; i >= len(p) {
					return nil, 0
				}
			}
			for b := prev; b <= int(p[i]); b++ {
				set[b] = true
			}
			prev = -1
		case c == '\\':
			if i++; i >= len(p) {
				return nil, 0
			}
			set[p[i]] = true
			prev = int(p[i])
		default:
			set[c] = true
			prev = int(c)
		}
		i++
	}
}

// posixClass parses [:name:]. A length of 0 means that it is not closed; a nil func means that the
// name is unknown.
func posixClass(p string) (int, func(byte) bool) {
	end := strings.IndexByte(p[2:], ']')
	if end < 1 || p[2+end-1] != ':' {
		if end < 0 {
			return len(p), nil
		}
		return 0, nil
	}
	return 2 + end + 1, posixClasses[p[2:2+end-1]]
}

func between(lo, hi byte) func(byte) bool { return func(b byte) bool { return lo <= b && b <= hi } }

func either(fs ...func(byte) bool) func(byte) bool {
	return func(b byte) bool {
		for _, f := range fs {
			if f(b) {
				return true
			}
		}
		return false
	}
}

// posixClasses are the character classes of the C locale.
var posixClasses = func() map[string]func(byte) bool {
	digit, lower, upper := between('0', '9'), between('a', 'z'), between('A', 'Z')
	alpha := either(lower, upper)
	alnum := either(alpha, digit)
	graph := between('!', '~')
	return map[string]func(byte) bool{
		"alnum": alnum, "alpha": alpha, "digit": digit, "lower": lower, "upper": upper, "graph": graph,
		"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
		"cntrl":  either(between(0, 31), between(127, 127)),
		"print":  between(' ', '~'),
		"punct":  func(b byte) bool { return graph(b) && !alnum(b) },
		"space":  func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' },
		"xdigit": either(digit, between('a', 'f'), between('A', 'F')),
	}
}()

// match runs the pattern as a nondeterministic automaton: live[i] means that tokens[:i] can have
// consumed the text so far. The time is proportional to len(g) × len(s) for any pattern.
func (g glob) match(s string) bool {
	var buf [2][64]bool
	live, next := buf[0][:], buf[1][:]
	if len(g)+1 > len(live) {
		live, next = make([]bool, len(g)+1), make([]bool, len(g)+1)
	}
	live, next = live[:len(g)+1], next[:len(g)+1]
	live[0] = true
	g.closeOver(live, '/')
	for i := 0; i < len(s); i++ {
		clear(next)
		c, alive := s[i], false
		for j, t := range g {
			if !live[j] {
				continue
			}
			stay, advance := t.step(c)
			next[j] = next[j] || stay
			next[j+1] = next[j+1] || advance
			alive = alive || stay || advance
		}
		if !alive {
			return false
		}
		live, next = next, live
		g.closeOver(live, c)
	}
	return live[len(g)]
}

// step reports whether the automaton can stay before t when it reads c, and whether it can advance
// past t.
func (t token) step(c byte) (stay, advance bool) {
	switch t.kind {
	case literal:
		return false, c == t.b
	case anyByte:
		return false, c != '/'
	case class:
		return false, t.set[c]
	case star:
		return c != '/', false
	case starStar:
		return true, false
	default: // leadingDir: a slash may end the sequence, or be part of it
		return true, c == '/'
	}
}

// closeOver also marks the tokens that can be reached by matching the empty string, after the byte
// c. A **/ can match the empty string only after a slash or at the start of the text, which counts
// as a slash.
func (g glob) closeOver(live []bool, c byte) {
	for j, t := range g {
		if live[j] && (t.kind == star || t.kind == starStar || t.kind == leadingDir && c == '/') {
			live[j+1] = true
		}
	}
}
