package luthier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/tools/coding"
)

// grepTool runs the grep and glob tools with a pattern.
func grepTool(t *testing.T, dir, pattern string) {
	w, err := coding.Open(dir, coding.Config{Ripgrep: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	all, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"pattern": pattern})
	for _, tool := range all {
		switch tool.Spec().Name {
		case "grep", "glob":
			tool.Call(context.Background(), agent.ToolCall{ID: "1", Name: tool.Spec().Name, Args: args})
		}
	}
}

// nestingGrammars returns grammars that refer to themselves, and deep ones.
func nestingGrammars() []input {
	in := []input{
		{"itself", `root ::= root`},
		{"left recursion", `root ::= root "a" | "a"`},
		{"hidden left recursion", `root ::= x root "a" | "a"` + "\n" + `x ::= "b"?`},
		{"right recursion", `root ::= "a" root | "a"`},
		{"middle recursion", `root ::= "(" root ")" | "a"`},
		{"two of itself", `root ::= root root | "a"`},
		{"empty", `root ::= (("a"?)*)*`},
		{"loop", "root ::= a\na ::= b\nb ::= a"},
		{"never ends", `root ::= "a" root`},
		{"groups", `root ::= ` + nest(100_000, "(", `"a"`, ")")},
		{"some groups", `root ::= ` + nest(490, "(", `"a"`, ")")},
		{"open groups", `root ::= ` + strings.Repeat("(", 100_000)},
		{"stars", `root ::= ` + nest(490, "(", `"a"`, ")*")},
		{"counts", `root ::= ` + nest(20, "(", `"a"`, "){9}")},
		{"alternatives", `root ::= "a"` + strings.Repeat(` | "a"`, 50_000)},
	}
	for _, p := range nestingPatterns() {
		in = append(in, input{"pattern " + p.name, "root ::= /" + p.text + "/"})
	}
	var chain, double strings.Builder
	chain.WriteString("root ::= r0\n")
	double.WriteString("root ::= r0\n")
	for i := range 20_000 {
		fmt.Fprintf(&chain, "r%d ::= r%d\n", i, i+1)
	}
	for i := range 60 {
		fmt.Fprintf(&double, "r%d ::= r%d r%[2]d\n", i, i+1)
	}
	chain.WriteString(`r20000 ::= "a"`)
	double.WriteString(`r60 ::= "a"?`)
	return append(in, input{"chain", chain.String()}, input{"doubling", double.String()},
		input{"doubling alternatives", alternatives(60)})
}

