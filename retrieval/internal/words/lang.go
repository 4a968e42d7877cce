package words

import (
	"path"
	"strings"
)

// A Lang selects the rules by which a file is read.
type Lang uint8

// The languages that have rules; everything else is Plain.
const (
	Plain Lang = iota
	Go
	Python
	JavaScript // and TypeScript, with their JSX forms and single-file components
	Rust
	Java // and Kotlin, Scala, Groovy
	C    // and C++, Objective-C
	CSharp
	Swift
	Ruby
	PHP
	Shell
	Lua
	SQL
	Haskell // and Elm, ML
	Lisp
	Elixir
	Proto
	Data   // YAML, TOML, INI: lines of keys, comments with #
	Markup // HTML, XML
	Style  // CSS and its dialects
	Prose  // Markdown, reStructuredText, plain text
)

var byExtension = map[string]Lang{
	".go": Go, ".py": Python, ".pyi": Python, ".pyx": Python, ".pxd": Python,
	".js": JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript, ".ts": JavaScript, ".tsx": JavaScript,
	".mts": JavaScript, ".cts": JavaScript, ".svelte": JavaScript, ".vue": JavaScript,
	".rs": Rust, ".java": Java, ".kt": Java, ".kts": Java, ".scala": Java, ".groovy": Java, ".gradle": Java, ".dart": Java,
	".c": C, ".h": C, ".cc": C, ".cpp": C, ".cxx": C, ".hpp": C, ".hh": C, ".hxx": C, ".m": C, ".mm": C, ".inl": C, ".cu": C, ".zig": C,
	".cs": CSharp, ".swift": Swift, ".rb": Ruby, ".rake": Ruby, ".gemspec": Ruby, ".php": PHP,
	".sh": Shell, ".bash": Shell, ".zsh": Shell, ".fish": Shell, ".ps1": Shell, ".pl": Shell, ".pm": Shell, ".r": Shell, ".jl": Shell, ".tcl": Shell,
	".lua": Lua, ".sql": SQL, ".hs": Haskell, ".elm": Haskell, ".ml": Haskell, ".mli": Haskell, ".fs": Haskell,
	".clj": Lisp, ".cljs": Lisp, ".el": Lisp, ".lisp": Lisp, ".scm": Lisp, ".rkt": Lisp, ".ex": Elixir, ".exs": Elixir, ".erl": Elixir,
	".proto": Proto, ".thrift": Proto, ".graphql": Proto,
	".yaml": Data, ".yml": Data, ".toml": Data, ".ini": Data, ".cfg": Data, ".conf": Data, ".properties": Data, ".cmake": Data, ".mk": Data, ".tf": Data,
	".html": Markup, ".htm": Markup, ".xml": Markup, ".svg": Markup, ".xhtml": Markup,
	".css": Style, ".scss": Style, ".sass": Style, ".less": Style,
	".md": Prose, ".markdown": Prose, ".mdx": Prose, ".rst": Prose, ".txt": Prose, ".adoc": Prose, ".tex": Prose,
}

var byName = map[string]Lang{
	"makefile": Data, "gnumakefile": Data, "dockerfile": Data, "cmakelists.txt": Data, ".gitignore": Data, "jenkinsfile": Java,
	"rakefile": Ruby, "gemfile": Ruby, "readme": Prose, "license": Prose, "changelog": Prose, "news": Prose, "authors": Prose,
}

// LangOf returns the language for a file's name.
func LangOf(name string) Lang {
	base := strings.ToLower(path.Base(name))
	if l, ok := byName[base]; ok {
		return l
	}
	return byExtension[path.Ext(base)]
}

// A syntax describes a language for the lexer.
type syntax struct {
	line, line2 string // starts of a comment that extends to the end of the line
	open, shut  string // a block comment
	nested      bool   // block comments nest
	quotes      string // bytes that open a single-line string
	raw         string // bytes that open a multi-line string
	triple      bool   // ''' and """ open a multi-line string, or a comment if a statement may begin there
	braces      bool   // blocks are in braces
	chars       bool   // ' may be a lifetime or a character
	regexSlash  bool   // a / where an operand is expected begins a regular expression
}

var syntaxes = [...]syntax{
	Plain:      {},
	Go:         {line: "//", open: "/*", shut: "*/", quotes: `"'`, raw: "`", braces: true},
	Python:     {line: "#", quotes: `"'`, triple: true},
	JavaScript: {line: "//", open: "/*", shut: "*/", quotes: `"'`, raw: "`", braces: true, regexSlash: true},
	Rust:       {line: "//", open: "/*", shut: "*/", nested: true, raw: `"`, braces: true, chars: true},
	Java:       {line: "//", open: "/*", shut: "*/", quotes: `"'`, triple: true, braces: true},
	C:          {line: "//", open: "/*", shut: "*/", quotes: `"'`, braces: true},
	CSharp:     {line: "//", open: "/*", shut: "*/", quotes: `"'`, triple: true, braces: true},
	Swift:      {line: "//", open: "/*", shut: "*/", nested: true, quotes: `"`, triple: true, braces: true},
	Ruby:       {line: "#", quotes: `"'`},
	PHP:        {line: "//", line2: "#", open: "/*", shut: "*/", quotes: `"'`, braces: true},
	Shell:      {line: "#", quotes: `"'`, braces: true},
	Lua:        {line: "--", open: "--[[", shut: "]]", quotes: `"'`},
	SQL:        {line: "--", open: "/*", shut: "*/", quotes: `"'`},
	Haskell:    {line: "--", open: "{-", shut: "-}", nested: true, quotes: `"`},
	Lisp:       {line: ";", raw: `"`},
	Elixir:     {line: "#", line2: "%", quotes: `"'`, triple: true},
	Proto:      {line: "//", line2: "#", open: "/*", shut: "*/", quotes: `"'`, braces: true},
	Data:       {line: "#", line2: ";", quotes: `"'`},
	Markup:     {open: "<!--", shut: "-->"},
	Style:      {line: "//", open: "/*", shut: "*/", quotes: `"'`},
	Prose:      {},
}
