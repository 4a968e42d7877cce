package coding

import (
	"regexp"
	"strings"
	"sync"
)

// A lineShape is a kind of line that declares something. The expression has a group "name".
type lineShape struct {
	kind  string
	re    *regexp.Regexp
	scope bool // what follows with deeper indentation belongs to it
}

type lineShapes []lineShape

// shapes reads pairs of kind and expression. A kind that ends in "{" opens a scope.
func shapes(pairs ...string) lineShapes {
	var out lineShapes
	for i := 0; i < len(pairs); i += 2 {
		kind, scope := strings.CutSuffix(pairs[i], "{")
		expr := strings.ReplaceAll(pairs[i+1], "NAME", `(?P<name>[\pL_$][\pL\pN_$]*)`)
		out = append(out, lineShape{kind, regexp.MustCompile(`^\s*` + expr), scope})
	}
	return out
}

// outline finds declarations by the shape of their lines, and their nesting by indentation.
func (ls lineShapes) outline(text string) []symbol {
	type scope struct {
		indent int
		name   string
	}
	var out []symbol
	var open []scope
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 1000 || strings.TrimSpace(line) == "" {
			continue
		}
		kind, name, opens := ls.match(line)
		if kind == "" {
			continue
		}
		indent := indentWidth(line)
		for len(open) > 0 && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		s := symbol{kind: kind, name: name, sig: strings.TrimRight(strings.TrimSpace(line), " {"), line: n, depth: len(open)}
		if len(open) > 0 && name != "" {
			s.name = open[len(open)-1].name + "." + name
		}
		out = append(out, s)
		if opens {
			open = append(open, scope{indent, s.name})
		}
	}
	return out
}

func (ls lineShapes) match(line string) (kind, name string, scope bool) {
	for _, s := range ls {
		if m := s.re.FindStringSubmatch(line); m != nil {
			name := m[s.re.SubexpIndex("name")]
			if notNames[name] {
				continue
			}
			return s.kind, name, s.scope
		}
	}
	return "", "", false
}

// notNames are keywords that look like the name of a function where a call or a statement stands.
var notNames = map[string]bool{
	"if": true, "for": true, "while": true, "switch": true, "catch": true, "return": true, "else": true, "do": true, "new": true,
	"sizeof": true, "throw": true, "await": true, "delete": true, "case": true, "typeof": true, "using": true, "lock": true,
	"function": true, "super": true, "elif": true, "until": true,
}