// nestingTemplates returns templates that call themselves, deep ones, and ones that double a value.
func nestingTemplates() []input {
	in := []input{
		{"macro", `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`},
		{"macros", `{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`},
		{"two of itself", `{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(200) }}`},
		{"caller", `{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{% call m() %}{{ m() }}{% endcall %}{% endcall %}`},
		{"call of itself", `{% macro m() %}{% call m() %}a{% endcall %}{% endmacro %}{{ m() }}`},
		{"default of itself", `{% macro m(a=m()) %}{{ a }}{% endmacro %}{{ m() }}`},
		{"recursive loop", `{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}`},
		{"recursive loop filtered", `{% for a in [1] if a recursive %}{{ loop([a, a]) }}{% endfor %}`},
		{"a list in itself", `{% set l = [] %}{% set _ = l.append(l) %}{{ l }}{{ l|tojson }}{{ l == l }}{{ l|pprint }}{% set _ = l.extend(l) %}`},
		{"two lists in each other", `{% set a = [] %}{% set b = [a] %}{% set _ = a.append(b) %}{{ a == b }}{{ a < b }}{{ a|string }}`},
		{"a dict in itself", `{% set d = {} %}{% set _ = d.update({'d': d}) %}{{ d }}{{ d|tojson }}{{ d == d }}`},
		{"a namespace in itself", `{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ n == n }}{{ n|string }}`},
		{"a deep list", `{% set n = namespace(l=[]) %}{% for i in range(100000) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}{{ n.l == n.l }}{{ n.l|tojson }}`},
		{"a deep tuple as a key", `{% set n = namespace(l=()) %}{% for i in range(100000) %}{% set n.l = (n.l,) %}{% endfor %}{{ {n.l: 1} }}`},
		{"a deep generator", `{% set n = namespace(l=[1]) %}{% for i in range(100000) %}{% set n.l = n.l|map('upper') %}{% endfor %}{{ n.l|list }}`},
		{"a deep selection", `{% set n = namespace(l=[1]) %}{% for i in range(100000) %}{% set n.l = n.l|select %}{% endfor %}{% for a in n.l %}{{ a }}{% endfor %}`},
		{"a deep reject", `{% set n = namespace(l=[1]) %}{% for i in range(20000) %}{% set n.l = n.l|reject('none')|unique|batch(2)|map('first') %}{% endfor %}{{ n.l|list }}`},
		{"doubling text", `{% set n = namespace(s='aaaa') %}{% for i in range(100) %}{% set n.s = n.s ~ n.s %}{% endfor %}`},
		{"doubling list", `{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = n.s + n.s %}{% endfor %}`},
		{"doubling by sharing", `{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}`},
		{"compare by sharing", `{% set n = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ n.s == n.t }}{{ n.s < n.t }}`},
		{"sort by sharing", `{% set n = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}{{ [n.s, n.t]|sort|length }}`},
		{"key by sharing", `{% set n = namespace(s=(1,)) %}{% for i in range(60) %}{% set n.s = (n.s, n.s) %}{% endfor %}{{ {n.s: 1}|length }}`},
		{"include", `{% include x %}{% include "a" %}{% extends "a" %}{% import "a" as a %}`},
		{"block in itself", `{% block a %}{{ self.a() }}{% endblock %}`},
		{"format", `{{ "{0.a[{0.a[{0}]}]}".format(x) }}{{ ("{" * 100000).format(x) }}{{ ("{0:" * 50000 ~ "}" * 50000).format(x) }}`},
		{"numbers", `{{ 9 ** 9 ** 9 ** 9 }}{{ "a" * 10 ** 12 }}{{ [1] * 10 ** 12 }}{{ range(10 ** 15)|list }}`},
	}
	for name, parts := range map[string][3]string{
		"parentheses": {"(", "1", ")"}, "lists": {"[", "1", "]"}, "dicts": {"{'a':", "1", "}"}, "not": {"not ", "1", ""}, "minus": {"-", "1", ""},
		"calls": {"x(", "1", ")"}, "subscripts": {"x[", "1", "]"}, "conditions": {"1 if ", "1", " else 1"}, "else": {"1 if 1 else ", "1", ""}, "filters": {"", "x", "|upper"}, "attributes": {"", "x", ".x"},
		"indexes": {"", "x", "[0]"}, "applied": {"", "x", "()"}, "sums": {"", "1", "+1"}, "joins": {"", "1", "~1"}, "powers": {"2**", "1", ""}, "comparisons": {"", "1", "<1"}, "ands": {"", "1", " and 1"}, "tests": {"", "1", " is defined"},
		"tuples": {"(", "1", ",)"}, "filter arguments": {"x|default(", "1", ")"}, "test arguments": {"x is eq(", "1", ")"},
	} {
		for _, n := range []int{90, 100_000} {
			in = append(in, input{fmt.Sprint(n, " ", name), "{{ " + nest(n, parts[0], parts[1], parts[2]) + " }}"})
		}
		in = append(in, input{"open " + name, "{{ " + strings.Repeat(parts[0], 100_000)})
	}
	for name, parts := range map[string][2]string{
		"ifs": {"{% if 1 %}", "{% endif %}"}, "fors": {"{% for a in [1] %}", "{% endfor %}"}, "macros": {"{% macro m() %}", "{% endmacro %}"}, "sets": {"{% set a %}", "{% endset %}"},
		"withs": {"{% with %}", "{% endwith %}"}, "filters": {"{% filter upper %}", "{% endfilter %}"}, "calls": {"{% call x() %}", "{% endcall %}"}, "blocks": {"{% block a %}", "{% endblock %}"},
		"elifs": {"{% if 0 %}{% elif 1 %}", "{% endif %}"}, "elses": {"{% if 0 %}{% else %}", "{% endif %}"}, "generations": {"{% generation %}", "{% endgeneration %}"}, "targets": {"{% set (", ") = 1 %}"},
	} {
		for _, n := range []int{90, 50_000} {
			in = append(in, input{fmt.Sprint(n, " statements ", name), nest(n, parts[0], "a", parts[1])})
		}
	}
	return append(in, input{"targets", "{% set " + nest(50_000, "(", "a", ",)") + " = 1 %}"}, input{"loop targets", "{% for " + nest(50_000, "(", "a", ",)") + " in x %}{% endfor %}"},
		input{"many elifs", "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 50_000) + "{% endif %}"})
}

// nestingPatches returns patches that hold patches, and deep commands around one.
func nestingPatches() []input {
	patch := "*** Begin Patch\n*** Update File: a\n@@\n-b\n+x\n*** End Patch"
	in := []input{
		{"patches in a patch", nest(10_000, "*** Begin Patch\n", "*** Update File: a\n@@\n-b\n+x\n", "*** End Patch\n")},
		{"many files", "*** Begin Patch\n" + strings.Repeat("*** Update File: a\n@@\n-b\n+x\n", 1_000) + "*** End Patch"},
		{"many hunks", "*** Begin Patch\n*** Update File: a\n" + strings.Repeat("@@ a\n-b\n+b\n", 5_000) + "*** End Patch"},
		{"many anchors", "*** Begin Patch\n*** Update File: a\n" + strings.Repeat("@@ a\n", 20_000) + "-b\n+b\n*** End Patch"},
		{"fences", nest(50_000, "```\n", patch+"\n", "```\n")},
		{"escaped", "*** Begin Patch\n*** Update File: a\n@@\n-" + strings.Repeat(`\`, 100_000) + "n\n+x\n*** End Patch"},
		{"diff headers", strings.Repeat("--- a/a\n+++ b/a\n", 20_000) + "@@ -1 +1 @@\n-b\n+x\n"},
		{"braces", strings.Repeat("(", 100_000) + "apply_patch <<E\n" + patch + "\nE"},
		{"directories", strings.Repeat("cd a && ", 50_000) + "apply_patch <<E\n" + patch + "\nE"},
		{"shells", strings.Repeat("bash -c '", 50_000) + patch},
		{"shells in quotes", strings.Repeat(`bash -c "bash -c '`, 50_000) + patch},
		{"escaped shells", "bash -lc \"" + strings.Repeat(`sh -c \"`, 50_000) + patch},
		{"here-documents", strings.Repeat("cat <<E\n", 20_000) + patch},
	}
	q := "'"
	for range 14 {
		in = append(in, input{fmt.Sprint("shells in ", len(q)), "bash -c " + q + "\n" + patch})
		q = `sh -c \` + q
	}
	return in
}

// nestingCommands returns deep commands, and such whose analysis could double at each step.
func nestingCommands() []input {
	var in []input
	for name, parts := range map[string][3]string{
		"substitutions": {"echo $(", "ls", ")"}, "quoted substitutions": {`echo "$(`, "ls", `)"`}, "subshells": {"( ", "ls", " )"}, "groups": {"{ ", "ls", "; }"},
		"ifs": {"if ", "ls", "; then ls; fi"}, "thens": {"if ls; then ", "ls", "; else ls; fi"}, "whiles": {"while ", "ls", "; do ls; done"}, "loops": {"for a in b c; do ", "ls", "; done"}, "bodies": {"while ls; do ", "ls", "; done"},
		"cases": {"case a in b) ", "ls", ";; esac"}, "functions": {"f() { ", "ls", "; }"}, "pipes": {"ls | ", "ls", ""}, "ands": {"ls && ", "ls", ""}, "nots": {"! ", "ls", ""}, "times": {"time ", "ls", ""},
		"expansions": {"echo ${a:-", "b", "}"}, "arithmetic": {"echo $((", "1", "))"}, "parentheses in arithmetic": {"((", "1", "))"}, "lists in arithmetic": {"", "1", ""}, "braces": {"echo {a,", "b", "}"},
		"many braces": {"echo ", "a", "{a,b}"}, "input": {"cat <(", "ls", ")"}, "tests": {"[[ ( ", "a", " ) ]]"}, "negations": {"[[ ! ", "a", " ]]"}, "bash": {"bash -c '", "ls", "'"}, "eval": {"eval ", "ls", ""}, "env": {"env ", "ls", ""},
		"xargs": {"xargs ", "ls", ""}, "command": {"command ", "ls", ""}, "nohup": {"nohup nice timeout 1 ", "ls", ""}, "find": {"find . -exec ", "ls", " ;"}, "sudo": {"sudo ", "ls", ""}, "arrays": {"a=(", "b", ")"},
		"assignments": {"a=$(", "b", ")"}, "here-documents": {"cat <<E\n$(", "ls", ")\nE\n"}, "here-strings": {"cat <<<$(", "ls", ")"}, "coprocs": {"coproc { ", "ls", "; }"}, "quotes": {`"$(echo '`, "", `')"`}, "names": {"${!", "a", "}"}, "replacements": {"echo ${a/b/", "c", "}"},
		"functions that call": {"f() { f; f; }; ", "f", ""}, "redirections": {"ls > $(", "ls", ")"}, "subscripts": {"a[$(", "1", ")]=1"}, "locals": {"local a=$(", "b", ")"},
	} {
		for _, n := range []int{12, 30, 300, 20_000} {
			in = append(in, input{fmt.Sprint(n, " ", name), nest(n, parts[0], parts[1], parts[2])})
		}
		in = append(in, input{"open " + name, strings.Repeat(parts[0], 20_000)})
	}
	back, inner := "ls", "ls"
	for range 12 {
		back = "echo `" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(back) + "`"
		inner = fmt.Sprintf("bash -c %q", inner)
	}
	return append(in,
		input{"backquotes", back}, input{"bash in quotes", inner},
		input{"arithmetic in parentheses", "echo $((" + nest(50_000, "(", "1", ")") + "))"}, input{"arithmetic with signs", "echo $((" + strings.Repeat("-", 50_000) + "1))"}, input{"arithmetic with sums", "echo $((1" + strings.Repeat("+1", 50_000) + "))"},
		input{"arithmetic with conditions", "echo $((" + strings.Repeat("1?", 20_000) + "1" + strings.Repeat(":1", 20_000) + "))"},
		input{"backslashes", "echo " + strings.Repeat("\\\n", 100_000)}, input{"many lines", strings.Repeat("ls\n", 20_000)}, input{"many words", "ls" + strings.Repeat(" a", 100_000)},
		input{"directories", strings.Repeat("cd a || cd b; ", 2_000) + "ls"}, input{"branches", strings.Repeat("if a; then cd b; else cd c; fi; ", 500) + "ls"}, input{"variables", strings.Repeat("a=$a$a; ", 60) + "ls $a"},
		input{"variables in branches", strings.Repeat("if x; then a=$a/b; else a=$a/c; fi; ", 60) + "cat $a"}, input{"brace product", "ls " + strings.Repeat("{a,b,c,d}", 30)}, input{"ranges", "ls {1..1000000000}{1..1000000000}"}, input{"globs", "ls " + strings.Repeat("*", 50_000)})
}

// nestingGlobs returns patterns of files.
func nestingGlobs() []input {
	return []input{
		{"stars", strings.Repeat("*a", 100) + "b"}, {"double stars", strings.Repeat("**/", 100) + "b"}, {"double stars and names", strings.Repeat("**/a/", 60) + "c"}, {"many stars", strings.Repeat("*", 100_000)},
		{"braces", nest(1000, "{a,", "b", "}")}, {"many braces", strings.Repeat("{a,b}", 60)}, {"open braces", strings.Repeat("{", 100_000)}, {"classes", strings.Repeat("[a-z]", 20_000)}, {"open classes", strings.Repeat("[", 100_000)},
		{"negations", strings.Repeat("!", 100_000) + "a"}, {"deep", strings.Repeat("a/", 50_000)}, {"backslashes", strings.Repeat(`\`, 99_999)}, {"questions", strings.Repeat("?", 100_000)}, {"stars and questions", strings.Repeat("*?", 100) + "b"},
	}
}

// nestingTexts returns deep files.
func nestingTexts() []input {
	var in []input
	const n = 20_000
	for name, parts := range map[string][3]string{
		"parentheses": {"(", "1", ")"}, "brackets": {"[", "1", "]"}, "braces": {"{", "1", "}"}, "angles": {"a<", "b", ">"}, "objects": {`{"a":`, "1", "}"}, "elements": {"<a>", "b", "</a>"}, "functions": {"func() {\n", "", "\n}"}, "js functions": {"function f() {\n", "", "}\n"},
		"classes": {"class A {\n", "", "}\n"}, "ifs": {"if (a) {", "", "}"}, "calls": {"f(", "1", ")"}, "minus": {"- ", "1", ""}, "nots": {"!", "a", ""}, "stars": {"*", "a", ""}, "sums": {"", "1", "+1"}, "dots": {"", "a", ".b()"}, "quotes": {"> ", "a", ""}, "lists": {"- ", "a", ""}, "emphasis": {"*a ", "", " b*"},
		"links": {"[", "a", "](b)"}, "images": {"![", "a", "](b)"}, "flow": {"{a: ", "b", "}"}, "tags": {"!a ", "b", ""}, "comments": {"/*", "", "*/"}, "templates": {"`${", "1", "}`"}, "generics": {"A<", "B", ">"}, "pointers": {"*[]map[string]", "int", ""}, "headings": {"#", " a", ""}, "preprocessor": {"#if a\n", "b\n", "#endif\n"},
		"tables": {"[a", "", "]\n"}, "lambdas": {"lambda: ", "1", ""}, "elses": {"if a {} else ", "{}", ""}, "blocks": {"{\n", "", "}\n"}, "types": {"type A = struct { B ", "int", " }"},
	} {
		in = append(in, input{name, nest(n, parts[0], parts[1], parts[2]) + "\n"}, input{"open " + name, strings.Repeat(parts[0], n) + "\n"})
		in = append(in, input{"go " + name, "package a\n\nvar x = " + nest(n, parts[0], parts[1], parts[2]) + "\n\nfunc f() {}\n"})
	}
	var indent, aliases strings.Builder
	for i := range 1500 {
		indent.WriteString(strings.Repeat(" ", i) + "if a:\n")
	}
	aliases.WriteString("a0: &a0 [x, x]\n")
	for i := range 60 {
		fmt.Fprintf(&aliases, "a%d: &a%[1]d [*a%d, *a%[2]d]\n", i+1, i)
	}
	return append(in, input{"indentation", indent.String()}, input{"aliases", aliases.String()}, input{"alias of itself", "a: &a [*a]\n"}, input{"includes", strings.Repeat("[include]\n\tpath = config\n", 5000)},
		input{"keys", strings.Repeat("a.", 20_000) + "b = 1\n"}, input{"json", nest(9_000, `{"a":[`, "1", "]}")})
}

// nestingTags returns deep tags, as some models write arguments.
func nestingTags() []input {
	var in []input
	for _, name := range toolformat.Formats() {
		if open := toolformat.Lookup(name).Param.Nested; open != "" {
			tags := nest(30_000, open+"a>", "1", open+"/a>")
			in = append(in, input{"tags of " + name, tags}, input{"open tags of " + name, strings.Repeat(open+"a>", 30_000)}, input{"many tags of " + name, strings.Repeat(open+"a>1"+open+"/a>", 5_000)})
		}
	}
	return in
}

// alternatives returns a grammar of n rules, each of which is the next one in two ways.
func alternatives(n int) string {
	var b strings.Builder
	b.WriteString("root ::= r0\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d ::= r%d | r%[2]d | r%[2]d \"b\"\n", i, i+1)
	}
	fmt.Fprintf(&b, "r%d ::= \"a\"", n)
	return b.String()
}
