"""Writes renders.jsonl and jinja-units.jsonl of the samples: what Python's Jinja2 makes of templates.

    python3 internal/devdata/gen/renders.py      # needs the jinja2 module (3.1.6 was used)

Every template of testdata/moe-dev/templates is rendered with every fixture beside it. UNITS are small templates, of which
the last ones expect something that Python does not give: tests must leave those out.
"""
import json, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "internal/engine/jinja/testdata"))
import oracle  # the environment: Jinja2 as Hugging Face sets it up, with the clock at 2026-01-15 12:00

HERE = ROOT / "internal/devdata/testdata/moe-dev/templates"

UNITS = [
    ("a product is made before it is joined", "{{ 2 * 3 ~ 'x' }}", {}),
    ("loop with a filter and else", "{% for x in xs if x > 2 %}{{ x }};{% else %}none{% endfor %}", {"xs": [1, 3, 5]}),
    ("else of a loop over nothing", "{% for x in [] %}{{ x }}{% else %}none{% endfor %}", {}),
    ("set does not leave a loop", "{% set n = 0 %}{% for x in xs %}{% set n = n + x %}{% endfor %}{{ n }}", {"xs": [1, 2]}),
    ("namespace does", "{% set ns = namespace(n=0) %}{% for x in xs %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", {"xs": [1, 2]}),
    ("white space control", "a\n  {%- if true %}\n  b\n  {%- endif %}\nc\n", {}),
    ("first line break behind a block", "{% if true %}\nx\n{% endif %}\ny", {}),
    ("macro with a default", "{% macro cup(n, tea='green') %}{{ n }} {{ tea }}{% endmacro %}{{ cup(2) }}, {{ cup(1, tea='mint') }}", {}),
    ("tojson of all kinds", "{{ v | tojson }}", {"v": {"a": [1, 2.5, None, True, "é\"\n"], "b": {}}}),
    ("tojson with an indent", "{{ v | tojson(indent=2) }}", {"v": {"a": [1], "b": "x"}}),
    ("slices", "{{ xs[1:] }}{{ xs[:-1] }}{{ xs[::-1] }}", {"xs": [1, 2, 3]}),
    ("tests", "{{ x is defined }} {{ y is defined }} {{ x is string }} {{ x is mapping }} {{ none is none }}", {"x": "a"}),
    ("undefined is empty", "[{{ nothing }}]", {}),
    ("methods of texts", "{{ s.strip().upper() }} {{ s.split(',') }} {{ s.startswith(' a') }}", {"s": " a,b "}),
    ("dictsort and items", "{% for k, v in d | dictsort %}{{ k }}={{ v }} {% endfor %}{% for k, v in d.items() %}{{ k }}{% endfor %}", {"d": {"b": 1, "a": 2}}),
    ("selectattr and map", "{{ ms | selectattr('role', 'equalto', 'user') | map(attribute='text') | join('|') }}",
     {"ms": [{"role": "user", "text": "a"}, {"role": "tool", "text": "b"}, {"role": "user", "text": "c"}]}),
    ("integer and true division", "{{ 7 // 2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ 2 ** 10 }}", {}),
    ("raw text", "{% raw %}{{ x }}{% endraw %}", {"x": 1}),
    ("the date", "{{ strftime_now('%Y-%m-%d') }}", {}),
]

# What another engine gives, where Python gives something else.
OTHERS = [
    ("a list with JSON's quotes", "{{ ['a'] }}", {}, '["a"]'),
    ("none as JSON", "{{ none }}", {}, "null"),
]


def lines(name, rows):
    (HERE / name).write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8", newline="\n")


def renders():
    fixtures = json.loads((HERE / "fixtures.json").read_text(encoding="utf-8"))
    for path in sorted(HERE.glob("*.jinja")):
        template = oracle.ENV.from_string(path.read_text(encoding="utf-8"))
        for f in fixtures:
            row = {"template": path.stem, "fixture": f["name"]}
            try:
                row["text"] = template.render(**f["vars"])
            except Exception as e:
                row["error"] = type(e).__name__ + ": " + str(e)
            yield row | {"core": True}


def units():
    for name, template, variables in UNITS:
        expect = oracle.ENV.from_string(template).render(**variables)
        yield {"src": "made up", "name": name, "template": template, "vars": variables, "expect": expect, "python_agrees": True}
    for name, template, variables, expect in OTHERS:
        assert oracle.ENV.from_string(template).render(**variables) != expect, name
        yield {"src": "made up", "name": name, "template": template, "vars": variables, "expect": expect, "python_agrees": False}


lines("renders.jsonl", renders())
lines("jinja-units.jsonl", units())
