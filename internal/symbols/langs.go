package symbols

import "strings"

// A syntax describes how a text is cut into tokens.
type syntax struct {
	lineComment  []string
	blockComment [][2]string
	nested       bool // block comments nest
	triple       bool // """
	template     bool // `${}`
	rawTick      bool // ` to `
	tickIdent    bool // `name`
	longStrings  bool // strings may span lines
	regex        bool // /x/
	preproc      bool // #define
	heredoc      bool // <<END
	digitQuote   bool // 1'000
	verbatim     bool // @""
	rust         bool
	cpp          bool
	ruby         bool
	shell        bool
}

// A shape is the way a language writes nesting.
type shape int

const (
	braces   shape = iota
	indented       // Python
	ended          // def ... end
	lines          // no nesting: SQL, shell
	headings       // Markdown
)

// A family describes a language for the token reader.
type family struct {
	name     string
	syntax   *syntax
	shape    shape
	newlines bool            // a statement may end at the end of its line
	words    map[string]word // words that may begin a statement
	style    style
	scripts  bool // code is inside <script> tags
}

// A style selects how functions without a keyword are recognised.
type style int

const (
	styleNone style = iota
	styleC
	styleJava
	styleJS
	styleRust
)

// A word describes a keyword at the beginning of a statement.
type word struct {
	kind  string // kind of the definition; "" for a modifier
	name  naming
	inner bool // allowed inside a function
}

// A naming is the position of a definition's name after its keyword.
type naming int

const (
	nameNext     naming = iota // the next identifier
	nameTagged                 // struct x in C, which is a definition only if a brace follows
	nameImpl                   // Rust's impl X for Y
	nameReceiver               // after a receiver in parentheses, or the last element of a path: func (r T) x, fun A.b
	nameMacro                  // macro_rules! x
	nameValue                  // a value that may be a function: const x = () =>
	nameSelf                   // the keyword itself: init, constructor
	nameTypedef                // C's typedef
	namePath                   // the last element of a.b.c or A::B, which may be missing
)

func words(groups ...any) map[string]word {
	out := map[string]word{}
	for i := 0; i+1 < len(groups); i += 2 {
		for _, name := range strings.Fields(groups[i].(string)) {
			out[name] = groups[i+1].(word)
		}
	}
	return out
}

var modifier = word{}

var (
	slashes = [][2]string{{"/*", "*/"}}
	// control lists words that cannot name a function; a parenthesis after them does not make a
	// call.
	control = words("if for while switch catch return else new sizeof throw await case typeof function super foreach elif "+
		"synchronized func fn def fun class struct interface enum static_assert alignof decltype defined _Static_assert "+
		"__attribute__ __declspec alignas noexcept throws extends implements instanceof void int char long short unsigned "+
		"float double bool constexpr explicit operator union asm __asm__ volatile", modifier)
	// spoken lists further such words in languages that use words as operators. In other languages
	// they are valid names.
	spoken = words("and or not in is as when unless elsif until then yield lambda del assert raise except finally with do end", modifier)
)

// isControl reports whether a word cannot name a function in this family's languages.
func (f *family) isControl(name []byte) bool {
	if _, ok := control[string(name)]; ok {
		return true
	}
	_, ok := spoken[string(name)]
	return ok && f.shape != braces
}

