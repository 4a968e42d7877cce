package toolformat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// spell writes a value as JSON in one of the layouts of encoders, or as a Python literal.
func spell(r *rand.Rand, v *jsontree.Value, python bool) string {
	if !python {
		return layouts[r.IntN(len(layouts))](v.JSON())
	}
	return pythonRepr(v, r.IntN(2) == 0)
}

var layouts = []func(json.RawMessage) string{
	func(j json.RawMessage) string { return string(j) },
	func(j json.RawMessage) string { return spaced(j) },
	func(j json.RawMessage) string { return indented(j, "  ") },
	func(j json.RawMessage) string { return indented(j, "    ") },
}

func indented(j json.RawMessage, by string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(j)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(j)
	}
	out, _ := json.MarshalIndent(v, "", by)
	return string(out)
}

// spaced adds a blank after each comma and colon, as Python's json.dumps does.
func spaced(j json.RawMessage) string {
	var b strings.Builder
	inside := false
	for i, c := range string(j) {
		if c == '"' && (i == 0 || j[i-1] != '\\' || i > 1 && j[i-2] == '\\') {
			inside = !inside
		}
		b.WriteRune(c)
		if !inside && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// pythonRepr writes a value as Python's repr does; JSON's strings if double is true.
func pythonRepr(v *jsontree.Value, double bool) string {
	switch v.Kind {
	case jsontree.Bool:
		return map[string]string{"true": "True", "false": "False"}[v.Raw()]
	case jsontree.Null:
		return "None"
	case jsontree.String:
		if double {
			return string(v.JSON())
		}
		q := "'"
		if strings.Contains(v.Text(), "'") && !strings.Contains(v.Text(), `"`) {
			q = `"`
		}
		return q + strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`, "\t", `\t`).Replace(v.Text()) + q
	case jsontree.Array:
		items := make([]string, len(v.Items))
		for i, item := range v.Items {
			items[i] = pythonRepr(item, double)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case jsontree.Object:
		items := make([]string, len(v.Members))
		for i, m := range v.Members {
			items[i] = pythonRepr(jsontree.NewString(m.Key), double) + ": " + pythonRepr(m.Value, double)
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return v.Raw()
}

// tags writes a value as MiniMax-M3 does.
func tags(v *jsontree.Value) string {
	const ns = "]<]minimax[>["
	var b strings.Builder
	switch {
	case v.Kind == jsontree.String:
		return v.Text()
	case v.Kind == jsontree.Object && len(v.Members) > 0:
		for _, m := range v.Members {
			b.WriteString(ns + "<" + m.Key + ">" + tags(m.Value) + ns + "</" + m.Key + ">")
		}
		return b.String()
	case v.Kind == jsontree.Array && len(v.Items) > 0:
		for _, item := range v.Items {
			b.WriteString(ns + "<item>" + tags(item) + ns + "</item>")
		}
		return b.String()
	}
	return string(v.JSON())
}

// bareText writes a value as Gemma 4 does.
func bareText(v *jsontree.Value) string {
	var list []string
	switch v.Kind {
	case jsontree.String:
		return `<|"|>` + v.Text() + `<|"|>`
	case jsontree.Object:
		for _, m := range v.Members {
			list = append(list, m.Key+":"+bareText(m.Value))
		}
		return "{" + strings.Join(list, ",") + "}"
	case jsontree.Array:
		for _, item := range v.Items {
			list = append(list, bareText(item))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return v.Raw()
}

// elements writes each argument by a pattern: # is the key, @ the type and $ the value.
func elements(pattern string, python bool) func(*rand.Rand, *jsontree.Value) string {
	return func(r *rand.Rand, args *jsontree.Value) string {
		var b strings.Builder
		for _, m := range args.Members {
			text := m.Value.Text()
			if m.Value.Kind != jsontree.String {
				text = spell(r, m.Value, python)
			}
			b.WriteString(strings.NewReplacer("#", m.Key, "@", typeName(m.Value), "%", fmt.Sprint(m.Value.Kind == jsontree.String), "$", text).Replace(pattern))
		}
		return b.String()
	}
}

func asObject(r *rand.Rand, args *jsontree.Value) string { return spell(r, args, false) }

func asKeywords(r *rand.Rand, args *jsontree.Value) string {
	list := make([]string, len(args.Members))
	for i, m := range args.Members {
		list[i] = m.Key + "=" + spell(r, m.Value, r.IntN(4) > 0)
	}
	return strings.Join(list, []string{", ", ","}[r.IntN(2)])
}

func asTags(r *rand.Rand, args *jsontree.Value) string {
	if len(args.Members) == 0 {
		return ""
	}
	return tags(args)
}
