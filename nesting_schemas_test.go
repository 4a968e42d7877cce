package luthier_test

import (
	"fmt"
	"strings"
)

// nestingSchemas returns schemas that refer to themselves, that are deep, and whose references
// double at each step.
func nestingSchemas() []input {
	in := []input{
		{"ref to itself", `{"$ref":"#"}`},
		{"refs in a loop", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`},
		{"object and ref to itself", `{"type":"object","$ref":"#"}`},
		{"dynamic ref", `{"$dynamicAnchor":"x","type":"object","additionalProperties":{"$dynamicRef":"#x"}}`},
		{"dynamic ref to itself", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`},
		{"recursive ref", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`},
		{"anchor", `{"$anchor":"x","type":["object","array"],"items":{"$ref":"#x"},"additionalProperties":{"$ref":"#x"}}`},
		{"id", `{"$id":"http://a/b","type":["object","array"],"items":{"$ref":"b"},"additionalProperties":{"$ref":"b"}}`},
		{"draft 4 id", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://a/b","type":["object","array"],"items":{"$ref":"b"},"additionalProperties":{"$ref":"#"}}`},
		{"two of itself", `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`},
	}
	// Each keyword holds the whole schema, the schema that refers to it, and a type.
	for _, k := range []string{`"properties":{"a":%s}`, `"patternProperties":{"a":%s}`, `"additionalProperties":%s`, `"items":%s`,
		`"items":[%s]`, `"additionalItems":%s`, `"prefixItems":[%s,%[1]s]`, `"anyOf":[%s,{"type":"string"}]`, `"anyOf":[%s,%[1]s,{"type":"string"}]`,
		`"oneOf":[{"type":"string"},%s]`, `"allOf":[%s]`, `"not":%s`, `"if":%s,"then":%[1]s,"else":%[1]s`, `"contains":%s`, `"propertyNames":%s`,
		`"dependentSchemas":{"a":%s}`, `"dependencies":{"a":%s}`, `"unevaluatedProperties":%s`, `"unevaluatedItems":%s`} {
		name, _, _ := strings.Cut(k[1:], `"`)
		self := fmt.Sprintf(k, `{"$ref":"#"}`)
		in = append(in,
			input{"itself in " + name, "{" + self + "}"},
			input{"object of itself in " + name, `{"type":"object",` + self + "}"},
			input{"list of itself in " + name, `{"type":["object","array"],` + self + "}"},
			input{"argument of " + name + " of itself", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["array","object","string"],` + fmt.Sprintf(k, `{"$ref":"#/$defs/x"}`) + `}}}`},
			input{"argument of only " + name + " of itself", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{` + fmt.Sprintf(k, `{"$ref":"#/$defs/x"}`) + `}}}`},
			input{"doubling " + name, doubling(k, 40)},
			input{"long chain of " + name, chain(k, 3000)},
		)
		before, after, _ := strings.Cut(k, "%s")
		if !strings.Contains(after, "%[1]s") {
			in = append(in,
				input{"deep " + name, nest(4900, "{"+before, "{}", after+"}")},
				input{"deep object " + name, `{"type":"object","properties":{"a":` + nest(2400, `{"type":["object","array"],`+before, "{}", after+"}") + `}}`},
				input{"too deep " + name, nest(100_000, "{"+before, "{}", after+"}")},
				input{"unfinished " + name, nest(100_000, "{"+before, "", "")})
		}
	}
	for _, k := range []string{"const", "default", "examples", "enum"} {
		in = append(in, input{"deep " + k, `{"type":"object","properties":{"a":{"` + k + `":` + nest(9000, "[", "1", "]") + `}}}`},
			input{"deep objects in " + k, `{"type":"object","required":["a"],"properties":{"a":{"` + k + `":[` + nest(9000, `{"a":`, "1", "}") + `]}}}`})
	}
	for _, p := range nestingPatterns() {
		in = append(in, input{"pattern " + p.name, fmt.Sprintf(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":%q}}}`, p.text)})
	}
	var wide strings.Builder
	wide.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{`)
	for i := range 200 {
		fmt.Fprintf(&wide, `%s"p%d":{"$ref":"#/$defs/x"}`, strings.Repeat(",", min(i, 1)), i)
	}
	wide.WriteString(`}}}}`)
	return append(in, input{"wide", wide.String()}, input{"wide and required", strings.Replace(wide.String(), `{"type":"object","properties":{"p0"`, `{"type":"object","required":["p0","p1","p2","p3","p4","p5","p6","p7","p8","p9"],"properties":{"p0"`, 1)}, input{"unions", unions(30)})
}

// doubling returns a schema of n definitions, each of which holds the next one twice.
func doubling(keyword string, n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":{"allOf":[{%s},{%[2]s}]},`, i, fmt.Sprintf(keyword, next))
	}
	fmt.Fprintf(&b, `"d%d":{"type":["object","array","string"]}}}`, n)
	return b.String()
}

// chain returns a schema of n definitions, each of which holds the next one.
func chain(keyword string, n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{%s},`, i, fmt.Sprintf(keyword, fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":{"type":["object","array","string"]}}}`, n)
	return b.String()
}