// indentWidth counts a tab as eight columns.
func indentWidth(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

// outlineShapes are the declarations of languages that are not parsed, by file name ending. A missing language is
// reported as such, never guessed. They are compiled at the first use.
var outlineShapes = sync.OnceValue(func() map[string]lineShapes {
	const javaMods = `(?:(?:public|protected|private|internal|static|final|abstract|sealed|override|virtual|async|default|synchronized|native|partial|readonly|extern|unsafe|non-sealed|strictfp)\s+)*`
	python := shapes("class{", `class\s+NAME`, "def{", `(?:async\s+)?def\s+NAME`)
	js := shapes(
		"class{", `(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?class\s+NAME`,
		"interface{", `(?:export\s+)?(?:declare\s+)?interface\s+NAME`,
		"namespace{", `(?:export\s+)?(?:declare\s+)?(?:namespace|module)\s+NAME`,
		"enum", `(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+NAME`,
		"type", `(?:export\s+)?(?:declare\s+)?type\s+NAME\s*(?:<[^=]*>)?\s*=`,
		"function{", `(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*NAME`,
		"function", `(?:export\s+)?(?:const|let|var)\s+NAME\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|[\pL_$][\pL\pN_$]*\s*=>)`,
		"const", `export\s+(?:const|let|var)\s+NAME`,
		"method", `(?:(?:public|private|protected|static|async|override|readonly|abstract|get|set)\s+)*\*?#?NAME\s*(?:<[^>]*>)?\([^;]*\)\s*(?::[^{;]+)?\{\s*$`,
	)
	rust := shapes(
		"mod{", `(?:pub(?:\([^)]*\))?\s+)?mod\s+NAME`,
		"struct", `(?:pub(?:\([^)]*\))?\s+)?(?:struct|union)\s+NAME`,
		"enum", `(?:pub(?:\([^)]*\))?\s+)?enum\s+NAME`,
		"trait{", `(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?trait\s+NAME`,
		"impl{", `(?:unsafe\s+)?impl(?:<.*?>)?\s+(?:[^{]*?\bfor\s+)?(?:&\s*)?(?:[\pL_][\pL\pN_]*::)*NAME`,
		"fn", `(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+"[^"]*"\s+)?fn\s+NAME`,
		"type", `(?:pub(?:\([^)]*\))?\s+)?type\s+NAME`,
		"const", `(?:pub(?:\([^)]*\))?\s+)?(?:const|static(?:\s+mut)?)\s+NAME\s*:`,
		"macro", `macro_rules!\s*NAME`,
	)
	java := shapes(
		"class{", javaMods+`(?:class|interface|enum|record|@interface|struct|trait|object)\s+NAME`,
		"namespace{", `namespace\s+NAME`,
		"method", javaMods+`(?:<[^>]+>\s+)?[\pL_][\pL\pN_<>\[\],.?\s]*?\s+NAME\s*\([^;=]*\)\s*(?:throws\s+[\pL\pN_,.\s]+)?(?:where\s+.*)?\{?\s*$`,
		"method", `(?:public|protected|private)\s+NAME\s*\([^;]*\)\s*(?:throws\s+[\pL\pN_,.\s]+)?\{`,
	)
	kotlin := shapes(
		"class{", `(?:(?:public|private|internal|protected|open|abstract|sealed|data|inner|enum|annotation|value|final|override|companion|case|implicit)\s+)*(?:class|interface|object|trait)\s+NAME`,
		"fun", `(?:(?:public|private|internal|protected|open|abstract|override|suspend|inline|operator|infix|tailrec|final|implicit)\s+)*(?:fun|def)\s+(?:<[^>]*>\s*)?(?:[\pL\pN_.<>?]+\.)?NAME`,
		"val", `(?:(?:public|private|internal|const|lateinit|override)\s+)*(?:val|var)\s+NAME`,
	)
	c := shapes(
		"namespace{", `namespace\s+NAME`,
		"class{", `(?:template\s*<[^>]*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:[A-Z_]+\s+)?NAME\s*(?:final\s*)?(?::[^;]*)?\{?\s*$`,
		"macro", `#\s*define\s+NAME`,
		"function", `(?:template\s*<[^>]*>\s*)?(?:[\pL_][\pL\pN_:<>,*&\s]*?[\s*&])(?:[\pL_~][\pL\pN_]*::)*NAME\s*\([^;]*\)?\s*(?:const|noexcept|override|final|\s)*\{?\s*$`,
	)
	ruby := shapes("class{", `class\s+(?:[\pL\pN_]+::)*NAME`, "module{", `module\s+(?:[\pL\pN_]+::)*NAME`, "def", `def\s+(?:self\.)?NAME`)
	php := shapes(
		"class{", `(?:(?:abstract|final|readonly)\s+)*(?:class|interface|trait|enum)\s+NAME`,
		"function", `(?:(?:public|protected|private|static|abstract|final)\s+)*function\s+&?NAME`,
	)
	swift := shapes(
		"type{", `(?:(?:public|private|internal|open|fileprivate|final|indirect)\s+)*(?:class|struct|enum|protocol|extension|actor)\s+NAME`,
		"func", `(?:(?:public|private|internal|open|fileprivate|final|static|class|override|mutating|@\S+)\s+)*func\s+NAME`,
	)
	shell := shapes("function", `function\s+NAME`, "function", `NAME\s*\(\)\s*\{?`)
	lua := shapes("function", `(?:local\s+)?function\s+(?:[\pL\pN_]+[.:])*NAME`)
	elixir := shapes("module{", `defmodule\s+(?:[\pL\pN_]+\.)*NAME`, "def", `def(?:p|macro|macrop|guard)?\s+NAME`)
	zig := shapes("fn", `(?:pub\s+)?(?:export\s+)?(?:inline\s+)?fn\s+NAME`, "const", `(?:pub\s+)?const\s+NAME\s*=\s*(?:packed\s+|extern\s+)?(?:struct|enum|union|error)`)
	sql := shapes("create", `(?i:create)\s+(?i:or\s+replace\s+)?(?i:temporary\s+|temp\s+|unique\s+|materialized\s+)?(?i:table|view|index|function|procedure|trigger|type|schema)\s+(?i:if\s+not\s+exists\s+)?(?:["\[\x60]?[\pL\pN_]+["\]\x60]?\.)?["\[\x60]?NAME`)
	proto := shapes("message{", `(?:message|service|enum)\s+NAME`, "rpc", `rpc\s+NAME`)
	golang := shapes("func", `func\s+(?:\([^)]*\)\s*)?NAME`, "type", `type\s+NAME`)
	markdown := shapes("heading", `#{1,6}\s+(?P<name>.+?)\s*#*$`)
	return map[string]lineShapes{
		".go": golang, ".py": python, ".pyi": python,
		".js": js, ".jsx": js, ".mjs": js, ".cjs": js, ".ts": js, ".tsx": js, ".mts": js, ".cts": js, ".vue": js, ".svelte": js,
		".rs": rust, ".java": java, ".cs": java, ".kt": kotlin, ".kts": kotlin, ".scala": kotlin, ".groovy": java,
		".c": c, ".h": c, ".cc": c, ".cpp": c, ".cxx": c, ".hh": c, ".hpp": c, ".hxx": c, ".m": c, ".mm": c,
		".rb": ruby, ".php": php, ".swift": swift, ".sh": shell, ".bash": shell, ".lua": lua, ".ex": elixir, ".exs": elixir,
		".zig": zig, ".sql": sql, ".proto": proto, ".md": markdown,
	}
})
