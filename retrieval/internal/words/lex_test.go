package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKinds checks that code, comments and strings are distinguished. In each text, exactly the
// words that begin with c are in comments, and exactly the words that begin with s are in strings.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ name, file, src string }{
		{"go", "a.go", "x := \"s1 \\\" s2\" + `s3 \\` + y // c1 \"c2\nz('s', /* c3\nc4 */ w)\n`s4\ns5 // s6` // c5"},
		{"go string that is not closed", "a.go", "x := \"s1 s2\ny := z"},
		{"python", "a.py", "x = 's1' # c1 \"c2\ny = \"s2 # s3\"\nz = '''s4\ns5 ' s6''' + w\n"},
		{"python docstrings", "a.py", "def f():\n    \"\"\"c1 'c2'\n    c3\"\"\"\n    return \"\"\"s1\"\"\"\ndef g():\n    r'''c4 \\'''\n    x"},
		{"javascript", "a.js", "x = 's1' + \"s2\" + `s3 ${s4} \\` s5` // c1\n/* c2 ` */ y"},
		{"javascript nested templates", "a.js", "x = `s1 ${s2 ? `s3 ${s4}` : `s5`} s6`; y = {}; z"},
		{"javascript regular expressions", "a.js", "x = /s1[/'`]s2/; y = a / b / d; f(/s3\"/); return /s4'`/.test(y); z"},
		{"rust", "a.rs", "let x = \"s1\\\" s2\"; /* c1 /* c2 */ c3 */ y; // c4\nr#\"s3 \" s4\"# + z; br##\"s5 \"# s6\"##; 's'; '\\s'; fn f<'a>(x: &'a str) {} r\"s7\\\"; w"},
		{"rust string of lines", "a.rs", "x = \"s1\ns2\"; y"},
		{"java", "A.java", "x = \"s1 \\\" s2\"; '\"'; y /** c1 \" */ z // c2\nw = \"\"\"\n s3 \" s4\n\"\"\"; v"},
		{"c", "a.c", "x = \"s1\\\\\"; y /* c1\nc2 // */ z // c3\nL\"s2\"; '\\''; '\"'; w"},
		{"c++ raw", "a.cpp", "x = R\"(s1 \" s2)\"; y = R\"sq(s3 )\" s4)sq\"; z + R\"no\"; w"},
		{"c sharp", "a.cs", "x = @\"s1\\\"; y = @\"s2 \"\"s3\"; z = $@\"s4\\\"; w = \"\"\"s5 \" s6\"\"\"; v"},
		{"swift", "a.swift", "x = \"s1\" /* c1 /* c2 */ c3 */ + \"\"\"\ns2 \" s3\n\"\"\" + y"},
		{"ruby", "a.rb", "x = 's1' # c1\ny = \"s2 # s3\" + z"},
		{"php", "a.php", "$x = 's1'; // c1\n# c2\n/* c3 */ f(\"s2\"); App\\Models\\User"},
		{"shell", "a.sh", "x=\"s1 # s2\" # c1\ny=${#z} $# ${w#v}"},
		{"lua", "a.lua", "x = 's1' -- c1\n--[[ c2\nc3 ]] y"},
		{"sql", "a.sql", "a = 's1' -- c1\n/* c2 */ b"},
		{"haskell", "a.hs", "x = \"s1\" -- c1\n{- c2 {- c3 -} c4 -} y \\z -> z"},
		{"lisp", "a.clj", "(x \"s1\ns2\" ; c1\ny)"},
		{"elixir", "a.ex", "x = %{key: \"s1\"} # c1\n%User{name: y}"},
		{"erlang", "a.erl", "x() -> y. % c1\n%% c2\nz"},
		{"yaml", "a.yml", "key: 's1' # c1\nport: 80; b\n; c2"},
		{"html", "a.html", "<p>x</p> <!-- c1\nc2 --> y"},
		{"css", "a.css", "a { b: \"s1\" } /* c1 */ .d {}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, src := range []string{c.src, "\uFEFF" + c.src, strings.ReplaceAll(c.src, "\n", "\r\n")} {
				text := read(t, c.file, src)
				for _, k := range text.Tokens {
					w := string(k.Of([]byte(src)))
					if w == "$" {
						continue
					}
					want := Code
					switch {
					case w[0] == 'c':
						want = Comment
					case w[0] == 's' && w != "str" || w == "no":
						want = String
					}
					if got := k.Kind; got != want && !(got == Definition && want == Code) {
						t.Errorf("%q is of kind %d, not %d", w, got, want)
					}
				}
				if n := strings.Count(src, "c1") + strings.Count(src, "s1"); n == 0 {
					t.Error("the text has nothing to tell apart")
				}
			}
		})
	}
}

