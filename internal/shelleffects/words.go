package shelleffects

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word's value is kept as text. These private runes, which the input may not contain, stand for
// parts that are known only at run time.
const (
	markGlob  = '\uE000' // text without a slash: the match of a wildcard, or a number
	markAny   = '\uE001' // any text, still one word
	markSplit = '\uE002' // any text, any number of words
	markHome  = '\uE003' // a home directory
)

const marks = "\uE000\uE001\uE002\uE003"

var shown = strings.NewReplacer(string(markGlob), "*", string(markAny), "…", string(markSplit), "…", string(markHome), "~")

// show makes a word readable for messages.
func show(word string) string { return shown.Replace(word) }

func static(word string) bool { return !strings.ContainsAny(word, marks) }

// startsOpen reports whether the beginning of word is known only at run time, so that the word may
// turn out to be an option.
func startsOpen(word string) bool {
	return word != "" && strings.IndexAny(word, marks) == 0
}

// expand evaluates words as the arguments of a command: braces, substitutions, wildcards.
func (w *walker) expand(words []*syntax.Word, st *state) []string {
	var out []string
	for _, x := range words {
		x = &syntax.Word{Parts: slices.Clone(x.Parts)} // SplitBraces modifies its argument, and loop bodies are evaluated again
		if w.posix || !syntax.SplitBraces(x) {
			out = append(out, w.eval(x, st))
			continue
		}
		parts, ok := unbrace(x.Parts, maxWords)
		if !ok || len(out)+len(parts) > maxWords*4 {
			w.fx.unknown("expands to too many words")
			return append(out, string(markSplit))
		}
		for _, p := range parts {
			out = append(out, w.parts(p, false, st))
		}
	}
	return out
}

// readTwice reports whether sh gives words another value than bash: it knows neither braces nor $'.
func readTwice(words []*syntax.Word) bool {
	return slices.ContainsFunc(words, func(x *syntax.Word) bool {
		return syntax.SplitBraces(&syntax.Word{Parts: slices.Clone(x.Parts)}) || dollarQuoted(x)
	})
}

// dollarQuoted reports whether a word holds a $' quotation.
func dollarQuoted(x *syntax.Word) bool {
	return x != nil && slices.ContainsFunc(x.Parts, func(p syntax.WordPart) bool {
		q, ok := p.(*syntax.SglQuoted)
		return ok && q.Dollar
	})
}

