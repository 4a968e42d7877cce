package toolschema

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// structural keywords are handled by name; they are neither copied nor described in words.
var structural = words("type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "enum",
	"description", "title", "$schema", "$id", "id", "$defs", "definitions", "$comment", "$anchor", "nullable",
	"additionalItems", "unevaluatedProperties", "readOnly", "writeOnly", "deprecated")

// keywords copies the keywords of f that the dialect knows to out, and describes the other keywords
// in words.
func (e *emitter) keywords(out *jsontree.Value, f *flat) {
	for _, m := range f.Members {
		switch {
		case structural[m.Key]:
		case e.rules.keep[m.Key]:
			out.Set(m.Key, m.Value)
		default:
			if text := hint(m.Key, m.Value); text != "" && !contains(f.hints, text) {
				f.hints = append(f.hints, text)
			}
		}
	}
}

// hintWords are descriptions of keywords; % is replaced by the keyword's value.
var hintWords = map[string]string{
	"minimum": "at least %", "maximum": "at most %", "exclusiveMinimum": "more than %", "exclusiveMaximum": "less than %",
	"multipleOf": "a multiple of %", "pattern": "matches %", "format": "format %", "default": "default %",
	"examples": "for example %", "minItems": "at least % elements", "maxItems": "at most % elements",
	"minLength": "at least % characters", "maxLength": "at most % characters", "minProperties": "at least % members",
	"maxProperties": "at most % members", "contentEncoding": "encoded as %", "contentMediaType": "of type %",
	"uniqueItems": "no duplicates",
}

// hint describes one keyword in words.
func hint(key string, v *jsontree.Value) string {
	if strings.HasPrefix(key, "x-") {
		return ""
	}
	word, ok := hintWords[key]
	if !ok {
		return key + ": " + clipJSON(v)
	}
	if b, isBool := v.Bool(); isBool && key != "default" {
		if b && key == "uniqueItems" {
			return word
		}
		return ""
	}
	if key == "pattern" && v.Text() == DurationPattern {
		return "" // the description of the format says it better
	}
	text := clipJSON(v)
	switch {
	case v.Kind == jsontree.String && key != "default":
		text = v.Text()
	case v.Kind == jsontree.Array && key == "examples" && len(v.Items) > 0:
		text = clipJSON(v.Items[0])
	}
	return strings.Replace(word, "%", text, 1)
}

// describeNode sets the description of out: the description or the title of f, followed by the
// hints.
func describeNode(out *jsontree.Value, f *flat) {
	text := f.Get("description").Text()
	if text == "" {
		text = f.Get("title").Text()
	}
	if text == "" {
		text = out.Get("description").Text()
	}
	if len(f.hints) > 0 {
		add := "(" + strings.Join(f.hints, "; ") + ")"
		if text != "" {
			add = " " + add
		}
		text += add
	}
	if text != "" {
		out.Set("description", jsontree.NewString(text))
	}
}