var languages = func() map[string]*family {
	cSyntax := syntax{lineComment: []string{"//"}, blockComment: slashes, preproc: true, digitQuote: true}
	cppSyntax := cSyntax
	cppSyntax.cpp = true
	java := syntax{lineComment: []string{"//"}, blockComment: slashes, triple: true}
	jsSyntax := syntax{lineComment: []string{"//"}, blockComment: slashes, template: true, regex: true}
	nested := syntax{lineComment: []string{"//"}, blockComment: slashes, triple: true, nested: true, tickIdent: true}

	golang := &family{name: "go", shape: braces, newlines: true,
		syntax: &syntax{lineComment: []string{"//"}, blockComment: slashes, rawTick: true},
		words:  words("func", word{Func, nameReceiver, false}, "type", word{Type, nameNext, false}, "const", word{Const, nameNext, false}, "var", word{Var, nameNext, false})}
	python := &family{name: "python", shape: indented, newlines: true, syntax: &syntax{lineComment: []string{"#"}, triple: true}}
	js := &family{name: "javascript", shape: braces, newlines: true, style: styleJS, syntax: &jsSyntax, words: words(
		"export default declare abstract async public private protected readonly override accessor static", modifier,
		"class", word{Class, nameNext, true}, "interface", word{Interface, nameNext, true}, "namespace module", word{Module, namePath, true},
		"enum", word{Enum, nameNext, true}, "type", word{Type, nameNext, true}, "function", word{Func, nameNext, true},
		"const let var", word{Const, nameValue, false})}
	ts := *js
	ts.name = "typescript"
	markup := ts
	markup.name, markup.scripts = "script", true
	rust := &family{name: "rust", shape: braces, style: styleRust,
		syntax: &syntax{lineComment: []string{"//"}, blockComment: slashes, nested: true, longStrings: true, rust: true},
		words: words("pub default async unsafe extern crate", modifier, "mod", word{Module, nameNext, true}, "struct union", word{Struct, nameNext, true},
			"enum", word{Enum, nameNext, true}, "trait", word{Trait, nameNext, true}, "impl", word{Impl, nameImpl, true}, "fn", word{Func, nameNext, true},
			"type", word{Type, nameNext, false}, "const static", word{Const, nameNext, false}, "macro_rules", word{Macro, nameMacro, true}, "macro", word{Macro, nameNext, true})}
	javaMods := "public protected private internal static final abstract sealed override virtual async default synchronized native partial readonly extern unsafe strictfp transient volatile required file open data new ref"
	javaLang := &family{name: "java", shape: braces, style: styleJava, syntax: &java, words: words(javaMods, modifier,
		"class", word{Class, nameNext, true}, "record", word{Class, nameNext, true}, "interface", word{Interface, nameNext, true}, "enum", word{Enum, nameNext, true})}
	csSyntax := java
	csSyntax.preproc, csSyntax.verbatim = true, true
	csharp := &family{name: "csharp", shape: braces, style: styleJava, syntax: &csSyntax, words: words(javaMods, modifier,
		"class record", word{Class, nameNext, true}, "interface", word{Interface, nameNext, true}, "enum", word{Enum, nameNext, true},
		"struct", word{Struct, nameNext, true}, "namespace", word{Module, namePath, false})}
	groovy := *javaLang
	groovy.name, groovy.newlines = "groovy", true
	groovy.words = words(javaMods, modifier, "class", word{Class, nameNext, true}, "interface", word{Interface, nameNext, true},
		"trait", word{Trait, nameNext, true}, "enum", word{Enum, nameNext, true}, "def", word{Func, nameReceiver, false})
	dart := groovy
	dart.name = "dart"
	dart.words = words(javaMods+" late external factory base mixin", modifier, "class", word{Class, nameNext, true},
		"extension", word{Impl, nameNext, true}, "enum", word{Enum, nameNext, true}, "typedef", word{Type, nameNext, true})
	kotlinMods := "public private internal protected open abstract sealed data inner annotation value final override companion suspend inline operator infix tailrec const lateinit expect actual external noinline crossinline implicit case lazy transparent opaque"
	kotlin := &family{name: "kotlin", shape: braces, newlines: true, syntax: &nested, words: words(kotlinMods, modifier,
		"class", word{Class, nameNext, true}, "enum", word{Enum, nameNext, false}, "interface", word{Interface, nameNext, true}, "object", word{Class, namePath, true},
		"fun", word{Func, nameReceiver, true}, "val", word{Const, nameReceiver, false}, "var", word{Var, nameReceiver, false}, "typealias", word{Type, nameNext, false},
		"constructor", word{Method, nameSelf, false})}
	scala := &family{name: "scala", shape: braces, newlines: true, syntax: &nested, words: words(kotlinMods, modifier,
		"class", word{Class, nameNext, true}, "object", word{Class, nameNext, true}, "trait", word{Trait, nameNext, true}, "enum", word{Enum, nameNext, true},
		"def", word{Func, nameNext, true}, "val", word{Const, nameNext, false}, "var", word{Var, nameNext, false}, "type", word{Type, nameNext, false}, "given", word{Const, nameNext, false})}
	swift := &family{name: "swift", shape: braces, newlines: true, syntax: &nested, words: words(
		"public private internal open fileprivate final static override mutating nonmutating indirect required convenience lazy weak unowned dynamic nonisolated prefix postfix infix", modifier,
		"class actor", word{Class, nameNext, true}, "struct", word{Struct, nameNext, true}, "enum", word{Enum, nameNext, true}, "protocol", word{Interface, nameNext, true},
		"extension", word{Impl, namePath, true}, "func", word{Func, nameNext, true}, "typealias associatedtype", word{Type, nameNext, true},
		"let", word{Const, nameNext, false}, "var", word{Var, nameNext, false}, "init deinit subscript", word{Method, nameSelf, false})}
	cWords := []any{"struct union", word{Struct, nameTagged, true}, "enum", word{Enum, nameTagged, true}, "typedef", word{Type, nameTypedef, false}}
	c := &family{name: "c", shape: braces, style: styleC, syntax: &cSyntax, words: words(cWords...)}
	cppWords := append([]any{"class", word{Class, nameTagged, true}, "namespace", word{Module, namePath, false}, "concept", word{Type, nameNext, false}, "using", word{Type, nameTypedef, false}, "inline", modifier}, cWords...)
	cpp := &family{name: "cpp", shape: braces, style: styleC, syntax: &cppSyntax, words: words(cppWords...)}
	php := &family{name: "php", shape: braces,
		syntax: &syntax{lineComment: []string{"//", "#"}, blockComment: slashes, longStrings: true, heredoc: true},
		words: words("abstract final readonly public protected private static", modifier, "class", word{Class, nameNext, true}, "interface", word{Interface, nameNext, true},
			"trait", word{Trait, nameNext, true}, "enum", word{Enum, nameNext, true}, "function", word{Func, nameNext, true}, "const", word{Const, nameNext, false}, "namespace", word{Module, namePath, false})}
	zig := &family{name: "zig", shape: braces, syntax: &syntax{lineComment: []string{"//", "\\\\"}},
		words: words("pub export inline extern threadlocal", modifier, "fn", word{Func, nameNext, true}, "const", word{Const, nameNext, false}, "var", word{Var, nameNext, false})}
	proto := &family{name: "proto", shape: braces, syntax: &syntax{lineComment: []string{"//"}, blockComment: slashes},
		words: words("message", word{Struct, nameNext, true}, "service", word{Interface, nameNext, true}, "enum", word{Enum, nameNext, true}, "rpc", word{Method, nameNext, true})}
	ruby := &family{name: "ruby", shape: ended, newlines: true, syntax: &syntax{lineComment: []string{"#"}, blockComment: [][2]string{{"=begin", "\n=end"}}, regex: true, heredoc: true, ruby: true, longStrings: true},
		words: words("class", word{Class, namePath, true}, "module", word{Module, namePath, true}, "def", word{Func, namePath, true})}
	lua := &family{name: "lua", shape: ended, newlines: true, syntax: &syntax{lineComment: []string{"--"}, blockComment: [][2]string{{"--[[", "]]"}, {"[[", "]]"}}},
		words: words("local", modifier, "function", word{Func, namePath, true})}
	elixir := &family{name: "elixir", shape: ended, newlines: true, syntax: &syntax{lineComment: []string{"#"}, triple: true, longStrings: true},
		words: words("defmodule", word{Module, namePath, true}, "defprotocol", word{Interface, namePath, true}, "defimpl", word{Impl, namePath, true},
			"def defp defmacro defmacrop defguard defdelegate", word{Func, nameNext, true})}
	shell := &family{name: "shell", shape: lines, newlines: true, syntax: &syntax{lineComment: []string{"#"}, heredoc: true, longStrings: true, shell: true}}
	sql := &family{name: "sql", shape: lines, newlines: true, syntax: &syntax{lineComment: []string{"--"}, blockComment: slashes, tickIdent: true}}
	markdown := &family{name: "markdown", shape: headings}

	out := map[string]*family{}
	for endings, f := range map[string]*family{
		".go": golang, ".py .pyi .pyw": python, ".js .jsx .mjs .cjs": js, ".ts .tsx .mts .cts": &ts, ".vue .svelte": &markup,
		".rs": rust, ".java": javaLang, ".cs": csharp, ".groovy .gradle": &groovy, ".dart": &dart, ".kt .kts": kotlin, ".scala .sc": scala,
		".swift": swift, ".c .m": c, ".h .cc .cpp .cxx .hh .hpp .hxx .mm .cu": cpp, ".php": php, ".zig": zig, ".proto": proto,
		".rb .rake": ruby, ".lua": lua, ".ex .exs": elixir, ".sh .bash": shell, ".sql": sql, ".md .markdown": markdown,
	} {
		for _, e := range strings.Fields(endings) {
			out[e] = f
		}
	}
	return out
}()