// unbrace expands braces, to at most limit words.
func unbrace(parts []syntax.WordPart, limit int) ([][]syntax.WordPart, bool) {
	words := [][]syntax.WordPart{nil}
	for _, p := range parts {
		br, ok := p.(*syntax.BraceExp)
		var alts [][]syntax.WordPart
		switch {
		case !ok:
			alts = [][]syntax.WordPart{{p}}
		case br.Sequence:
			alts = sequence(br)
		default:
			for _, e := range br.Elems {
				a, ok := unbrace(e.Parts, limit)
				if !ok {
					return nil, false
				}
				alts = append(alts, a...)
			}
		}
		if len(words)*len(alts) > limit {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, head := range words {
			for _, tail := range alts {
				next = append(next, append(slices.Clone(head), tail...))
			}
		}
		words = next
	}
	return words, true
}

// sequence expands {x..y}. A long sequence, or one of letters, becomes one word of unknown value.
func sequence(br *syntax.BraceExp) [][]syntax.WordPart {
	lit := func(s string) []syntax.WordPart { return []syntax.WordPart{&syntax.Lit{Value: s}} }
	if len(br.Elems) == 2 {
		from, err1 := strconv.Atoi(br.Elems[0].Lit())
		to, err2 := strconv.Atoi(br.Elems[1].Lit())
		if err1 == nil && err2 == nil && 0 <= from && from <= to && to < 1e6 && to-from < 32 {
			var out [][]syntax.WordPart
			for i := from; i <= to; i++ {
				out = append(out, lit(strconv.Itoa(i)))
			}
			return out
		}
	}
	return [][]syntax.WordPart{lit("[.]")} // a wildcard: text without a slash
}

// eval returns the value of a word, and adds the effects of its substitutions.
func (w *walker) eval(x *syntax.Word, st *state) string {
	if x == nil {
		return ""
	}
	return w.parts(x.Parts, false, st)
}

func (w *walker) parts(parts []syntax.WordPart, quoted bool, st *state) string {
	var b strings.Builder
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				b.WriteString(unescapeQuoted(p.Value))
			} else {
				b.WriteString(unquoted(p.Value, i == 0, closesLater(parts[i+1:])))
			}
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, "'") {
				w.fx.unknown("quotes a quote in a way that sh reads otherwise")
			}
			if p.Dollar && w.posix {
				b.WriteString("$" + p.Value)
			} else {
				b.WriteString(singleQuoted(p))
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				w.fx.unknown("translates a string")
			}
			b.WriteString(w.parts(p.Parts, true, st))
		case *syntax.ParamExp:
			b.WriteString(w.param(p, quoted, st))
		case *syntax.CmdSubst:
			if p.Backquotes && strings.ContainsAny(w.src[p.Left.Offset():p.Right.Offset()], `\'"`) {
				w.fx.unknown("quotes inside backquotes, which shells read in different ways")
			}
			w.subshell(p.Stmts, st)
			if isPwd(p.Stmts) {
				b.WriteString(w.variable("PWD", quoted, st))
			} else {
				b.WriteRune(open(quoted))
			}
		case *syntax.ProcSubst:
			w.subshell(p.Stmts, st)
			if p.Op != syntax.CmdIn {
				w.fx.unknown("writes into another command")
			}
			b.WriteString("/dev/fd/63")
		case *syntax.ArithmExp:
			if p.Bracket || p.Unsigned || !plainArithmetic(p.X) {
				w.fx.unknown("computes with variables, which may run commands")
			}
			b.WriteRune(markGlob)
		default:
			w.fx.unknown("uses a word of an unusual kind")
			b.WriteRune(markSplit)
		}
	}
	return b.String()
}

// isPwd reports whether the only statement is pwd, whose output is known.
func isPwd(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 || len(stmts[0].Redirs) > 0 || stmts[0].Negated || stmts[0].Background {
		return false
	}
	c, ok := stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(c.Assigns) == 0 && len(c.Args) == 1 && c.Args[0].Lit() == "pwd"
}

func open(quoted bool) rune {
	if quoted {
		return markAny
	}
	return markSplit
}

// closesLater reports whether a bracket expression might end in a later part of the word.
func closesLater(rest []syntax.WordPart) bool {
	for _, p := range rest {
		if l, ok := p.(*syntax.Lit); !ok || strings.Contains(l.Value, "]") {
			return true
		}
	}
	return false
}