// TestByteOrderMark: a byte order mark is not part of the first word.
func TestByteOrderMark(t *testing.T) {
	for _, name := range []string{"a.go", "a.md"} {
		src := "\uFEFFpackage main"
		if d := cmp.Diff("package", string(read(t, name, src).Tokens[0].Of([]byte(src)))); d != "" {
			t.Error(d)
		}
	}
}

// TestUnterminated checks that a string, comment or bracket that is never closed affects only the
// text after it.
func TestUnterminated(t *testing.T) {
	opens := []string{
		`"`, `'`, "`", `"""`, "'''", "/*", "/**", "//", "#", "--[[", "{-", "<!--", "(*", `r#"`, `R"x(`, `R"`, `@"`, "`${", "`${`${", "/[", "/",
		"(", "[", "{", "<", "\\", "\"\\", "'\\", "func (", "impl<", "fun <T", "class ", "def ", "#if\n{", "#else", "#define", "typedef struct {",
		"CREATE TABLE", "```", "\xff", "\uFEFF", "$", "%", "%{", "@", "=>", "x = ", "\r", "\\\r", "\\\r\n",
	}
	var x Lexer
	for l := range Lang(len(syntaxes)) {
		for _, open := range opens {
			for _, src := range []string{open, "a\n" + open, open + "\nb\n" + open + "\n", open + "\r\nb", "x(" + open + ")\n{" + open + "}"} {
				checkText(t, x.Read(l, []byte(src)), []byte(src))
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	for l := range Lang(len(syntaxes)) {
		var x Lexer
		for _, src := range []string{"", "\n", "\n\n", "\r\n", " ", "\t\n"} {
			text := x.Read(l, []byte(src))
			checkText(t, text, []byte(src))
			if len(text.Chunks) != 1 || len(text.Tokens) != 0 {
				t.Errorf("%d %q: %v", l, src, text)
			}
		}
	}
}

// TestReadAgain: a lexer keeps only its buffers from one text to the next.
func TestReadAgain(t *testing.T) {
	var used Lexer
	used.Read(JavaScript, []byte("x = `${ a(({{ #if\nclass typedef struct {"))
	used.Read(C, []byte("#if A\ntypedef struct { int f(a) int b; #define X \\\n"))
	for _, c := range []struct{ name, src string }{
		{"a.js", "x = `a ${`b`}`; function f() {}"}, {"a.c", "int f(void)\n{\n}\n"}, {"a.rs", "impl<T> A for B<T> { fn c() {} }"}, {"a.go", "func (x T) f() {}"},
	} {
		var fresh Lexer
		a, b := used.Read(LangOf(c.name), []byte(c.src)), fresh.Read(LangOf(c.name), []byte(c.src))
		if d := cmp.Diff(b, a); d != "" {
			t.Errorf("%s (-fresh +used):\n%s", c.name, d)
		}
	}
}

func TestLangOf(t *testing.T) {
	for name, want := range map[string]Lang{
		"a/b.go": Go, "X.PY": Python, "a.tsx": JavaScript, "a.d.ts": JavaScript, "Makefile": Data, "dir/Dockerfile": Data, "README": Prose, "README.md": Prose,
		"CMakeLists.txt": Data, "notes.txt": Prose, "a": Plain, "": Plain, ".go": Go, "a.b.kt": Java, "a.unknown": Plain, "Gemfile": Ruby,
	} {
		if got := LangOf(name); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
}
