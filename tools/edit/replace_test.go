package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		r             Replacement
		want          string
		strategy      string
	}{
		{"part of a line", "a b c\n", Replacement{Old: "b", New: "x"}, "a x c\n", "exact"},
		{"new is literal", "a b c\n", Replacement{Old: "b", New: `$1 $& \1 %s ${x}`}, `a $1 $& \1 %s ${x} c` + "\n", "exact"},
		{"delete", "a\nb\nc\n", Replacement{Old: "b\n"}, "a\nc\n", "exact"},
		{"insert", "a\nb\n", Replacement{Old: "a\n", New: "a\nx\n"}, "a\nx\nb\n", "exact"},
		{"all", "a b a b a\n", Replacement{Old: "a", New: "x", All: true}, "x b x b x\n", "exact"},
		{"all does not overlap", "aaaa\n", Replacement{Old: "aa", New: "x", All: true}, "xx\n", "exact"},
		{"empty file", "", Replacement{New: "x\n"}, "x\n", "empty-file"},
		{"empty file with byte order mark", bom, Replacement{New: "x\n"}, bom + "x\n", "empty-file"},
		{"white space only", "a\n\n\n\nb\n", Replacement{Old: "\n\n\n\n", New: "\n\n"}, "a\n\nb\n", "exact"},

		{"crlf file", "a\r\nb\r\nc\r\n", Replacement{Old: "a\nb", New: "a\nx\ny"}, "a\r\nx\r\ny\r\nc\r\n", "exact"},
		{"crlf file, one line", "a\r\nb\r\n", Replacement{Old: "b", New: "x\ny"}, "a\r\nx\r\ny\r\n", "exact"},
		{"crlf file, last line without end", "a\r\nb", Replacement{Old: "b", New: "x\ny"}, "a\r\nx\r\ny", "exact"},
		{"crlf edit", "a\nb\n", Replacement{Old: "a\r\nb", New: "a\r\nx"}, "a\nx\n", "exact"},
		{"crlf edit of crlf file", "a\r\nb\r\n", Replacement{Old: "a\r\nb", New: "a\r\nx"}, "a\r\nx\r\n", "exact"},
		{"change of line ending", "a\r\nb\r\n", Replacement{Old: "a\r\n", New: "a\n"}, "a\nb\r\n", "exact"},
		{"change of all line endings", "a\r\nb\r\n", Replacement{Old: "\r\n", New: "\n", All: true}, "a\nb\n", "exact"},
		{"crlf in new alone", "a\nb\n", Replacement{Old: "b", New: "x\r\ny"}, "a\nx\ny\n", "exact"},
		{"crlf in new alone, several lines", "a\nb\nc\n", Replacement{Old: "a\nb\n", New: "a\r\nx\r\nb\r\n"}, "a\nx\nb\nc\n", "exact"},
		{"crlf in new alone, mixed", "a\nb\nc\n", Replacement{Old: "a\nb", New: "a\r\nx\nb"}, "a\nx\nb\nc\n", "exact"},
		{"half a crlf at the end of new", "a\nb\nc\n", Replacement{Old: "b", New: "x\r"}, "", ""},
		{"half a crlf at the end of both, crlf file", "a\r\nb\r\n", Replacement{Old: "a\r", New: "x\r"}, "x\r\nb\r\n", "exact"},
		{"half a crlf at the end of new, crlf file", "a\r\nb\r\n", Replacement{Old: "a", New: "x\r"}, "", ""},
		{"crlf in old alone", "a\nb\nc\n", Replacement{Old: "a\r\nb", New: "a\nx\nb"}, "a\nx\nb\nc\n", "exact"},
		{"cr in both", "a\nb\nc\n", Replacement{Old: "a\rb\rc", New: "a\rx\rc"}, "a\nx\nc\n", "exact"},
		{"cr in new alone", "a\nb\nc\n", Replacement{Old: "a\nb\nc", New: "a\rx\rc"}, "a\nx\nc\n", "exact"},
		{"one cr in new, which may be meant", "a\nb\nc\n", Replacement{Old: "b", New: "x\ry"}, "", ""},
		{"cr among lf in new", "a\nb\nc\n", Replacement{Old: "b", New: "x\ry\nz"}, "", ""},
		{"cr that the file has", "a\rb\nc\n", Replacement{Old: "a\rb", New: "a\rx"}, "a\rx\nc\n", "exact"},
		{"crlf in new of a file with a lone cr", "a\rb\nc\n", Replacement{Old: "c", New: "x\r\ny"}, "a\rb\nx\ny\n", "exact"},
		{"cr file", "a\rb\rc\r", Replacement{Old: "a\nb", New: "a\nx\nb"}, "a\rx\rb\rc\r", "exact"},
		{"cr file, cr edit", "a\rb\rc\r", Replacement{Old: "a\rb", New: "a\rx\rb"}, "a\rx\rb\rc\r", "exact"},
		{"cr file, crlf in new alone", "a\rb\rc\r", Replacement{Old: "b", New: "x\r\ny"}, "a\rx\ry\rc\r", "exact"},
		{"cr file without indentation in old", "f:\r  a\r  b\r", Replacement{Old: "a\nb", New: "  a\n  x\n  b"}, "f:\r  a\r  x\r  b\r", "indentation"},
		{"crlf in new for a file without line endings", "b", Replacement{Old: "b", New: "x\r\ny"}, "x\r\ny", "exact"},
		{"mixed endings", "a\r\nb\nc\r\nd\n", Replacement{Old: "a\nb\nc\nd", New: "a\nb\nx\nc\nd"}, "a\r\nb\nx\nc\r\nd\n", "exact"},
		{"mixed endings, all", "a\r\nb\nq\na\nb\r\n", Replacement{Old: "a\nb", New: "a\nx\nb", All: true}, "a\r\nx\r\nb\nq\na\nx\nb\r\n", "exact"},
		{"byte order mark", bom + "a\nb\n", Replacement{Old: "a", New: "x"}, bom + "x\nb\n", "exact"},
		{"byte order mark in old", bom + "a\nb\n", Replacement{Old: bom + "a", New: bom + "x"}, bom + "x\nb\n", "exact"},
		{"byte order mark, crlf, indentation", bom + "f\r\n\tg\r\n", Replacement{Old: "  f\n  \tg", New: "  f\n  \tg\n  \th"}, bom + "f\r\n\tg\r\n\th\r\n", "indentation"},

		{"newline at the end of old that the file lacks", "a\nb", Replacement{Old: "b\n", New: "x\n"}, "a\nx", "blank-borders"},
		{"blank lines around", "a\nb\nc\n", Replacement{Old: "\n\nb\n", New: "\nx\n"}, "", ""},
		{"blank lines around both", "a\nb\nc\n", Replacement{Old: "\n\nb\n\n", New: "\n\nx\n\n"}, "a\nx\nc\n", "blank-borders"},
		{"peeled text within a line", "abc\n", Replacement{Old: "\nb\n", New: "\nx\n"}, "", ""},

		{"trailing space in file", "a  \nb\nc\n", Replacement{Old: "a\nb", New: "a\nx"}, "a  \nx\nc\n", "trailing-space"},
		{"trailing space in old", "a\nb\nc\n", Replacement{Old: "a \nb", New: "a\nx"}, "a\nx\nc\n", "trailing-space"},
		{"delete with trailing space", "a\nb \nc\nd\n", Replacement{Old: "b\nc \n"}, "a\nd\n", "trailing-space"},
		{"blank line with space in file", "a\n  \nb\n", Replacement{Old: "a\n\nb", New: "a\n\nx"}, "a\n  \nx\n", "trailing-space"},
		{"newline that new lacks", "a\nb \nc\n", Replacement{Old: "a\nb\n", New: "a\nx"}, "a\nx\nc\n", "trailing-space"},
		{"new ends with a blank line", "a \nb\nc\n", Replacement{Old: "a\nb", New: "a\nx\n"}, "a \nx\n\nc\n", "trailing-space"},
		{"punctuation", "it’s “a”\nb\n", Replacement{Old: "it's \"a\"\nb", New: "it's \"a\"\nx"}, "it’s “a”\nx\n", "punctuation"},
		{"punctuation beside the change", "x = “a” + b\n", Replacement{Old: `x = "a" + b`, New: `x = "a" + c`}, "x = “a” + c\n", "punctuation"},
		{"punctuation in the change", "x = “a” + b\nc\n", Replacement{Old: "x = \"a\" + b\nc", New: "x = \"d\" - b\nc"}, "x = \"d\" - b\nc\n", "punctuation"},
		{"dash in a word that changes", "range—end x\n", Replacement{Old: "range-end x", New: "range->end x"}, "range->end x\n", "punctuation"},
		{"dash at the end of what stays", "it — “a” x\nb\n", Replacement{Old: "it - \"a\" x\nb", New: "it - \"a\" y\nb"}, "it — “a” y\nb\n", "punctuation"},
		{"dash between words", "a — b\n", Replacement{Old: "a - b", New: "a - c"}, "a — c\n", "punctuation"},
		{"dash becomes an operator", "a — b\n", Replacement{Old: "a - b", New: "a -= b"}, "a -= b\n", "punctuation"},
		{"dash before an arrow", "see a—b, c—d\n", Replacement{Old: "see a-b, c-d", New: "see a->b, c-d"}, "see a->b, c—d\n", "punctuation"},
		{"ellipsis becomes a spread", "f(…) b\n", Replacement{Old: "f(...) b", New: "f(...args) b"}, "f(...args) b\n", "punctuation"},
		{"ellipsis alone becomes one with a name", "f … b\n", Replacement{Old: "f ... b", New: "f ...args b"}, "f ...args b\n", "punctuation"},
		{"quote in a word that changes", "a’s b\n", Replacement{Old: "a's b", New: "a'x b"}, "a'x b\n", "punctuation"},
		{"quotes around what changes", "say “a b” now\n", Replacement{Old: `say "a b" now`, New: `say "c b" now`}, "say \"c b\" now\n", "punctuation"},
		{"no-break space next to the change", "a\u00a0b c\n", Replacement{Old: "a b c", New: "x b c"}, "x b c\n", "punctuation"},
		{"no-break space elsewhere", "a\u00a0b c d\n", Replacement{Old: "a b c d", New: "a b c e"}, "a\u00a0b c e\n", "punctuation"},
		{"zero-width space in a word that changes", "foo\u200bbar b\n", Replacement{Old: "foobar b", New: "foobars b"}, "foobars b\n", "punctuation"},
		{"zero-width space elsewhere", "foo\u200bbar b\n", Replacement{Old: "foobar b", New: "foobar c"}, "foo\u200bbar c\n", "punctuation"},
		{"typographic old only", "a - b\nc\n", Replacement{Old: "a — b\nc", New: "a - b\nd"}, "a - b\nd\n", "punctuation"},
		{"typographic old and new, unchanged", "a - b\nc\n", Replacement{Old: "a — b\nc", New: "a — b\nd"}, "a - b\nd\n", "punctuation"},
		{"typographic old and new", "x = \"a\"\nc\n", Replacement{Old: "x = “a”\nc", New: "x = “b”\nc"}, "", ""},
		{"typographic new alone", "x = 1\nc\n", Replacement{Old: "x = 1\nc", New: "x = 1 // a — b\nc"}, "x = 1 // a — b\nc\n", "exact"},
		{"invisible space", "a\u00a0b\nc\n", Replacement{Old: "a b\nc", New: "a b\nd"}, "a\u00a0b\nd\n", "punctuation"},
		{"ellipsis sign", "wait…\nc\n", Replacement{Old: "wait...\nc", New: "wait...\nd"}, "wait…\nd\n", "punctuation"},

		{"indentation missing", "f:\n\tif a {\n\t\tb\n\t}\n", Replacement{Old: "if a {\n\tb\n}", New: "if a {\n\tb\n\tc\n}"}, "f:\n\tif a {\n\t\tb\n\t\tc\n\t}\n", "indentation"},
		{"indentation missing in old alone", "f:\n\tif a {\n\t\tb\n\t}\n", Replacement{Old: "if a {\n\tb\n}", New: "\tif a {\n\t\tb\n\t\tc\n\t}"}, "f:\n\tif a {\n\t\tb\n\t\tc\n\t}\n", "indentation"},
		{"each line of old stripped", "f:\n\tif a {\n\t\tb\n\t}\n", Replacement{Old: "if a {\nb\n}", New: "\tif a {\n\t\tb\n\t\tc\n\t}"}, "f:\n\tif a {\n\t\tb\n\t\tc\n\t}\n", "indentation"},
		{"old too deep, new not", "if a {\n\tb\n}\n", Replacement{Old: "\tif a {\n\t\tb\n\t}", New: "if a {\n\tb\n\tc\n}"}, "if a {\n\tb\n\tc\n}\n", "indentation"},
		{"old with spaces, new with the file's tabs", "f:\n\tif a {\n\t\tb\n\t}\n", Replacement{Old: "    if a {\n        b\n    }", New: "\tif a {\n\t\tb\n\t\tc\n\t}"}, "f:\n\tif a {\n\t\tb\n\t\tc\n\t}\n", "indentation"},
		{"one stripped line, new with indentation", "f:\n    return 1\n", Replacement{Old: "return 1", New: "    return 2"}, "f:\n    return 2\n", "indentation"},
		{"one stripped line, several new ones", "f:\n    return 1\n", Replacement{Old: "return 1", New: "    x = 2\n    return x"}, "f:\n    x = 2\n    return x\n", "indentation"},
		{"one stripped line, all places", "f:\n    g(1)\nh:\n    g(1)\n", Replacement{Old: "g(1)", New: "    g(2)", All: true}, "f:\n    g(2)\nh:\n    g(2)\n", "indentation"},
		{"first line stripped, new with indentation", "f:\n    a()\n    b()\n", Replacement{Old: "a()\n    b()", New: "    a()\n    c()\n    b()"}, "f:\n    a()\n    c()\n    b()\n", "indentation"},
		{"first line stripped in both", "f:\n    a()\n    b()\n", Replacement{Old: "a()\n    b()", New: "a()\n    c()\n    b()"}, "f:\n    a()\n    c()\n    b()\n", "exact"},
		{"one stripped line in both", "f:\n    a()\n", Replacement{Old: "a()", New: "a()\n    b()"}, "f:\n    a()\n    b()\n", "exact"},
		{"one stripped line deleted", "f:\n    a()\n    b()\n", Replacement{Old: "a()\n"}, "f:\n    b()\n", "indentation"},
		{"part of a line at its beginning", "f:\n    return x\n", Replacement{Old: "return", New: "yield"}, "f:\n    yield x\n", "exact"},
		{"operator at the beginning of a line", "a\n    && b\n", Replacement{Old: "&&", New: " ||"}, "a\n     || b\n", "exact"},
		{"line of white space before the match", "a\n    \n    b\n", Replacement{Old: "\n    b", New: "    x\n    b"}, "a\n    x\n    b\n", "indentation"},
		{"Makefile, old without tabs", "all:\n\tcc a.c\n", Replacement{Old: "all:\ncc a.c", New: "all:\n\tcc -O2 a.c"}, "all:\n\tcc -O2 a.c\n", "indentation"},
		{"YAML, old dedented", "jobs:\n  test:\n    steps:\n      - a\n", Replacement{Old: "test:\n  steps:\n    - a", New: "  test:\n    steps:\n      - b\n      - a"}, "jobs:\n  test:\n    steps:\n      - b\n      - a\n", "indentation"},
		{"Python, wrapped in both", "class C:\n    def f():\n        a()\n        b()\n", Replacement{Old: "a()\nb()", New: "if x:\n    a()\nb()"}, "class C:\n    def f():\n        if x:\n            a()\n        b()\n", "indentation"},
		{"Python, one line with two readings", "class C:\n    def f(self):\n        a()\n", Replacement{Old: "a()", New: "a()\nb()"}, "", ""},
		{"Python, a head and its body with two readings", "if a:\n    x()\n", Replacement{Old: "x()", New: "if y:\n    x()"}, "", ""},
		{"only the indentation, which may be there already", "f:\n    a()\n", Replacement{Old: "a()", New: "    a()"}, "", ""},
		{"a bracket that is deeper than in the file", "func c() {\n\tx := 1\n}\n", Replacement{Old: "func c() {\n\tx := 1\n\t}", New: "func c() {\n\tx := 2\n\t}"}, "", ""},
		{"newline lost before a blank line", "  a\n\nb\n", Replacement{Old: "a \n", New: "c"}, "", ""},

		{"entities in both", "if a < b && c {\n", Replacement{Old: "if a &lt; b &amp;&amp; c {", New: "if a &lt; b &amp;&amp; d {"}, "if a < b && d {\n", "unescaped+exact"},
		{"entities in old alone", "if a < b && c {\n", Replacement{Old: "if a &lt; b &amp;&amp; c {", New: "if a < b && d {"}, "if a < b && d {\n", "unescaped+exact"},
		{"decimal entities", "p(\"a\")\n", Replacement{Old: "p(&#34;a&#34;)", New: "p(&#34;b&#34;)"}, "p(\"b\")\n", "unescaped+exact"},
		{"hexadecimal entities", "p('a')\n", Replacement{Old: "p(&#x27;a&#x27;)", New: "p(&#x27;b&#x27;)"}, "p('b')\n", "unescaped+exact"},
		{"entities escaped twice", "a < b\n", Replacement{Old: "a &amp;lt; b", New: "a &amp;lt; c"}, "a < c\n", "unescaped+exact"},
		{"old escaped twice, entities meant in new", "p(\"a\")\n", Replacement{Old: "p(&amp;#34;a&amp;#34;)", New: "p(\"a\", \"&lt;\")"}, "", ""},
		{"closing bracket at the margin, first line of old stripped", "import (\n\t\"a\"\n\t\"b\"\n)\n\nfunc f() {\n\tg()\n}\n", Replacement{Old: "\"b\"\n)\n\nfunc f() {", New: ")\n\nfunc f() {"}, "", ""},
		{"another entity in new", "if a < b {\n", Replacement{Old: "if a &lt; b {", New: "if a &gt; b {"}, "if a > b {\n", "unescaped+exact"},
		{"entities and no indentation", "f:\n\tif a < b {\n\t\tc\n", Replacement{Old: "if a &lt; b {\n\tc", New: "if a &lt; b {\n\td"}, "f:\n\tif a < b {\n\t\td\n", "unescaped+indentation"},
		{"entity that stands alone in old, plain and entity in new", "a < b\n", Replacement{Old: "a &lt; b", New: "a < b &lt; c"}, "", ""},
		{"entities in a file that has them too", "a &lt; b\nc < d\n", Replacement{Old: "c &lt; d", New: "c &lt; e"}, "", ""},
		{"entities of the file", "<b>a &lt; b</b>\n", Replacement{Old: "a &lt; b", New: "a &lt; c &amp; d"}, "<b>a &lt; c &amp; d</b>\n", "exact"},
		{"file with escaped entities", "a &amp;lt; b\n", Replacement{Old: "a &amp;lt; b", New: "a &amp;lt; c"}, "a &amp;lt; c\n", "exact"},
		{"entities in new alone", "a < b\nc\n", Replacement{Old: "a < b\nc", New: "a &lt; b\nd"}, "", ""},
		{"entities in new lines alone", "return nil\n", Replacement{Old: "return nil", New: "if a &amp;&amp; b {\n\treturn nil\n}"}, "", ""},
		{"entities on purpose", "Tom & Jerry\n", Replacement{Old: "Tom & Jerry", New: "Tom &amp; Jerry"}, "Tom &amp; Jerry\n", "exact"},
		{"entities with tags", "<p>a</p>\n", Replacement{Old: "<p>a</p>", New: "<p>a &amp; b</p>"}, "<p>a &amp; b</p>\n", "exact"},
		{"entities that are no markup", "a\n", Replacement{Old: "a", New: "a&nbsp;b&mdash;c"}, "a&nbsp;b&mdash;c\n", "exact"},
		{"no entities", "a\n", Replacement{Old: "a", New: "x && y & z; &w"}, "x && y & z; &w\n", "exact"},

		{"indentation too deep", "if a {\n\tb\n}\n", Replacement{Old: "\tif a {\n\t\tb\n\t}", New: "\tif a {\n\t\tif c {\n\t\t\tb\n\t\t}\n\t}"}, "if a {\n\tif c {\n\t\tb\n\t}\n}\n", "indentation"},
		{"spaces for tabs", "f:\n\tif a {\n\t\tb\n\t}\n", Replacement{Old: "    if a {\n        b", New: "    if a {\n        if c {\n            b"}, "f:\n\tif a {\n\t\tif c {\n\t\t\tb\n\t}\n", "indentation"},
		{"tabs for spaces", "f:\n  if a:\n    b\n", Replacement{Old: "\tif a:\n\t\tb", New: "\tif a:\n\t\tb\n\t\tif c:\n\t\t\td"}, "f:\n  if a:\n    b\n    if c:\n      d\n", "indentation"},
		{"two spaces for four", "f:\n    a:\n        b\n", Replacement{Old: "  a:\n    b\n", New: "  a:\n    b:\n      c\n"}, "f:\n    a:\n        b:\n            c\n", "indentation"},
		{"one line, block of another unit", "f {\n\t\tg()\n}\n", Replacement{Old: "    g()", New: "    if x {\n        g()\n    }"}, "", ""},
		{"both indentation and punctuation", "f:\n\tit’s\n\tb\n", Replacement{Old: "it's\nb", New: "it's\nc"}, "f:\n\tit’s\n\tc\n", "indentation+punctuation"},
		{"all without indentation", "\ta\n\tb\nx\n\t\ta\n\t\tb\n", Replacement{Old: "   a\n   b", New: "   a\n   c", All: true}, "\ta\n\tc\nx\n\t\ta\n\t\tc\n", "indentation"},

		{"line numbers", "a\n\tb\nc\n", Replacement{Old: "     1\ta\n     2\t\tb", New: "     1\ta\n     2\t\tx"}, "a\n\tx\nc\n", "line-numbers+exact"},
		{"line numbers in old only", "a\n\tb\nc\n", Replacement{Old: "1→a\n2→\tb", New: "a\n\tx"}, "a\n\tx\nc\n", "line-numbers+exact"},
		{"line numbers, a line without", "a\nb\nc\n", Replacement{Old: "1\ta\n2\tb", New: "1\ta\nx\n2\tb"}, "a\nx\nb\nc\n", "line-numbers+exact"},
		{"line numbers, blank line", "a\n\nc\n", Replacement{Old: "1: a\n2:\n3: c", New: "1: a\n2:\n3: x"}, "a\n\nx\n", "line-numbers+exact"},
		{"numbers that are the text", "1\ta\n2\tb\n", Replacement{Old: "1\ta\n2\tb", New: "1\ta\n2\tx"}, "1\ta\n2\tx\n", "exact"},
		{"numbers that do not count", "a\nb\n", Replacement{Old: "1\ta\n5\tb", New: "1\ta\n5\tx"}, "", ""},

		{"escaped quotes", "p(\"a\")\nq\n", Replacement{Old: `p(\"a\")` + "\nq", New: `p(\"b\")` + "\nq"}, "p(\"b\")\nq\n", "unescaped+exact"},
		{"escaped quotes in old only", "p(\"a\")\nq\n", Replacement{Old: `p(\"a\")` + "\nq", New: `p("b")` + "\nq"}, "", ""},
		{"spelled line breaks", "a\nb\nc\n", Replacement{Old: `a\nb`, New: `a\nx\nb`}, "a\nx\nb\nc\n", "unescaped+exact"},
		{"spelled line breaks and true ones", "p(\"a\\n\")\nb\n", Replacement{Old: `p("a\n")\nb`, New: `p("a\n")\nx()\nb`}, "p(\"a\\n\")\nx()\nb\n", "unescaped+exact"},
		{"spelled line break in a new string", "a()\nb()\n", Replacement{Old: `a()\nb()`, New: `a()\np("x\n")\nb()`}, "", ""},
		{"spelled line breaks in two ways", "x\ny\\nz\nx\\ny\nz\n", Replacement{Old: `x\ny\nz`, New: `w`}, "", ""},
		{"escapes that are the text", `x = "a\nb"` + "\n", Replacement{Old: `"a\nb"`, New: `"a\nc"`}, `x = "a\nc"` + "\n", "exact"},
		{"all escaped", "a(\"x\\n\")\n\tb\n", Replacement{Old: `a(\"x\\n\")\n\tb`, New: `a(\"x\\n\")\n\tc(\"\\t\")`}, "a(\"x\\n\")\n\tc(\"\\t\")\n", "unescaped+exact"},

		{"slip that new sets right", "alpha()\nbeta()\ngamma()\ndelta()\n", Replacement{Old: "alpha()\nbeta()\ngama()\ndelta()", New: "alpha()\nnew()\nbeta()\ngamma()\ndelta()"},
			"alpha()\nnew()\nbeta()\ngamma()\ndelta()\n", "agreed"},
		{"slip that new keeps", "alpha()\nbeta()\ngamma()\ndelta()\n", Replacement{Old: "alpha()\nbeta()\ngama()\ndelta()", New: "alpha()\nnew()\nbeta()\ngama()\ndelta()"}, "", ""},
		{"slip in the line that new rewrites", "alpha()\nbeta()\ngamma()\ndelta()\n", Replacement{Old: "alpha()\nbeta()\ngama()\ndelta()", New: "alpha()\nbeta()\nother()\ndelta()"}, "", ""},
		{"ellipsis", "a()\nb()\nc()\nd()\n", Replacement{Old: "a()\n...\nd()", New: "a()\nx()\n...\nd()"}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := Replace(tc.content, tc.r)
			if tc.strategy == "" {
				if err == nil {
					t.Fatalf("made by %s: %q", res.Strategy, res.Content)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Content != tc.want || res.Strategy != tc.strategy {
				t.Errorf("%s: got %q, want %q by %s", res.Strategy, res.Content, tc.want, tc.strategy)
			}
		})
	}
}

