package toolschema

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEmitGolden reads testdata/emit/*.txtar: a file "schema", and for each dialect a file with the
// expected result.
func TestEmitGolden(t *testing.T) {
	names, _ := filepath.Glob("testdata/emit/*.txtar")
	if len(names) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, f := range ar.Files {
				want[f.Name] = string(f.Data)
			}
			out := &txtar.Archive{Comment: ar.Comment, Files: ar.Files[:1]}
			for _, d := range []Dialect{Plain, OpenAI, Anthropic, Gemini, LlamaCPP} {
				got := golden(t, d, ar.Files[0].Data)
				out.Files = append(out.Files, txtar.File{Name: string(d), Data: []byte(got)})
				if diff := cmp.Diff(want[string(d)], got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", d, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func golden(t *testing.T, d Dialect, schema []byte) string {
	t.Helper()
	out, strict, err := Emit(d, schema)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var pretty strings.Builder
	enc := json.NewEncoder(&pretty)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	v, err := jsontree.Parse(out)
	if err != nil {
		t.Fatalf("%s: %v in %s", d, err, out)
	}
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if strict {
		return "strict\n" + pretty.String()
	}
	return pretty.String()
}

// keywordsOf are the keywords that each dialect's emitted schemas may contain.
var keywordsOf = map[Dialect]map[string]bool{
	OpenAI:    words("type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"),
	Anthropic: words("type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"),
	Gemini: words("type", "description", "properties", "required", "items", "enum", "anyOf", "nullable", "propertyOrdering",
		"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"),
	LlamaCPP: words("type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf",
		"minItems", "maxItems", "minLength", "maxLength"),
}

// checkDialect reports everything in an emitted schema that the dialect does not accept.
func checkDialect(d Dialect, v *jsontree.Value, strict bool, at string, report func(string)) {
	for _, m := range v.Members {
		if !keywordsOf[d][m.Key] {
			report(at + ": keyword " + m.Key)
		}
	}
	props, required := v.Get("properties"), strs(v.Get("required"))
	if strict && v.Get("type") == nil && v.Get("anyOf") == nil && v.Get("enum") == nil {
		report(at + ": untyped")
	}
	if v.Get("type").IsString("array") && v.Get("items") == nil {
		report(at + ": a list without items")
	}
	if props != nil {
		if closed, _ := opens(v.Get("additionalProperties")); strict && d == OpenAI && (closed || v.Get("additionalProperties") == nil) {
			report(at + ": an open object")
		}
		for _, m := range props.Members {
			if strict && d == OpenAI && !contains(required, m.Key) {
				report(at + "." + m.Key + ": optional under strict mode")
			}
			checkDialect(d, m.Value, strict, at+"."+m.Key, report)
		}
	}
	if enum := v.Get("enum"); enum != nil && d == Gemini {
		for _, x := range enum.Items {
			if x.Kind != jsontree.String {
				report(at + ": an enum of " + x.Kind.String())
			}
		}
	}
	if d == Gemini && v.Get("type") != nil && v.Get("type").Kind != jsontree.String {
		report(at + ": several types")
	}
	if items := v.Get("items"); items != nil {
		checkDialect(d, items, strict, at+"[]", report)
	}
	if forms := v.Get("anyOf"); forms != nil {
		for _, f := range forms.Items {
			checkDialect(d, f, strict, at+"|", report)
		}
	}
}

// TestEmitCorpus emits every real-world schema for every dialect and checks that the results hold
// nothing that the dialect refuses.
//
// Evidence: tools · Real schemas are emitted in each provider's dialect
func TestEmitCorpus(t *testing.T) {
	names := devdata.Glob(t, "schema-dev/data/*.json")
	stricts := map[Dialect]int{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Schema json.RawMessage }
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		for _, d := range []Dialect{OpenAI, Anthropic, Gemini, LlamaCPP} {
			out, strict, err := Emit(d, f.Schema)
			if err != nil {
				if !strings.Contains(err.Error(), "too large") {
					t.Errorf("%s %s: %v", filepath.Base(name), d, err)
				}
				continue
			}
			if strict {
				stricts[d]++
			}
			v, err := jsontree.Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			checkDialect(d, v, strict, "", func(msg string) { t.Errorf("%s %s: %s", filepath.Base(name), d, msg) })
		}
	}
	t.Logf("of %d schemas strict: %v", len(names), stricts)
}

func FuzzSchemaNormalise(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`,
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"anyOf":[{"type":"object"},{"type":"null"}]}`, `{"properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`,
		`{"properties":{"a":{"anyOf":[{"required":["b"]}],"type":"object","properties":{"b":true}}}}`, `true`, `[]`,
		`{"properties":{"a":{"items":[{"type":"string"},{"$ref":"#"}]}},"required":["a"]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		for _, d := range []Dialect{Plain, OpenAI, Anthropic, Gemini, LlamaCPP} {
			out, strict, err := Emit(d, json.RawMessage(schema))
			if err != nil {
				continue
			}
			v, err := jsontree.Parse(out)
			if err != nil {
				t.Fatalf("%s: %v in %s", d, err, out)
			}
			if d == Plain || !sane(v) {
				continue
			}
			checkDialect(d, v, strict, "", func(msg string) { t.Errorf("%s: %s in %s", d, msg, out) })
			if again, _, err := Emit(d, out); err != nil || !json.Valid(again) {
				t.Fatalf("%s: emitted twice: %v", d, err)
			}
		}
	})
}

// sane reports whether the structural keywords have valid types; nothing is expected for invalid
// schemas.
func sane(v *jsontree.Value) bool {
	ok := true
	for _, m := range v.Members {
		switch m.Key {
		case "properties":
			ok = ok && m.Value.Kind == jsontree.Object
		case "required", "enum", "anyOf":
			ok = ok && m.Value.Kind == jsontree.Array
		}
	}
	return ok
}
