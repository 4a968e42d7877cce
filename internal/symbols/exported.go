package symbols

import "strings"

// Exported reports whether other files may use a definition, judged by its beginning and by the
// enclosing definition. The language is the last part of a [Result]'s Parser.
func Exported(language string, d Def, outer *Def) bool {
	has := words80(d.Signature)
	switch {
	case outer != nil && (outer.Kind == Interface || outer.Kind == Trait):
		return outer.Exported
	case outer != nil && outer.Kind == Impl && strings.Contains(outer.Signature, " for "):
		return true // methods of a trait
	}
	switch language {
	case "rust":
		return has("pub") || d.Kind == Impl || d.Kind == Macro
	case "zig":
		return has("pub")
	case "java", "csharp":
		return has("public")
	case "javascript", "typescript", "tsx", "script":
		if outer != nil {
			return outer.Exported && !has("private") && !has("#"+d.Name)
		}
		return has("export") || has("exports."+d.Name) || has("module.exports")
	case "go":
		return d.Name != "" && d.Name[0] >= 'A' && d.Name[0] <= 'Z'
	case "c", "cpp":
		return !has("static") || d.Container != ""
	case "python":
		return !strings.HasPrefix(d.Name, "_") || strings.HasPrefix(d.Name, "__") && strings.HasSuffix(d.Name, "__")
	}
	return !has("private") && !has("fileprivate") && !has("protected")
}

// words80 returns a function that reports whether a word occurs in the first 80 bytes of a
// signature.
func words80(signature string) func(string) bool {
	if len(signature) > 80 {
		signature = signature[:80]
	}
	return func(word string) bool {
		for w := range strings.FieldsFuncSeq(signature, func(c rune) bool { return c == ' ' || c == '(' }) {
			if w == word {
				return true
			}
		}
		return false
	}
}