func TestReplaceRefuses(t *testing.T) {
	const file = "package p\n\nfunc a() {\n\tx := 1\n\treturn\n}\n\nfunc b() {\n\tx := 1\n\treturn\n}\n\nfunc c() {\n\t\tx := 1\n}\n"
	for _, tc := range []struct {
		name  string
		r     Replacement
		kind  Kind
		lines []int
		text  string // must be in the message
	}{
		{"empty", Replacement{New: "x"}, Empty, nil, "nothing to look for"},
		{"same", Replacement{Old: "x", New: "x"}, NoOp, nil, "are the same"},
		{"ambiguous", Replacement{Old: "\treturn\n", New: ""}, Ambiguous, []int{5, 10}, "2 times: lines 5, 10"},
		{"ambiguous with overlap", Replacement{Old: "\n}\n", New: "\n\n"}, Ambiguous, []int{5, 10, 14}, "3 times"},
		{"ambiguous without indentation", Replacement{Old: "  x := 1\n  return\n}", New: "y"}, Ambiguous, []int{4, 9}, "ignoring indentation"},
		{"not there", Replacement{Old: "func a() {\n\tx := 2\n\treturn\n}", New: "y"}, NotFound, nil,
			"nearest text: lines 3-6; first difference at line 4 (· is a space, → a tab)\n  file: →x·:=·1\n  old:  →x·:=·2\n"},
		{"nothing alike", Replacement{Old: "SELECT * FROM t", New: "y"}, NotFound, nil, "nothing in the file resembles it"},
		{"applied", Replacement{Old: "func c() {\n\t\tz := 9\n}", New: "func c() {\n\t\tx := 1\n}"}, AlreadyApplied, []int{13}, "at line 13"},
		{"elided", Replacement{Old: "func a() {\n\t// ...\n}", New: "func a() {\n}"}, Elided, nil, "ellipsis"},
		{"elided in words", Replacement{Old: "func a() {\n\t// ... existing code ...\n}", New: "func a() {\n}"}, Elided, nil, "ellipsis"},
		{"over-escaped", Replacement{Old: `package p\n\nfunc a() {`, New: `package p\n\nvar s = "\n"\nfunc a() {`}, OverEscaped, nil, "unescaped"},
		{"entities in new", Replacement{Old: "func a() {", New: "func a() { // &lt;"}, OverEscaped, nil, "which the file has nowhere"},
		{"odd indentation", Replacement{Old: "func c() {\n\t\tx := 1\n\t}", New: "y"}, Indentation, []int{13}, "exact indentation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Replace(file, tc.r)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Kind != tc.kind || !strings.Contains(e.Error(), tc.text) {
				t.Errorf("kind %q, want %q with %q in:\n%v", e.Kind, tc.kind, tc.text, err)
			}
			if d := cmp.Diff(tc.lines, e.Lines); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
		})
	}
}

