package argcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func hexadecimal(s string) (string, bool) {
	n, err := strconv.Atoi(s)
	return fmt.Sprintf("0x%X", n), err == nil && n > 9
}

// aside are kinds that were written before the repairer was changed, and not looked at until it
// repaired the others. What it did then is in docs/benchmarks/tools.md.
var aside = []damage{
	{"label before", whole(func(m maker, s string) string { return pick(m, []string{"json\n", "JSON: ", "arguments = "}) + s })},
	{"call around", whole(func(m maker, s string) string {
		return pick(m, []string{"args(", "callback("}) + s + pick(m, []string{")", ");"})
	})},
	{"thoughts before", whole(func(_ maker, s string) string { return "<think>It isn't hard, I call it.</think>\n" + s })},
	{"comment with brackets and quotes", one(of("k}]"), add("/* {\"x\": [1, 'y */", "// ]} \"z\n"))},
	{"quotes around all, single", whole(func(_ maker, s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" })},
	{"continued lines", replace("s", `\n`, "\\\n")},
	{"no comma between objects", one(func(ts []token, i int) bool { return ts[i].kind == ',' && ts[i-1].kind == '}' && ts[i+1].kind == '{' }, write("", " ", "\n"))},
	{"CR LF and commas at the end", func(m maker, ts []token) (string, bool) {
		i := slices.IndexFunc(ts, func(t token) bool { return t.kind == '}' })
		ts = slices.Insert(ts, i, token{kind: ',', text: ",\r\n"})
		return strings.ReplaceAll(m.render(ts), "\n", "\r\n"), true
	}},
	{"semicolon at the end", whole(func(_ maker, s string) string { return s + ";\n" })},
	{"two kinds: Python's quotes and literals with a comma at the end", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			switch t.kind {
			case 'k', 's':
				ts[i].text = "'" + strings.ReplaceAll(strings.ReplaceAll(t.text[1:len(t.text)-1], `\"`, `"`), "'", `\'`) + "'"
			case 'l':
				ts[i].text = map[string]string{"true": "True", "false": "False", "null": "None"}[t.text]
			}
		}
		ts = slices.Insert(ts, len(ts)-1, token{kind: ',', text: ","})
		return m.render(ts), true
	}},
}

// unclear are kinds with more than one reading, or none: they must be refused.
var unclear = []damage{
	{"joined strings", each("s", func(_ maker, t token) (string, bool) {
		return `"a" + "b"`, true
	})},
	{"set", one(of("["), func(_ maker, ts []token, i int) []token {
		ts[closer(ts, i)].text, ts[i].text = "}", "{"
		return ts
	})},
	{"key twice", one(func(ts []token, i int) bool { return i == 1 }, func(m maker, ts []token, i int) []token {
		return slices.Insert(ts, i, token{kind: 'x', text: ts[i].text + `:"another",`})
	})},
	{"leading zero", numbers(func(s string) (string, bool) { return "0" + s, s[0] != '-' && s[0] != '0' })},
	{"exponent without digits", numbers(func(s string) (string, bool) { return s + "e", !strings.Contains(s, ".") })},
	{"no number", numbers(func(s string) (string, bool) { return "NaN", true })},
	{"infinite", numbers(func(s string) (string, bool) { return "-Infinity", true })},
	{"number for text", each("s", func(m maker, _ token) (string, bool) {
		return pick(m, []string{"1_000", "+5", "0x1F", ".5", "5.", "1e", "007", "NaN"}), true
	})},
	{"two objects", whole(func(_ maker, s string) string { return s + "\n" + s })},
	{"value left out", one(before(":", "snl"), write("...", "…"))},
	{"key without a value", one(before(":", "snl"), write(""))},
	{"member behind the end", whole(func(m maker, s string) string { return s + pick(m, []string{`, "more": 2}`, `, more: 2}`}) })},
}
