package toolformat

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// looseNotation returns the notation of the Loose syntax.
func (b *grammarBuilder) looseNotation() *notation {
	quoted := func(inside *Rule) *Rule { return seq(lit(b.f.Quote), inside, lit(b.f.Quote)) }
	return &notation{
		word:      map[string][]string{"true": {"true"}, "false": {"false"}, "null": {"null"}},
		anyString: quoted(free(b.f.Quote)),
		anyKey:    regex(`[^\s{}\[\]:,=()"'` + regexp.QuoteMeta(b.f.Quote[:1]) + `]+`),
		comma:     lit(","),
		colon:     lit(":"),
		text:      func(s string) *Rule { return quoted(lit(s)) },
		key: func(k string) *Rule {
			if k == "" || strings.ContainsAny(k, b.f.Quote+"{}[]:,=()\"' \t\r\n") {
				return lit(quote(k))
			}
			return lit(k)
		},
		limited: func(s *jsontree.Value) *Rule {
			r, err := b.text(place{closer: b.f.Quote}, s, nil)
			if err != nil {
				return nil
			}
			return quoted(r)
		},
	}
}

// pythonNotation returns the notation of Python literals.
func (b *grammarBuilder) pythonNotation() *notation {
	guard := ""
	if end := b.f.Param.closing(""); b.f.Syntax == Params {
		if b.f.Param.Nested != "" {
			end = b.f.Param.Nested
		}
		guard = `(?![\s\S]*` + regexp.QuoteMeta(end) + ")"
	}
	anyString := alt(regex(`"(?:[^"\\]|\\[\s\S])*"`), regex(guard+`'(?:[^'\\]|\\[\s\S])*'`))
	if b.f.Syntax == Python {
		for _, q := range []string{`"`, `'`} {
			anyString.Parts = append(anyString.Parts, regex(q+q+q+"(?:"+q+"{0,2}(?:[^"+q+`\\]|\\[\s\S]))*`+q+q+q))
		}
	}
	anyString = b.named(anyString)
	space := b.space()
	return &notation{
		word:      map[string][]string{"true": {"true", "True"}, "false": {"false", "False"}, "null": {"null", "None"}},
		anyString: anyString,
		anyKey:    anyString,
		comma:     seq(lit(","), space),
		colon:     seq(lit(":"), space),
		space:     space,
		text:      pythonText,
		key:       pythonText,
		limited:   pythonLimited,
	}
}

// pythonText matches a given string in double or single quotes.
func pythonText(s string) *Rule {
	double := quote(s)
	single := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + "'"
	all := alt(lit(double), lit(single))
	if plain := `"` + s + `"`; plain != double && !strings.ContainsAny(s, "\\\"") {
		all.Parts = append(all.Parts, lit(plain))
	}
	return all
}

// pythonLimited matches a string with requirements: as JSON, or between single quotes.
func pythonLimited(s *jsontree.Value) *Rule {
	asJSON := schemaRule(s.JSON())
	lo, hi := length(s, "minLength"), length(s, "maxLength")
	switch keyword := constrained(s); {
	case keyword == "minLength" || keyword == "maxLength":
		most := ""
		if hi >= 0 {
			most = fmt.Sprint(hi)
		}
		return alt(asJSON, regex(fmt.Sprintf(`'(?:[^'\\]|\\['\\nrt]){%d,%s}'`, max(lo, 0), most)))
	case keyword == "pattern" && lo < 0 && hi < 0:
		return alt(asJSON, matching(s.Get("pattern").Text(), `'(?=[^'\\]*'$)`, `[^'\\]*`, `'`))
	}
	return asJSON
}