// unquoted evaluates literal text outside quotes: backslashes, tildes, wildcards.
func unquoted(s string, first, closesLater bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				b.WriteByte(c)
			} else if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '~':
			if i == 0 && first || i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				b.WriteRune(markHome)
			} else {
				b.WriteByte(c)
			}
		case '*', '?':
			b.WriteRune(markGlob)
		case '[':
			end := strings.IndexByte(s[i+1:], ']')
			switch {
			case end == 0: // "[]..." : the bracket belongs to the class
				b.WriteRune(markAny)
			case end > 0 && !strings.ContainsAny(s[i+1:i+1+end], `/\`):
				b.WriteRune(markGlob)
				i += end + 1
			case end > 0 || closesLater:
				b.WriteRune(markAny)
			default:
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeQuoted evaluates literal text inside double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

var ansiC = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\'`, "'", `\"`, `"`)

func singleQuoted(q *syntax.SglQuoted) string {
	if !q.Dollar || !strings.Contains(q.Value, `\`) {
		return q.Value
	}
	simple := strings.NewReplacer(`\\`, "", `\n`, "", `\t`, "", `\'`, "", `\"`, "")
	if strings.Contains(simple.Replace(q.Value), `\`) {
		return string(markAny)
	}
	return ansiC.Replace(q.Value)
}

// param returns the value of a parameter expansion.
func (w *walker) param(p *syntax.ParamExp, quoted bool, st *state) string {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || p.Names != 0 || p.Modifiers != nil {
		w.fx.unknown("expands a variable in an unusual way")
		return string(markSplit)
	}
	if p.Index != nil && !plainIndex(p.Index) {
		w.fx.unknown("computes an array index, which may run commands")
	}
	if p.Length {
		return string(markGlob)
	}
	value := w.variable(p.Param.Value, quoted, st)
	switch {
	case p.Slice != nil:
		if !plainArithmetic(p.Slice.Offset) || !plainArithmetic(p.Slice.Length) {
			w.fx.unknown("computes with variables, which may run commands")
		}
	case p.Repl != nil:
		w.inBraces(p.Repl.Orig, st)
		w.inBraces(p.Repl.With, st)
	case p.Exp != nil:
		w.expansion(p.Exp, st)
	case p.Index == nil:
		return value
	}
	return string(open(quoted))
}

// expansion analyses ${x:-word} and similar forms.
func (w *walker) expansion(e *syntax.Expansion, st *state) {
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.RemSmallPrefix,
		syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
	default:
		w.fx.unknown("expands a variable in a way that assigns, ends the shell or evaluates its value")
	}
	w.inBraces(e.Word, st)
}

// inBraces evaluates a word inside ${...}. Shells disagree on the meaning of a quote there, and
// therefore on where the braces end.
func (w *walker) inBraces(x *syntax.Word, st *state) {
	if x == nil {
		return
	}
	w.eval(x, st)
	for _, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !strings.ContainsAny(p.Value, "\\'\"{}`") {
				continue
			}
		case *syntax.ParamExp:
			if p.Short {
				continue
			}
		}
		w.fx.unknown("quotes or nests inside ${}, which shells read in different ways")
	}
}

// variable looks up name. Unless the command itself set the variable, it comes from the
// environment.
func (w *walker) variable(name string, quoted bool, st *state) string {
	value, set := st.vars[name]
	switch {
	case set:
	case !syntax.ValidName(name): // $?, $1, $@ and similar
		return string(open(quoted))
	case name == "HOME" || name == "OLDPWD":
		value = string(markHome)
	case name == "PWD" && w.opts.Root != "" && len(st.dirs) == 1:
		value = w.opts.Root + "/" + st.dirs[0]
	default:
		if !safeEnv[name] {
			w.fx.flag(Secret, "shows the environment variable "+name)
		}
		return string(open(quoted))
	}
	if quoted {
		return value
	}
	return resplit(value)
}

// resplit returns the value that results if value is used without quotes.
func resplit(value string) string {
	switch {
	case value == "" || strings.ContainsAny(value, " \t\n*?[\\") || strings.ContainsRune(value, markAny):
		return string(markSplit)
	case strings.ContainsRune(value, markGlob): // a file name may contain spaces
		if strings.Contains(value, "/") {
			return string(markSplit)
		}
		return string(markGlob)
	}
	return value
}

var (
	number = regexp.MustCompile(`^[0-9]{1,18}$`)
	index  = regexp.MustCompile(`^([0-9]{1,9}|[@*])$`)
)

func plainIndex(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && index.MatchString(word.Lit())
}

// plainArithmetic reports whether an expression holds only numbers. The shell would evaluate the
// value of a variable again, and it may hold a command substitution.
func plainArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.Word:
		return number.MatchString(x.Lit())
	case *syntax.ParenArithm:
		return plainArithmetic(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && plainArithmetic(x.X)
	case *syntax.BinaryArithm:
		switch x.Op {
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem:
			return plainArithmetic(x.X) && plainArithmetic(x.Y)
		}
	}
	return false
}
