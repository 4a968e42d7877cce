package argcheck

import (
	"slices"
	"strings"
)

// later are kinds that were written when the repairer was done with all others. What it did on the
// first try is in docs/benchmarks/tools.md.
var later = []damage{
	{"full-width colons and commas", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			switch t.kind {
			case ':':
				ts[i].text = "："
			case ',':
				ts[i].text = "，"
			}
		}
		return m.render(ts), true
	}},
	{"curly single quotes", requote("ks", "‘", "’")},
	{"guillemets", requote("ks", "«", "»")},
	{"doubled colons", each(":", func(maker, token) (string, bool) { return "::", true })},
	{"lines without commas, keys without quotes", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			switch {
			case t.kind == 'k':
				ts[i].text = t.raw
			case t.kind == ',' && ts[i+1].kind == 'k':
				ts[i].text = "\n"
			}
		}
		return m.render(ts), true
	}},
	{"Ruby's symbols", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			switch t.kind {
			case 'k':
				ts[i].text = ":" + t.raw
			case ':':
				ts[i].text = " => "
			}
		}
		return m.render(ts), !slices.ContainsFunc(ts, func(t token) bool { return t.kind == 'k' && strings.Contains(t.raw, "-") })
	}},
	{"Lua's keys", func(m maker, ts []token) (string, bool) {
		for i, t := range ts {
			switch t.kind {
			case 'k':
				ts[i].text = "[" + t.text + "]"
			case ':':
				ts[i].text = " = "
			}
		}
		return m.render(ts), true
	}},
	{"statement around", whole(func(m maker, s string) string {
		return pick(m, []string{"const args = ", "return ", "args = "}) + s + ";"
	})},
	{"escaped white space between tokens", one(of("}"), func(_ maker, ts []token, i int) []token {
		var out []token
		for _, t := range ts {
			if t.kind == 'k' || t.kind == '}' {
				out = append(out, token{kind: 'x', text: `\n  `})
			}
			out = append(out, t)
		}
		return out
	})},
	{"full stop at the end", whole(func(_ maker, s string) string { return s + "." })},
	{"comments with CR LF", one(of("k}]"), add("// note\r\n", " # note\r\n", "/* a\r\n b */\r\n"))},
	{"entities for quotes", func(m maker, ts []token) (string, bool) {
		return strings.NewReplacer(`\"`, `\&quot;`, `"`, "&quot;").Replace(m.render(ts)), true
	}},
	{"no comma behind a list or an object", one(func(ts []token, i int) bool { return ts[i].kind == ',' && of("]}")(ts, i-1) }, write("", " ", "\n"))},
	{"one more opening brace", whole(func(_ maker, s string) string { return "{" + s + "}" })},
}