// TestEntitiesAreNamed refuses a text escaped for HTML whose plain form is not in the file either,
// and says that it is escaped.
func TestEntitiesAreNamed(t *testing.T) {
	_, err := Replace("if a < b {\n", Replacement{Old: "if a &lt; c {", New: "if a &lt; d {"})
	if KindOf(err) != OverEscaped || !strings.Contains(err.Error(), "HTML entities (such as &lt;) where the file has the plain characters") {
		t.Error(err)
	}
}

func TestReplaceWithBase(t *testing.T) {
	const base = "one\ntwo\nthree\nfour\nfive\n"
	for _, tc := range []struct {
		name, today string
		r           Replacement
		want        string
		kind        Kind
	}{
		{"same as today", base, Replacement{Old: "two", New: "TWO"}, "one\nTWO\nthree\nfour\nfive\n", ""},
		{"changed elsewhere", "zero\none\ntwo\nthree\nfour\nFIVE\n", Replacement{Old: "two", New: "TWO"}, "zero\none\nTWO\nthree\nfour\nFIVE\n", ""},
		{"changed within the old text", "one\ntwo\nTHREE\nfour\nfive\n", Replacement{Old: "one\ntwo\nthree\nfour", New: "one\nnew\ntwo\nthree\nfour"}, "one\nnew\ntwo\nTHREE\nfour\nfive\n", ""},
		{"changed beside the new line", "ONE\ntwo\nthree\nfour\nfive\n", Replacement{Old: "one\ntwo", New: "one\nnew\ntwo"}, "ONE\nnew\ntwo\nthree\nfour\nfive\n", ""},
		{"changed in the same line", "one\nzwei\nthree\nfour\nfive\n", Replacement{Old: "two", New: "TWO"}, "", Conflict},
		{"inserted at the same place", "one\nuser\ntwo\nthree\nfour\nfive\n", Replacement{Old: "one\n", New: "one\nnew\n"}, "", Conflict},
		{"deleted beside the new line", "two\nthree\nfour\nfive\n", Replacement{Old: "one\n", New: "one\nnew\n"}, "", Conflict},
		{"same change by the user", "one\nTWO\nthree\nfour\nfive\n", Replacement{Old: "two", New: "TWO"}, "", AlreadyApplied},
		{"old text is newer than base", "one\ntwo\nthree\nfour\nsix\n", Replacement{Old: "six", New: "seven"}, "one\ntwo\nthree\nfour\nseven\n", ""},
		{"old text is nowhere", "one\ntwo\nthree\nfour\nsix\n", Replacement{Old: "eight", New: "seven"}, "", FileChanged},
		{"copy of the old text by the user", "one\ntwo\nthree\ntwo\nfour\nfive\n", Replacement{Old: "two", New: "TWO"}, "one\nTWO\nthree\ntwo\nfour\nfive\n", ""},
		{"crlf today", "one\r\ntwo\r\nthree\r\nfour\r\nFIVE\r\n", Replacement{Old: "two\nthree", New: "two\nnew\nthree"}, "one\r\ntwo\r\nnew\r\nthree\r\nfour\r\nFIVE\r\n", ""},
		{"byte order mark and no newline today", bom + "one\ntwo\nthree\nfour\nFIVE", Replacement{Old: "two", New: "TWO"}, bom + "one\nTWO\nthree\nfour\nFIVE", ""},
		{"at the end", "ONE\ntwo\nthree\nfour\nfive\n", Replacement{Old: "five\n", New: "five\nsix\n"}, "ONE\ntwo\nthree\nfour\nfive\nsix\n", ""},
		{"all", "two\n" + base, Replacement{Old: "t", New: "T", All: true}, "two\none\nTwo\nThree\nfour\nfive\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.r.Base = base
			res, err := Replace(tc.today, tc.r)
			if KindOf(err) != tc.kind || res.Content != tc.want {
				t.Errorf("got %q, want %q; error %v", res.Content, tc.want, err)
			}
		})
	}
}

