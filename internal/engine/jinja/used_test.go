package jinja

import (
	"strings"
	"testing"
)

// usedCases has a template for each filter, test, method and function that chat templates on public
// model pages use, with the text that Python writes.
var usedCases = []struct{ use, src, want string }{
	{"tojson", `{{ {"a": [1, none, "é<"]}|tojson }}`, `{"a": [1, null, "é<"]}`},
	{"tojson", `{{ {"b": 1, "a": 2}|tojson(indent=2) }}`, "{\n  \"b\": 1,\n  \"a\": 2\n}"},
	{"tojson", `{{ ["é"]|tojson(ensure_ascii=true) }}{{ [1, 2]|tojson(separators=(",", ":")) }}`, `["\u00e9"][1,2]`},
	{"from_json", `{{ ('{"city": "Paris", "days": [1, 2.5, true, null]}'|from_json).days }}`, `[1, 2.5, True, None]`},
	{"from_json", `{% for k, v in (args|from_json).items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}`, `<b>1</b><a>x</a>`},
	{"from_json", `{% set a = args|from_json if args is string else args %}{{ a|tojson }}`, `{"b": 1, "a": "x"}`},
	{"from_json", `{{ {"k": 1}|from_json|tojson }}{{ "[]"|from_json|length }}{{ '" "'|from_json|length }}`, `{"k": 1}01`},
	{"fromjson", `{{ (args|fromjson)["a"] }}`, `x`},
	{"length", `{{ messages|length }}{{ "é"|length }}{{ messages|count }}`, `313`},
	{"trim", `[{{ "  a b \n"|trim }}]`, `[a b]`},
	{"string", `{{ 3|string + "x" }}{{ true|string }}{{ none|string }}`, `3xTrueNone`},
	{"items", `{% for k, v in {"a": 1}|items %}{{ k }}{{ v }}{% endfor %}{{ nothing|items|list }}`, `a1[]`},
	{"list", `{{ "ab"|list }}{{ {"a": 1}|list }}`, `['a', 'b']['a']`},
	{"join", `{{ ["a", "b"]|join(", ") }}{{ messages|join("", attribute="role") }}`, `a, bsystemuserassistant`},
	{"default", `{{ missing|default("x") }}{{ ""|default("y", true) }}{{ none|d("z") }}`, `xyNone`},
	{"selectattr", `{{ messages|selectattr("role", "equalto", "user")|map(attribute="content")|list }}`, `['hi']`},
	{"selectattr", `{{ (messages|selectattr("role", "in", ["user", "system"])|list)|length }}`, `2`},
	{"rejectattr", `{{ messages|rejectattr("role", "eq", "system")|list|length }}`, `2`},
	{"select", `{{ [1, 2, 3, 4]|select("even")|list }}{{ ["", "a"]|select|list }}`, `[2, 4]['a']`},
	{"reject", `{{ ["a", none]|reject("none")|list }}`, `['a']`},
	{"map", `{{ ["a", "b"]|map("upper")|join }}{{ messages|map(attribute="role")|first }}`, `ABsystem`},
	{"first", `{{ messages|first }}`, `{'role': 'system', 'content': 'be brief'}`},
	{"last", `{{ (messages|last).role }}`, `assistant`},
	{"upper", `{{ "aß"|upper }}{{ "AB"|lower }}{{ "ab cd"|title }}{{ "ab"|capitalize }}`, `ASSabAb CdAb`},
	{"replace", `{{ "a-b-c"|replace("-", "") }}{{ "aaa"|replace("a", "b", 2) }}`, `abcbba`},
	{"indent", `{{ "a\nb"|indent(2) }}|{{ "a\nb"|indent(2, first=true) }}`, "a\n  b|  a\n  b"},
	{"dictsort", `{{ {"b": 1, "a": 2}|dictsort }}`, `[('a', 2), ('b', 1)]`},
	{"sort", `{{ [3, 1, 2]|sort }}{{ ["b", "A"]|sort(reverse=true) }}{{ messages|sort(attribute="role")|map(attribute="role")|list }}`, `[1, 2, 3]['b', 'A']['assistant', 'system', 'user']`},
	{"unique", `{{ ["a", "A", "b"]|unique|list }}`, `['a', 'b']`},
	{"reverse", `{{ [1, 2]|reverse|list }}{{ "ab"|reverse }}`, `[2, 1]ba`},
	{"min", `{{ [3, 1]|min }}{{ [3, 1]|max }}{{ [1, 2]|sum }}{{ -3|abs }}`, `1333`},
	{"int", `{{ "12"|int + 1 }}{{ "x"|int(7) }}{{ "1.5"|float }}{{ 2.567|round(1) }}`, `1371.52.6`},
	{"safe", `{{ "<a>"|safe }}{{ "<a>"|e }}`, `<a>&lt;a&gt;`},
	{"batch", `{{ [1, 2, 3]|batch(2)|list }}{{ [1, 2, 3]|slice(2)|list }}`, `[[1, 2], [3]][[1, 2], [3]]`},
	{"groupby", `{% for k, g in messages|groupby("role") %}{{ k }}{{ g|length }}{% endfor %}`, `assistant1system1user1`},
	{"format", `{{ "%s-%02d"|format("a", 3) }}`, `a-03`},
	{"wordcount", `{{ "a b c"|wordcount }}{{ "abcdef"|truncate(5, true, "…", 0) }}`, `3abcd…`},
	{"attr", `{{ messages[1]|attr("nothing") is undefined }}`, `True`},
	{"defined", `{{ missing is defined }}{{ messages is defined }}{{ missing is not defined }}{{ (missing is undefined) if true else 1 }}`, `FalseTrueTrueTrue`},
	{"none", `{{ none is none }}{{ 0 is none }}{{ true is boolean }}{{ 1 is boolean }}`, `TrueFalseTrueFalse`},
	{"string", `{{ "a" is string }}{{ [] is string }}{{ {} is mapping }}{{ [] is mapping }}`, `TrueFalseTrueFalse`},
	{"iterable", `{{ "a" is iterable }}{{ 1 is iterable }}{{ [] is sequence }}{{ {} is sequence }}`, `TrueFalseTrueTrue`},
	{"number", `{{ 1 is number }}{{ 1.5 is float }}{{ 2 is integer }}{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby(3) }}`, `TrueTrueTrueTrueTrueTrue`},
	{"true", `{{ true is true }}{{ false is false }}{{ 1 is true }}`, `TrueTrueFalse`},
	{"in", `{{ 1 is in [1] }}{{ "a" in "abc" }}{{ "k" in {"k": 1} }}{{ 2 not in [1] }}`, `TrueTrueTrueTrue`},
	{"equalto", `{{ 1 is equalto 1 }}{{ 1 is eq(2) }}{{ 2 is gt 1 }}{{ 1 is lt(1) }}{{ 1 is ne 2 }}{{ none is sameas none }}`, `TrueFalseTrueFalseTrueTrue`},
	{"callable", `{{ range is callable }}{{ "upper" is filter }}{{ "odd" is test }}`, `TrueTrueTrue`},
	{"split", `{{ "<think>a</think>b".split("</think>")[-1] }}{{ "a b  c".split() }}{{ "a,b,c".rsplit(",", 1) }}`, `b['a', 'b', 'c']['a,b', 'c']`},
	{"strip", `[{{ "\n a ".strip() }}][{{ "\nab\n".lstrip("\n").rstrip("\n") }}]`, `[a][ab]`},
	{"startswith", `{{ "abc".startswith("ab") }}{{ "abc".endswith(("x", "c")) }}`, `TrueTrue`},
	{"replace", `{{ "a.b".replace(".", "_") }}{{ "ab".upper() }}{{ "AB".lower() }}{{ "a b".title() }}{{ "ab".capitalize() }}`, `a_bABabA BAb`},
	{"find", `{{ "abc".find("c") }}{{ "abc".find("x") }}{{ "aba".count("a") }}{{ "aba".rfind("a") }}{{ "abc".index("b") }}`, `2-1221`},
	{"join", `{{ ", ".join(["a", "b"]) }}{{ "a\nb".splitlines() }}{{ "a:b".partition(":") }}`, `a, b['a', 'b']('a', ':', 'b')`},
	{"removeprefix", `{{ "functions.f".removeprefix("functions.") }}{{ "a.py".removesuffix(".py") }}{{ "7".zfill(3) }}{{ "7".isdigit() }}`, `fa007True`},
	{"format", `{{ "{} {name}".format(1, name="x") }}{{ "%s" % "y" }}`, `1 xy`},
	{"get", `{{ messages[0].get("role") }}{{ messages[0].get("x", "d") }}{{ messages[0].get("x") }}`, `systemdNone`},
	{"items", `{% for k, v in {"a": 1, "b": 2}.items() %}{{ k }}={{ v }};{% endfor %}{{ {"a": 1}.keys()|list }}{{ {"a": 1}.values()|list }}`, `a=1;b=2;['a'][1]`},
	{"pop", `{% set first = messages.pop(0) %}{{ first.content }}{% for m in messages %}[{{ m.role }}]{% endfor %}`, `be brief[user][assistant]`},
	{"pop", `{% set system = messages.pop(0)["content"] if messages[0]["role"] == "system" else "" %}{{ system }}{{ messages|length }}`, `be brief2`},
	{"pop", `{% set rest = messages[1:] %}{% set _ = rest.pop(0) %}{{ rest|length }}{{ messages|length }}`, `13`},
	{"pop", `{% set parts = "a|b|c".split("|") %}{{ parts.pop(0) }}{{ parts.pop() }}{{ parts.pop(-1) }}{{ parts }}`, `acb[]`},
	{"pop", `{% set l = messages|list %}{{ l.pop(1).content }}{{ l|length }}{{ messages|length }}`, `hi23`},
	{"pop", `{% set d = {"type": "object", "x": 1} %}{{ d.pop("type") }}{{ d.pop("y", "none") }}{{ d }}`, `objectnone{'x': 1}`},
	{"append", `{% set l = [] %}{% for m in messages %}{% set _ = l.append(m.role) %}{% endfor %}{{ l }}{{ l.index("user") }}{{ l.count("user") }}`, `['system', 'user', 'assistant']11`},
	{"extend", `{% set l = [1] %}{% set _ = l.extend([2, 3]) %}{% set _ = l.insert(0, 0) %}{% set _ = l.remove(2) %}{% set _ = l.reverse() %}{{ l }}{{ l.copy() }}`, `[3, 1, 0][3, 1, 0]`},
	{"update", `{% set d = {} %}{% set _ = d.update({"a": 1}) %}{% set _ = d.setdefault("b", 2) %}{{ d }}{{ d.copy()|length }}`, `{'a': 1, 'b': 2}2`},
	{"namespace", `{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}`, `3`},
	{"range", `{{ range(3)|list }}{{ range(5, 1, -2)|list }}`, `[0, 1, 2][5, 3]`},
	{"dict", `{{ dict(a=1) }}{{ dict([("b", 2)]) }}{% set j = joiner(";") %}{{ j() }}{{ j() }}{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}`, `{'a': 1}{'b': 2};12`},
	{"strftime_now", `{{ strftime_now("%d %b %Y") }}`, testClock.Format("02 Jan 2006")},
	{"loop", `{% for m in messages %}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.previtem.role if loop.previtem is defined }} {% endfor %}`, `0TrueFalse 1FalseFalsesystem 2FalseTrueuser `},
	{"loop", `{% for m in messages if m.role != "system" %}{{ loop.length }}{{ loop.revindex }}{{ loop.cycle("a", "b") }}{{ loop.nextitem.role if not loop.last }}{% endfor %}`, `22aassistant21b`},
	{"break", `{% for m in messages %}{% if loop.index == 2 %}{% continue %}{% endif %}{{ m.role }}{% if loop.last %}{% break %}{% endif %}{% endfor %}`, `systemassistant`},
	{"macro", `{% macro show(x, y="d") %}{{ x }}{{ y }}{{ varargs }}{{ caller() if caller }}{% endmacro %}{{ show(1) }}{{ show(1, y=2) }}{% call show(3) %}c{% endcall %}`, `1d()12()3d()c`},
	{"generation", `{% generation %}a{% endgeneration %}{% filter upper %}b{% endfilter %}{% with x = 1 %}{{ x }}{% endwith %}{% raw %}{{ }}{% endraw %}`, `aB1{{ }}`},
	{"slice", `{{ messages[::-1][0].role }}{{ messages[-1].role }}{{ "abc"[1:] }}{{ (1, 2) + (3,) }}{{ [1] + [2] }}{{ "a" ~ 1 }}{{ 7 // 2 }}{{ 7 % 3 }}`, `assistantassistantbc(1, 2, 3)[1, 2]a131`},
}

