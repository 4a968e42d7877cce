package toolschema

import "strings"

// tagWords are the keywords that a jsonschema tag may contain; a comma before any other word
// belongs to the preceding text.
var tagWords = map[string]bool{
	"title": true, "description": true, "type": true, "anchor": true, "oneof_required": true, "anyof_required": true,
	"oneof_ref": true, "oneof_type": true, "anyof_ref": true, "anyof_type": true, "minLength": true, "maxLength": true,
	"pattern": true, "format": true, "readOnly": true, "writeOnly": true, "default": true, "example": true, "enum": true,
	"multipleOf": true, "minimum": true, "maximum": true, "exclusiveMaximum": true, "exclusiveMinimum": true,
	"minItems": true, "maxItems": true, "uniqueItems": true,
}

// tagParts splits a jsonschema tag into its keywords. A comma is part of the value if it is escaped
// or if no known keyword follows.
func tagParts(tag string) []string {
	var parts []string
	for piece := range strings.SplitSeq(tag, ",") {
		if n := len(parts); n > 0 && !startsKeyword(parts[n-1], piece) {
			if kept, ok := strings.CutSuffix(parts[n-1], `\`); ok {
				parts[n-1] = kept
			}
			parts[n-1] += "," + piece
			continue
		}
		parts = append(parts, piece)
	}
	return parts
}

func startsKeyword(before, piece string) bool {
	if strings.HasSuffix(before, `\`) {
		return false
	}
	word, _, hasValue := strings.Cut(piece, "=")
	if hasValue {
		return tagWords[word]
	}
	return word == "required" || word == "nullable" || word == "-" || !strings.Contains(before, "=")
}

// tagValue returns the value of a keyword in a jsonschema tag.
func tagValue(tag, word string) (string, bool) {
	for _, p := range tagParts(tag) {
		if key, value, ok := strings.Cut(p, "="); ok && key == word {
			return value, true
		}
	}
	return "", false
}

func tagDescription(tag string) string {
	text, _ := tagValue(tag, "description")
	return text
}

func tagHas(tag, word string) bool {
	for _, p := range tagParts(tag) {
		if p == word {
			return true
		}
	}
	return false
}