func TestResultPlace(t *testing.T) {
	res, err := Replace("a\nb\nc\nb\n", Replacement{Old: "b", New: "x\ny", All: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Count != 2 || res.Line != 2 || res.EndLine != 3 {
		t.Errorf("count %d, lines %d-%d", res.Count, res.Line, res.EndLine)
	}
	if res, err = Replace("a\nb\nc\n", Replacement{Old: "b\n"}); err != nil || res.Line != 2 || res.EndLine != 1 {
		t.Errorf("deletion at %d-%d: %v", res.Line, res.EndLine, err)
	}
}

func TestMerge(t *testing.T) {
	const base = "a\nb\nc\nd\n"
	for _, tc := range []struct{ name, base, ours, theirs, want string }{
		{"only theirs", base, base, "a\nB\nc\nd\n", "a\nB\nc\nd\n"},
		{"only ours", base, "a\nB\nc\nd\n", base, "a\nB\nc\nd\n"},
		{"both", base, "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"},
		{"neighbours", base, "a\nB\nc\nd\n", "a\nb\nC\nd\n", "a\nB\nC\nd\n"},
		{"same", base, "a\nB\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nd\n"},
		{"same and more", base, "a\nB\nc\nd\n", "a\nB\nc\nD\n", "a\nB\nc\nD\n"},
		{"deletions", base, "b\nc\nd\n", "a\nb\nc\n", "b\nc\n"},
		{"ours ends in a newline, theirs adds at the end", "a", "a\n", "a\nb", "a\nb\n"},
		{"theirs adds the newline", "a\nb", "A\nb", "a\nb\n", "A\nb\n"},
		{"theirs drops the newline", "a\nb\n", "A\nb\n", "a\nb", "A\nb"},
		{"empty base", "", "", "x\n", "x\n"},
		{"to nothing", base, base, "", ""},
		{"crlf ours", base, "a\r\nb\r\nc\r\nd\r\n", "a\nb\nx\nc\nd\n", "a\r\nb\r\nx\r\nc\r\nd\r\n"},
		{"conflict", base, "a\nB\nc\nd\n", "a\nX\nc\nd\n", "conflict"},
		{"both insert", base, "a\nx\nb\nc\nd\n", "a\ny\nb\nc\nd\n", "conflict"},
		{"both create", "", "x\n", "y\n", "conflict"},
		{"changed and deleted", base, "a\nB\nc\nd\n", "a\nd\n", "conflict"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Merge(tc.base, tc.ours, tc.theirs)
			if err != nil {
				if KindOf(err) != Conflict {
					t.Fatal(err)
				}
				got = "conflict"
			}
			if got != tc.want {
				t.Errorf("got %q, want %q (%v)", got, tc.want, err)
			}
		})
	}
}

func TestCheckSyntax(t *testing.T) {
	const good, bad = "package p\n\nfunc f() {}\n", "package p\n\nfunc f() {\n"
	for _, tc := range []struct{ name, before, after, want string }{
		{"a.go", good, good, ""},
		{"a.go", good, bad, "a.go no longer parses after this edit: line 3"},
		{"a.go", bad, bad, ""},
		{"a.go", bad, good, "a.go parses again after this edit"},
		{"a.go", "", bad, "a.go does not parse"},
		{"a.json", "{}", "{", "a.json no longer parses"},
		{"a.json", "{}", "{}\n{}", "more text after the value"},
		{"a.txt", good, bad, ""},
	} {
		if got := CheckSyntax(tc.name, tc.before, tc.after); tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) && !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	s := StandardSyntax()
	s[".txt"] = func(_, src string) error {
		if strings.Contains(src, "bad") {
			return errors.New("bad")
		}
		return nil
	}
	if got := s.Check("a.txt", "", "bad"); got != "a.txt does not parse: bad" {
		t.Errorf("own check: %q", got)
	}
}