// TestUsed checks the filters, tests, methods and functions that chat templates use.
//
// Evidence: engine · Chat templates have from_json, pop(0) and all else that public ones use
func TestUsed(t *testing.T) {
	for _, c := range usedCases {
		vars, err := FromJSON([]byte(`{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}],
			"args":"{\"b\": 1, \"a\": \"x\"}","nothing":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.use, err)
			continue
		}
		got, err := tmpl.Render(vars.(*Dict), Options{Now: testClock, AllowMutation: true})
		if err != nil || got != c.want {
			t.Errorf("%s: %s\n got %q, %v\nwant %q", c.use, c.src, got, err, c.want)
		}
	}
}

// TestFromJSONErrors checks that text that is no JSON, and hostile text, end in an error.
func TestFromJSONErrors(t *testing.T) {
	for src, want := range map[string]string{
		`{{ "{'a': 1}"|from_json }}`:                   "ValueError: from_json() cannot read",
		`{{ ""|fromjson }}`:                            "ValueError: fromjson() cannot read ''",
		`{{ missing|from_json }}`:                      "'missing' is undefined",
		`{{ ("[" * 5000 ~ "]" * 5000)|from_json }}`:    "cannot read",
		`{{ ("[" ~ "1," * 500000 ~ "1]")|from_json }}`: "LimitError",
	} {
		tmpl, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tmpl.Render(nil, Options{Fuel: 100_000, MaxOutput: 1 << 21}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}