// nestingPatterns returns regular expressions.
func nestingPatterns() []input {
	return []input{
		{"groups", nest(100_000, "(", "a", ")")},
		{"some groups", nest(900, "(", "a", ")")},
		{"stars", nest(900, "(", "a", ")*")},
		{"counts", nest(8, "(", "a", "){30}")},
		{"nothing", nest(900, "(?:", "", ")*")},
		{"look-ahead", nest(900, "(?=", "a", ")")},
		{"look-ahead not", nest(5000, "(?!", "a", ")")},
		{"classes", strings.Repeat("[", 100_000)},
		{"alternatives", strings.Repeat("a|", 100_000)},
		{"backtracking", `^(a+)+$`},
		{"backtracking look-ahead", `^(?=(a+)+$)(a|aa)+\1$`},
	}
}

// nestingArgs returns values for arguments: valid ones, broken ones, ones that no schema accepts.
func nestingArgs() []input {
	return []input{
		{"wrong", `{"a":1,"b":[]}`},
		{"nothing", ``},
		{"text", `{"a":"` + strings.Repeat("a", 60) + `!"}`},
		{"list", `{"a":` + nest(60, "[", "", "]") + `}`},
		{"pairs", `{"a":` + nest(60, "[[],", "1", "]") + `}`},
		{"objects", `{"a":` + nest(60, `{"a":`, "1", "}") + `}`},
		{"both", nest(60, `{"a":[`, "1", "]}")},
		{"deep lists", `{"a":` + nest(9_900, "[", "1", "]") + `}`},
		{"deep objects", nest(9_900, `{"a":`, "1", "}")},
		{"deeper lists", nest(100_000, "[", "1", "]")},
		{"open lists", strings.Repeat("[", 100_000)},
		{"open objects", strings.Repeat(`{"a":`, 100_000)},
		{"loose objects", strings.Repeat(`{a:`, 100_000)},
		{"open parentheses", strings.Repeat(`(`, 100_000)},
		{"calls", nest(50_000, `f(`, "1", ")")},
		{"quotes", strings.Repeat(`"{'`, 50_000)},
		{"text in text", textInText(12)},
	}
}

// textInText returns arguments that are text of JSON, whose text is text of JSON again.
func textInText(n int) string {
	s := `{"a":1}`
	for range n {
		s = fmt.Sprintf(`{"a":%q}`, s)
	}
	return s
}

// unions returns a schema of n unions, each of four references to the next one.
func unions(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":{"anyOf":[%s,%[2]s,%[2]s,{"type":"array","items":%[2]s}]},`, i, next)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"boolean"}}}`, n)
	return b.String()
}
