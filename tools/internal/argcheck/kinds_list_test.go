package argcheck

import (
	"encoding/json"
	"slices"
	"strings"
)

// damage is one kind of malformed arguments: it writes the tokens of right arguments in a broken
// way, or reports that they have no place for it.
type damage struct {
	name  string
	apply func(m maker, ts []token) (string, bool)
}

// each returns damage to every token (or, by chance, to about half of them) of some kinds.
func each(kinds string, f func(m maker, t token) (string, bool)) func(maker, []token) (string, bool) {
	return func(m maker, ts []token) (string, bool) {
		some, done := m.chance(2), false
		for i, t := range ts {
			if !strings.ContainsRune(kinds, rune(t.kind)) || some && done && m.chance(2) {
				continue
			}
			if text, ok := f(m, t); ok {
				ts[i].text, done = text, true
			}
		}
		return m.render(ts), done
	}
}

// one returns damage to one token for which fits holds; i is its place.
func one(fits func(ts []token, i int) bool, f func(m maker, ts []token, i int) []token) func(maker, []token) (string, bool) {
	return func(m maker, ts []token) (string, bool) {
		var at []int
		for i := range ts {
			if fits(ts, i) {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return "", false
		}
		ts = f(m, ts, pick(m, at))
		return m.render(ts), true
	}
}

func whole(f func(m maker, text string) string) func(maker, []token) (string, bool) {
	return func(m maker, ts []token) (string, bool) { return f(m, m.render(ts)), true }
}

func of(kinds string) func([]token, int) bool {
	return func(ts []token, i int) bool { return strings.ContainsRune(kinds, rune(ts[i].kind)) }
}

// before reports whether token i is of one of kinds, and the token before it of one of earlier.
func before(earlier, kinds string) func([]token, int) bool {
	return func(ts []token, i int) bool { return i > 0 && of(kinds)(ts, i) && of(earlier)(ts, i-1) }
}

// separator reports whether token i is a comma between members, or else between items.
func separator(members bool) func([]token, int) bool {
	return func(ts []token, i int) bool { return ts[i].kind == ',' && (ts[i+1].kind == 'k') == members }
}

func write(texts ...string) func(m maker, ts []token, i int) []token {
	return func(m maker, ts []token, i int) []token {
		ts[i].text = pick(m, texts)
		return ts
	}
}

func add(texts ...string) func(m maker, ts []token, i int) []token {
	return func(m maker, ts []token, i int) []token {
		return slices.Insert(ts, i, token{kind: 'x', text: pick(m, texts)})
	}
}

// requote writes strings between other marks; a mark inside is escaped.
func requote(kinds, left, right string) func(maker, []token) (string, bool) {
	return each(kinds, func(_ maker, t token) (string, bool) {
		body := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(t.text, `"`), `"`), `\"`, `"`)
		if left == right {
			body = strings.ReplaceAll(body, left, `\`+left)
		}
		return left + body + right, true
	})
}

func numbers(f func(s string) (string, bool)) func(maker, []token) (string, bool) {
	return each("n", func(_ maker, t token) (string, bool) { return f(t.text) })
}

func replace(kinds string, pairs ...string) func(maker, []token) (string, bool) {
	r := strings.NewReplacer(pairs...)
	return each(kinds, func(_ maker, t token) (string, bool) {
		text := r.Replace(t.text)
		return text, text != t.text
	})
}

var blockComments = []string{" /* c */ ", "/*c*/", "/* it's \"so\" */", "/* a, b: {1} */", "/**/"}
var lineComments = []string{" // note\n", "//x\n", " // it's {\"a\": 1}\n"}

// mendable are the kinds that one reader reads as another does.
var mendable = []damage{
	{"block comment", one(of("{[k:,}]sn"), add(blockComments...))},
	{"block comment after a value", one(before("snl", ",}]"), add(blockComments...))},
	{"line comment", one(of("k,}]"), add(lineComments...))},
	{"line comment after a value", one(before("snl", ",}]"), add(lineComments...))},
	{"hash comment", one(of("k}]"), add(" # note\n", "# it's\n", " #note\n"))},
	{"trailing comma", one(of("}]"), add(","))},
	{"double comma", one(of(","), write(",,", ", ,"))},
	{"leading comma", one(before("{[", "ksn"), add(","))},
	{"missing comma between members, lines", one(separator(true), write("\n"))},
	{"missing comma between members, blank", one(separator(true), write(" "))},
	{"missing comma between items", one(separator(false), write(" ", "\n"))},
	{"single quotes", requote("ks", "'", "'")},
	{"curly quotes", requote("ks", "“", "”")},
	{"single quotes on keys", requote("k", "'", "'")},
	{"backquotes", requote("s", "`", "`")},
	{"keys without quotes", each("k", func(_ maker, t token) (string, bool) { return t.raw, true })},
	{"number keys", func(m maker, ts []token) (string, bool) {
		return one(of("k"), func(m maker, ts []token, i int) []token { ts[i].text = "7"; return ts })(m, ts)
	}},
	{"Python literals", replace("l", "true", "True", "false", "False", "null", "None")},
	{"upper-case literals", replace("l", "true", "TRUE", "false", "FALSE", "null", "NULL")},
	{"undefined", replace("l", "null", "undefined")},
	{"underscores in numbers", numbers(func(s string) (string, bool) {
		n := len(s)
		return s[:max(0, n-3)] + "_" + s[max(0, n-3):], n > 3 && !strings.ContainsAny(s, ".-")
	})},
	{"plus sign", numbers(func(s string) (string, bool) { return "+" + s, s[0] != '-' })},
	{"hexadecimal", numbers(hexadecimal)},
	{"trailing dot", numbers(func(s string) (string, bool) { return s + ".", !strings.Contains(s, ".") })},
	{"leading dot", numbers(func(s string) (string, bool) { return strings.TrimPrefix(s, "0"), strings.HasPrefix(s, "0.") })},
	{"raw line breaks", replace("s", `\n`, "\n", `\t`, "\t")},
	{"raw control characters", each("s", func(_ maker, t token) (string, bool) { return t.text, false })},
	{"line break in a key", one(of("k"), func(m maker, ts []token, i int) []token {
		ts[i].text = pick(m, []string{"\"\n" + ts[i].raw + `"`, `"` + ts[i].raw + "\n\""})
		return ts
	})},
	{"unescaped quotes", replace("s", `\"`, `"`)},
	{"escaped apostrophes", replace("s", `'`, `\'`)},
	{"single backslashes", replace("s", `\\d`, `\d`, `\\w`, `\w`, `\\s`, `\s`, `\\.`, `\.`, `\\(`, `\(`)},
	{"missing colon", one(of(":"), write(" "))},
	{"missing closer inside", one(func(ts []token, i int) bool {
		return i < len(ts)-1 && of("]")(ts, i) && i+1 < len(ts) && of("}")(ts, i+1)
	}, func(_ maker, ts []token, i int) []token { return slices.Delete(ts, i, i+1) })},
	{"wrong closer", one(func(ts []token, i int) bool { return ts[i].kind == ']' }, write("}"))},
	{"extra closer", whole(func(m maker, s string) string { return s + pick(m, []string{"}", "]", "}}", "\n}"}) })},
	{"text around", whole(func(m maker, s string) string {
		return pick(m, []string{"Here it is: ", "I'll call it now.\n", ""}) + s + pick(m, []string{" Done.", "\nThat's all", "\n\nLet me know."})
	})},
	{"fence", whole(func(m maker, s string) string {
		return pick(m, []string{"```json\n", "```\n", "Sure:\n```json\n"}) + s + "\n```"
	})},
	{"fence inside braces", whole(func(m maker, s string) string {
		return pick(m, []string{"{```json\n", "{\n```json\n", "{```\n"}) + s + pick(m, []string{"\n```}", "\n```\n}"})
	})},
	{"fenced value", one(before(":", "{["), func(m maker, ts []token, i int) []token {
		end := closer(ts, i)
		ts[i].text, ts[end].text = "```json\n"+ts[i].text, ts[end].text+"\n```"
		return ts
	})},
	{"tags around", whole(func(m maker, s string) string {
		tag := pick(m, []string{"tool_call", "arguments", "json", "parameters"})
		return "<" + tag + ">" + s + "</" + tag + ">"
	})},
	{"text in text", whole(func(_ maker, s string) string { return quoted(s) })},
	{"part as text", one(declared, func(m maker, ts []token, i int) []token {
		end := closer(ts, i)
		text := quoted(m.render(slices.Clone(ts[i : end+1])))
		return slices.Concat(ts[:i], []token{{'s', text, ""}}, ts[end+1:])
	})},
	{"part as text with more behind it", one(declared, func(m maker, ts []token, i int) []token {
		end := closer(ts, i)
		text := quoted(m.render(slices.Clone(ts[i:end+1])) + " and so on")
		return slices.Concat(ts[:i], []token{{'s', text, ""}}, ts[end+1:])
	})},
	{"key without its end quote", one(of("k"), func(_ maker, ts []token, i int) []token {
		ts[i].text = `"` + ts[i].raw
		return ts
	})},
	{"key without its first quote", one(of("k"), func(_ maker, ts []token, i int) []token {
		ts[i].text = ts[i].raw + `"`
		return ts
	})},
	{"key that swallowed a member", one(swallows, func(_ maker, ts []token, i int) []token {
		ts[i].text, ts[i+4].text = `"`+ts[i].raw, ts[i+4].raw+`"`
		return ts
	})},
	{"equals sign", each(":", func(m maker, _ token) (string, bool) { return pick(m, []string{"=", " = "}), true })},
	{"equals sign, keys without quotes", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			if t.kind == 'k' {
				ts[i].text = strings.ReplaceAll(t.raw, "-", "_")
			} else if t.kind == ':' {
				ts[i].text = "="
			}
		}
		return m.render(ts), !slices.ContainsFunc(ts, func(t token) bool { return strings.Contains(t.raw, "-") && t.kind == 'k' })
	}},
	{"arrow", each(":", func(m maker, _ token) (string, bool) { return pick(m, []string{" => ", "=>", " -> "}), true })},
	{"semicolons", each(",", func(m maker, _ token) (string, bool) { return ";", true })},
	{"tuple", one(of("["), func(_ maker, ts []token, i int) []token {
		ts[closer(ts, i)].text, ts[i].text = ")", "("
		return ts
	})},
	{"marks of width zero", one(of("{}[]k:,"), add("\ufeff", "\u200b", "\u00a0", "\u3000"))},
	{"triple quotes", each("s", func(m maker, t token) (string, bool) {
		q := pick(m, []string{`"""`, `'''`})
		return q + t.raw + q, !strings.ContainsAny(t.raw, `\`) && !strings.Contains(t.raw, q) && t.raw != "" && !strings.HasSuffix(t.raw, q[:1]) && !strings.HasPrefix(t.raw, q[:1])
	})},
	{"ellipsis", one(func(ts []token, i int) bool { return ts[i].kind == ']' }, add(", ...", ",…", ", … "))},
	{"doubled quotes", each("k", func(_ maker, t token) (string, bool) { return `"` + t.text + `"`, true })},
	{"escaped once too often", whole(func(_ maker, s string) string { q := quoted(s); return q[1 : len(q)-1] })},
	{"missing end quote", one(func(ts []token, i int) bool {
		return ts[i].kind == 's' && i+2 < len(ts) && ts[i+1].kind == ',' && ts[i+2].kind == 'k' && !strings.ContainsAny(ts[i].text[1:len(ts[i].text)-1], `",:\`)
	}, func(_ maker, ts []token, i int) []token { ts[i].text = strings.TrimSuffix(ts[i].text, `"`); return ts })},
	{"values without quotes", each("s", func(_ maker, t token) (string, bool) { return t.raw, plainWord(t.raw) })},
}

func plainWord(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !(c >= 'a' && c <= 'z' || c == '/' || c == '.' || c == ' ') }) < 0 && !strings.Contains(s, "//") && !json.Valid([]byte(s))
}

// swallows reports whether two members follow whose keys may run together.
func swallows(ts []token, i int) bool {
	return ts[i].kind == 'k' && i+4 < len(ts) && of("nl")(ts, i+2) && ts[i+3].kind == ',' && ts[i+4].kind == 'k'
}

// closer returns the place of the bracket that closes the one at i.
func closer(ts []token, i int) int {
	depth := 0
	for j := i; ; j++ {
		switch ts[j].kind {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return j
			}
		}
	}
}

// declared reports whether a list or object is at i that the schemas declare.
func declared(ts []token, i int) bool {
	return before(":", "{[")(ts, i) && ts[i-2].raw != "list"
}
