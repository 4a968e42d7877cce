"""Writes conformance.jsonl: templates with what Python's Jinja2 makes of them, set up as Hugging Face's transformers does.

    python3 oracle.py [share] > conformance.jsonl      # needs the jinja2 module (3.1.6 was used); share is 0.0 to 1.0

Each line holds a template, its variables where it has any, and the text it renders to or the error it ends in. The cases are
products: every operator on every pair of values, every filter, test and method on every value, slices, number formats,
white space control, and hand-written ones for scopes, loops, macros and blocks. Of the products a seeded sample is kept.
The committed tests read the file and need no Python.
"""
import datetime, itertools, json, random, sys
import jinja2, jinja2.ext, jinja2.sandbox, jinja2.nodes

NOW = datetime.datetime(2026, 1, 15, 12, 0, 0)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(lineno)

    def _run(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


ENV = environment()

VALUES = [
    "none", "true", "false", "0", "1", "-3", "7", "9007199254740993", "123456789012345678901234567890", "0.5", "-2.5", "1e16", "1e-5", "100.0",
    "''", "'a'", "'Hello World'", "' x\\ty\\n'", "'ünï→日本'", "'it\\'s \"q\"'", "'12'", "'-3.7'", "'a,b,,c'", "'<b>&'", "('<i>'|safe)",
    "[]", "[1, 2, 3]", "['b', 'A', 'c']", "[3, 1.5, true]", "[[1, 'x'], [2, 'y']]", "[{'n': 2, 'k': 'B'}, {'n': 1, 'k': 'a'}, {'k': 'b'}]", "(1,)", "()", "('a', none)",
    "{}", "{'a': 1, 'B': [2]}", "{'z': 1, 'y': {'x': none}}", "{1: 'i', 2.5: 'f', none: 'n', true: 't'}", "range(4)", "range(5, 0, -2)", "missing", "{'a': 1}.missing", "{'b': 2, 'a': 1}.items()", "[1, 2]|map('string')",
    "namespace(a=1)",
]
VARS = {"s": "héllo wörld", "n": 42, "d": {"k": "v", "items": 3, "l": [1, 2]}, "l": [5, 3, 9], "msgs": [
    {"role": "system", "content": "S"}, {"role": "user", "content": "U1"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"x": 1, "y": [True, None, 1.5]}}}]},
    {"role": "tool", "content": "T"}, {"role": "user", "content": "U2 ünï"}]}

BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]

FILTERS = """abs|attr('a')|batch(2)|list;batch(2, 'f')|list;capitalize;center(9);center;count;d('x');d('x', true);default;default(boolean=true);dictsort;dictsort(true);dictsort(by='value');dictsort(reverse=true)
dictsort(false, 'value', true);e;escape;filesizeformat;filesizeformat(true);first;float;float(1.5);forceescape;format(1);format(1, 'x');format;indent;indent(2, true);indent('> ', true, true);indent(width=2);int;int(5);int(base=16);int(0, 8)
items|list;join;join(', ');join('|', 'k');join('-', attribute='n');last;length;list;lower;map('upper')|list;map(attribute='k')|list;map(attribute='n', default=0)|list;map('default', 'z')|list;map('int')|list;max;min;max(attribute='n');min(case_sensitive=true);min(attribute='k');pprint
reject|list;reject('none')|list;rejectattr('n')|list;rejectattr('k', 'eq', 'a')|list;replace('a', 'X');replace('', '-');replace('l', 'L', 1);replace('b', '');reverse|list;reverse;round;round(1);round(-1);round(2, 'floor');round(0, 'ceil');safe;select|list;select('odd')|list;select('string')|list;select('gt', 1)|list
selectattr('n')|list;selectattr('k', 'in', ['a', 'B'])|list;selectattr('n', 'defined')|list;slice(2)|list;slice(3, '-')|list;sort;sort(true);sort(case_sensitive=true);sort(attribute='k');sort(attribute='k,n');sort(reverse=true, attribute='n');string;striptags;sum;sum('n');sum(start=10);sum(attribute='n', start=0.5);title
tojson;tojson(indent=2);tojson(ensure_ascii=true);tojson(indent=1, sort_keys=true);tojson(separators=(',', ':'));tojson(indent=0);tojson(indent='\\t');trim;trim('aH ');truncate(5);truncate(5, true);truncate(8, false, '..', 0);truncate(length=7, end='');unique|list;unique(true)|list;unique(attribute='k')|list;upper;urlencode;wordcount;wordwrap(5);wordwrap(4, false);groupby('k');groupby('n', default=0);groupby('k', case_sensitive=true)
xmlattr;string|length;list|length;nosuch;groupby('k')|map('list')|list;map('length')|list;map(attribute='0')|list;map(attribute=1)|list;select('in', [1, 2])|first;first|upper;last|default('none');tojson|length;map('tojson')|join(',');list|tojson;map('items')|list|length;sum(attribute='0')""".replace("\n", ";").split(";")

TESTS = "defined undefined none true false boolean integer float number string mapping iterable sequence callable escaped lower upper odd even divisibleby(3) divisibleby(0) sameas(none) sameas(true) in([1,'a']) in('abc') eq(1) equalto('a') ne(1) lt(2) le(2) gt(1) ge('a') filter test".split()

STR_METHODS = """upper() lower() title() capitalize() swapcase() casefold() strip() lstrip() rstrip() strip('aHd ') lstrip('H') rstrip('dlr') split() split(',') split('l',1) split(none,1) split(maxsplit=1) split('') rsplit(',',1) rsplit() rsplit(none,1) rsplit('l') splitlines() splitlines(true)
startswith('H') startswith(('a','H')) startswith('e',1) startswith('l',2,3) endswith('d') endswith(('x','d')) endswith('') find('l') find('l',4) find('zz') rfind('l') index('l') rindex('o') index('zz') count('l') count('') count('a',1) replace('l','L') replace('l','L',2) replace('','.') join(['x','y']) join('xyz') join([1]) zfill(6)
center(9) center(10,'*') center(5,'*') ljust(7,'.') rjust(7,'.') partition('l') rpartition('l') partition('zz') rpartition('zz') removeprefix('He') removesuffix('ld') expandtabs() expandtabs(4) isalpha() isdigit() isalnum() isspace() isupper() islower() istitle() isnumeric() isdecimal() isidentifier() isascii() isprintable()
format(1) format() nosuch() __class__ length append(1)""".split()

SEQ_METHODS = "count(1) index(2) index(9) index(2,2) copy() keys()|list values()|list items()|list get('a') get('zz') get('zz',5) get(1) append(1) pop() update({}) items().x keys() values() items() get([]) a B missing".split()

SPECS = """{} {:d} {:5d} {:<5d}| {:^7d}| {:+d} {:,} {:_} {:x} {:#x} {:#b} {:o} {:08.3f} {:.2f} {:10.2f}| {:e} {:g} {:G} {:.3g} {:%} {:.1%} {:,.2f} {:s} {:>8} {:*^9} {:.2} {!r} {!s:>6} {:c} {:n} {0} {0:>{1}} {a} {a[k]} {a.k} {{}} {0[0]} {:=+6d} {:06} {:+} {:-} {:X} {: d}""".split(" ")
PRINTF = """%s %d %5d| %-5d| %05d %+d %x %X %#x %o %e %.2f %8.3f| %g %G %r %c %% %5s| %-5s| %.2s %i %u %a""".split()
FORMAT_VALUES = ["5", "-42", "1234567", "3.14159", "-0.00001234", "1e20", "'abc'", "true", "none", "[1]", "12345678901234567890123", "0", "0.0", "99.5"]

SLICES = ["[0]", "[-1]", "[99]", "[1:]", "[:2]", "[:-1]", "[::2]", "[::-1]", "[-2:]", "[1:-1]", "[5:1:-1]", "[:]", "['a']", "['x']", "[none]", "[1.0]", "[true]", "[::0]", "['a':]", "[-100:100]", "[2:1]", "[100::-3]", ".a", ".0", ".x.y", "[]", "[1,2]", "[none:none:none]"]

HAND = r"""
{% for i in [1,2,3] %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}
{% for i in [1,2,3,4] if i is even %}{{ loop.index0 }}:{{ i }}{% else %}none{% endfor %}
{% for i in [1,3] if i is even %}{{ i }}{% else %}none{% endfor %}
{% for a, b in [(1,2),(3,4)] %}{{ a+b }} {% endfor %}
{% for a, (b, c) in [(1,(2,3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [1] %}{{ a }}{% endfor %}
{% for a, b in [(1,2,3)] %}{{ a }}{% endfor %}
{% for a, b in ['xy'] %}{{ a }}-{{ b }}{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }};{% endfor %}
{% for c in s %}{{ c }}.{% endfor %}
{% for i in 5 %}{% endfor %}
{% for i in none %}{% endfor %}
{% for i in missing %}x{% else %}empty{% endfor %}
{% for i in range(10) %}{% if i == 3 %}{% continue %}{% endif %}{% if i > 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(3) %}{% for j in range(3) %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}
{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}
{% for i in [1,2] %}{{ y }}{% set y = i %}{{ y }}{% endfor %}[{{ y }}]
{% set ns = namespace(n=0) %}{% for i in l %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}{{ ns['n'] }}{{ ns.missing }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a + ns.b }}{{ ns }}
{% set d.x = 1 %}
{% if true %}{% set z = 1 %}{% endif %}{{ z }}
{% if false %}{% set z = 1 %}{% endif %}[{{ z }}]{{ z is defined }}
{% if n is defined %}{% set n = n + 1 %}{% endif %}{{ n }}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 3) }}|{{ m(a=4, c=5) }}|{{ m() }}
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}
{% macro m() %}{{ x }}{% endmacro %}{% set x = 3 %}{{ m() }}
{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}
{% for i in [1,2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}
{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}
{% macro w() %}<{{ caller() }}>{% endmacro %}{% call w() %}in {{ n }}{% endcall %}
{% macro w(l) %}{% for i in l %}{{ caller(i, i*2) }}{% endfor %}{% endmacro %}{% call(a, b=0) w([1,2]) %}{{ a }}-{{ b }};{% endcall %}
{% macro w() %}x{% endmacro %}{% call w() %}y{% endcall %}
{% macro w() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ w() }}{% call w() %}y{% endcall %}
{% set f = 5 %}{{ f() }}
{{ missing() }}
{{ missing.x }}
{{ d.k.x.y }}
{{ d.missing.x }}
{{ none.x }}[{{ none['x'] }}]
{{ none.x.y }}
{% macro m() %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}
{% set a = 1, 2 %}{{ a }}
{% set x %}cap {{ n }}{% endset %}[{{ x }}]{{ x|length }}
{% set x | upper | replace('A','B') %}cap{% endset %}{{ x }}
{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}[{{ y }}]
{% filter upper %}abc{{ n }}{% endfilter %}
{% filter replace('a','b')|upper %}aaa{% endfilter %}
{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}[{{ a }}]
{% with %}{% set q = 1 %}{{ q }}{% endwith %}[{{ q }}]
{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% block x %}in {{ n }}{% endblock %}
{% for i in [1] %}{% block x %}[{{ i }}]{% endblock %}{% endfor %}
{% for i in [1] %}{% block x scoped %}[{{ i }}]{% endblock %}{% endfor %}
{% generation %}g{{ n }}{% set gg = 1 %}{% endgeneration %}[{{ gg }}]
{% raw %}{{ x }}{% if %}{% endraw %}!
{%- raw -%}  {{ x }}  {%- endraw -%}  !
a {% raw %} b {% endraw %} c
{# comment #}x{#- strip -#} y
a {#- c #} b
  {# c #}
b
{{ 'a' 'b' "c" }}
{{ "\x41\u00e9\U0001F600\n\t\\\q\101" }}
{{ 'a\
b' }}
{{ 1_000 }}{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1.5e3 }}{{ 1e3 }}{{ 1_0.5 }}
{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1 != 2 }}{{ 'a' in 'abc' in ['abc'] }}
{{ -2 ** 2 }}{{ 2 ** 3 ** 2 }}{{ -1|abs }}{{ +3 }}{{ - - 3 }}{{ not 1 }}{{ not not 'x' }}
{{ 1 if false }}[{{ (1 if false) is defined }}]
{{ 1 if true else 2 if true else 3 }}{{ (1 if false else 2) + 1 }}
{{ 1 + 2 ~ 3 * 4 ~ 'x' - 0 if false else 'z' }}
{{ 1 ~ 2 + 3 }}
{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % -3 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 7 / 2 }}{{ 4 / 2 }}
{{ 2 ** 100 }}{{ 2 ** -1 }}{{ 2 ** 0.5 }}{{ 10 ** 20 // 3 }}{{ -(2 ** 70) % 7 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1.0 % 0 }}
{{ {'a': 1}['a'] }}{{ {'a': {'b': 2}}.a.b }}{{ {1: 2}[1] }}{{ {true: 1}[1] }}
{{ [1, 2, 3,] }}{{ (1, 2,) }}{{ {'a': 1,} }}{{ () }}{{ [] }}
{{ [1,2] + [3] }}{{ (1,) + (2,) }}{{ [0] * 3 }}{{ 'ab' * 2 }}{{ [1] * -1 }}
{{ [1] + (2,) }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ none + 1 }}
{{ [none, true, 1.0, 'x', "it's", 'q"q', 'b\\b', '\n', '\x00', 'é', '\u200b'] }}
{{ {'k': [1, {'x': none}], 2: (1,), (1, 2): 't'} }}
{{ 1e400 }}{{ -1e400 }}{{ 1e400 - 1e400 }}{{ 0.1 + 0.2 }}{{ 1e15 }}{{ 1e16 }}{{ 123456789.123456789 }}{{ 0.0001 }}{{ 0.00001 }}{{ -0.0 }}
{{ range(3) }}{{ range(3)|list }}{{ range(1, 10, 3)|list }}{{ range(3)[1] }}{{ range(5)[1:3] }}{{ 2 in range(3) }}{{ range(0)|length }}
{{ range(200000) }}
{{ range(1, 2, 0) }}
{{ dict(a=1, b=[2]) }}{{ dict({'x': 1}, y=2) }}{{ dict([('a', 1)]) }}
{{ d.items }}x
{% set j = joiner('; ') %}{% for i in [1,2,3] %}{{ j() }}{{ i }}{% endfor %}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}
{% for i in [1,2,3] %}{{ loop.cycle('x', 'y') }}{% endfor %}
{% for i in [1,1,2] %}{{ loop.changed(i) }}{% endfor %}
{% for i in [[1,[2,[3]]],4] recursive %}{{ loop.depth }}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{% endif %}{% endfor %}
{% for m in msgs %}{{ loop(m) }}{% endfor %}
{{ raise_exception('no ' ~ n) }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %a %A %b %B %d %e %j %p %I %y %m %U %W %w %u %V %G %% %F %T %D %R %-d %-m %c %x %X %Z|%z|%f %h %C') }}
{% set x = (1, 2) %}{{ x.count(1) }}{{ x.index(2) }}{{ x[0] }}{{ x|length }}
{{ msgs|selectattr('role', 'equalto', 'user')|map(attribute='content')|join('|') }}
{{ msgs|map(attribute='role')|unique|list }}{{ msgs|groupby('role')|map('first')|list }}
{% for role, ms in msgs|groupby('role') %}{{ role }}{{ ms|length }};{% endfor %}
{% for g in msgs|groupby('role') %}{{ g.grouper }}{{ g.list|length }}{{ g[0] }};{% endfor %}
{{ msgs[2].tool_calls[0].function.arguments|tojson }}{{ msgs[2].tool_calls[0]['function'] }}
{{ msgs[-1].content.split()[0].lower() }}{{ msgs[1:]|length }}{{ msgs[::-1][0].role }}
{% set g = [1,2]|map('string') %}{{ g|list }}{{ g|list }}{{ g is iterable }}{{ g is sequence }}{{ g is string }}
{% if []|select %}gen true{% endif %}{% if []|list %}x{% endif %}
{{ ([]|first) is defined }}{{ []|last }}{{ []|min }}[{{ []|max }}]{{ []|sum }}
{{ [1,2]|select|length }}
{{ 'x' is string and 1 is number and not none is defined }}{{ 1 is not none }}{{ 2 is divisibleby 2 }}{{ 1 is sameas 1 }}{{ 'a' is in ['a'] }}{{ 3 is not in [1] }}
{{ x|default('d')|upper }}{{ (none)|default('d') }}{{ (none)|default('d', true) }}{{ ''|d('e', true) }}
{{ ('<b>'|safe) + '<i>' }}{{ '<i>' + ('<b>'|safe) }}{{ ('<b>'|safe) ~ '<i>' }}{{ ('%s'|safe) % '<' }}{{ ('<b>'|e) }}{{ ('a'|safe)|upper is escaped }}{{ [('x'|safe)] }}
{{ '%s-%d-%05.1f' % ('a', 3, 2.25) }}{{ '%(a)s' % {'a': 1} }}{{ '%s' % [1] }}{{ '%s' % none }}{{ '%%' % () }}
{{ '%d' % 'x' }}
{{ '%s %s' % 'x' }}
{{ '%s' % (1, 2) }}
{{ 'x' % 1 }}
{{ '{}-{}'.format(1, 2) }}{{ '{1}{0}'.format('a', 'b') }}{{ '{a}{b[0]}{c.k}'.format(a=1, b=[2], c={'k': 3}) }}
{{ '{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:%}|{!r}'.format('a', 'b', 'c', 42, 3.14159, 1234567, 0.25, 'q') }}
{% if a is defined and a.b %}x{% else %}y{% endif %}
{% if missing.x is defined %}{% endif %}
{{ missing == missing2 }}{{ missing == none }}{{ missing != 1 }}{{ missing|length }}{{ missing ~ 'x' }}{{ 'x' in missing }}{{ missing|list }}
{{ missing < 1 }}
{{ missing + 1 }}
{{ -missing }}
{{ missing|int }}
{{ missing|tojson }}
{{ [missing] }}{{ {'a': missing} }}
{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'abc'[5] }}{{ 'héé'[1:] }}{{ 'abc'.x }}{{ 'abc'['upper']() }}
{{ d['items'] }}{{ d.items()|list|length }}{{ d.get('k') }}{{ d.get('zz', 'def') }}{{ d['zz'] }}{{ d.keys()|list }}{{ d.values()|list }}
{{ 1.real }}
{{ (5).bit_length() }}{{ (2.0).is_integer() }}{{ 1.5.is_integer() }}
{% set s = 'x' %}{% set s = s ~ s %}{{ s }}
{% print 1, 'a' %}
{% if 1 %}a{% elif 2 %}b{% else %}c{% endif %}{% if 0 %}a{% elif 2 %}b{% else %}c{% endif %}{% if 0 %}a{% elif '' %}b{% else %}c{% endif %}
{% if 1, %}t{% endif %}
{{ 'a' is nosuch }}
{{ 'a'|nosuch if false else 'ok' }}
{% if false %}{{ 'a'|nosuch }}{% endif %}ok
{% if true %}{{ 'a'|nosuch }}{% endif %}ok
{{ 'nosuch' is filter }}{{ 'upper' is filter }}{{ 'odd' is test }}
{% set loop = 1 %}{{ loop }}
{% for i in [1] %}{% endfor %}{{ i }}
{% for i in [1,2] %}{% for j in [1] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{% for i in [1,2] %}{% set li = loop.index %}{% for j in [7] %}{{ li }}{{ loop.index }}{% endfor %}{% endfor %}
{% autoescape false %}{{ '<' }}{% endautoescape %}
{% nosuch %}
{% if x %}
{% endif %}
{% for %}{% endfor %}
{{ }}
{{ 1 + }}
{{ (1 }}
{{ [1, 2 }}
{{ 'abc }}
{{ a b }}
{{ 1 = 2 }}
{% set 1 = 2 %}
{% set true = 2 %}
{{ f(a=1, 2) }}
{{ f(**{}, *[]) }}
{{ 1 is defined is defined }}
{{ a. }}
{{ "\xZZ" }}
{# unclosed
{% raw %} unclosed
{{ {'a' 1} }}
{{ ) }}
{{ d.k if d.k }}{{ 'y' if d.zz else 'n' }}
{% macro m(x) %}{% set x = x + 1 %}{{ x }}{% endmacro %}{{ m(1) }}{{ m(x=5) }}{{ m(*[7]) }}{{ m(**{'x': 8}) }}
{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}[{{ inner }}]
{% macro m(a, caller='none') %}{{ caller }}{% endmacro %}{{ m(1) }}
{{ [3,1,2]|sort|join }}{{ ['b','A']|sort }}{{ [[2,'a'],[1,'b']]|sort }}{{ [1,'a']|sort }}
{{ {'b':1,'A':2}|dictsort }}{{ {'b':1,'a':'x'}|dictsort(by='value') }}
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(2, blank=true) }}
{{ 3.7|int }}{{ '3.7'|int }}{{ 'x'|int }}{{ 'x'|int(9) }}{{ '0x1f'|int(base=16) }}{{ ' 42 '|int }}{{ '1_000'|int }}{{ none|int }}
{{ 2.5|round }}{{ 3.5|round }}{{ 2.675|round(2) }}{{ 42|round }}{{ 1234|round(-2) }}{{ 2.1|round(0, 'ceil') }}{{ 7|round(1, 'floor') }}
{{ 'hello world foo'|truncate(11) }}{{ 'hello world'|wordcount }}{{ 'aa bb cc dd'|wordwrap(5) }}{{ 'x'|center(5) }}|{{ 'foo bar-baz qux'|title }}
{{ '/a b?c=d&e'|urlencode }}{{ {'a b': 'c&d', 'e': 1}|urlencode }}{{ 'é'|urlencode }}
{{ 1000|filesizeformat }}{{ 1|filesizeformat }}{{ 1500000|filesizeformat }}{{ 1048576|filesizeformat(true) }}
{{ '<p>a <b>b</b>&amp;</p>'|striptags }}{{ {'class': 'x', 'id': none, 'd': '<'}|xmlattr }}
{{ 'x'.__class__ }}[{{ d.__len__ }}]
{{ l.append(1) }}
{{ d.update({'a': 1}) }}
{{ l.sort() }}
{{ range is defined }}{{ namespace is callable }}
""".strip("\n").split("\n")

MULTI = [
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc\n", "a\n  {%+ if true %}\n  b\n  {% endif +%}\nc\n",
    "a {% if true %} b {% endif %} c\n\n", "{% for i in [1,2] %}\n  {{ i }}\n{% endfor %}\nx", "{% for i in [1,2] -%}\n  {{ i }}\n{%- endfor %}\nx",
    "\n\n{% set x = 1 %}\n\n{{ x }}\n\n", "  {{ 1 }}\n  {{- 2 }}\n  {{ 3 -}}\n  4", "a\r\nb\rc\n{{ 'x\r\ny' }}\r\n", "\t{% if 1 %}\tx\t{% endif %}\t\n", "x{# c #}\ny{#- c -#}\n z",
    "  {# c #}\n  {# d #}x\n", "{% raw %}\n  {{ a }}\n{% endraw %}\nb", "a\n {%- raw %} \n b{% endraw -%} \nc", "{{ 1 }}\n{{ 2 }}\n", "{% if 1 %}{% if 1 %}\n{% endif %}\n{% endif %}\nx", "\n  {% set a = 1 %}  \n  b",
    "{% macro m() %}\n  x\n{% endmacro %}\n[{{ m() }}]", "{% macro m() -%}\n  x\n{%- endmacro %}\n[{{ m() }}]", "{% call(x) m() %}{% endcall %}", "{%- set a %}\n  q\n{%- endset -%}\n[{{ a }}]", "{% if true %}a{% endif %}\n\n\nb", "x\n{% if false %}\ny\n{% else %}\nz\n{% endif %}",
    "{{ [\n 1,\n 2\n] }}", "{%\nif true\n%}a{%\nendif\n%}", "\u00a0{% if true %}x{% endif %}", "a\u2028 {%- if true %} b{% endif %}", "{{'}}'}}{{ '{{' }}{{ \"%}\" }}", "{% if true -%} a {%- else -%} b {%- endif %} c", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': {}} }}",
    "   {%- set x = 1 %}   y", "a   {%+ set x = 1 %}   y", "   {%+ set x = 1 +%}\n   y", "line1\n    {{ 'v' }}\nline3", "{% generation %}\n  text\n{% endgeneration %}\nend", "{% filter upper %}\n a\n{% endfilter %}\nb",
]


def products():
    for a, b in itertools.product(VALUES, VALUES):
        for op in BINARY:
            if op in ("**", "*") and (len(a) > 15 or len(b) > 15) and "[" not in a + b:
                continue  # Python would take hours or all memory
            if op == "-" and ".items()" in a + b:
                continue  # the difference of sets, in no order
            if op == "**" and "." in b:
                continue  # complex numbers, and last digits that the C library decides
            yield "{{ %s %s %s }}" % (a, op, b)
    for v in VALUES:
        for f in FILTERS:
            yield "{{ %s|%s }}" % (v, f)
        for t in TESTS:
            if t not in ("filter", "test") or v.startswith("'"):
                yield "{{ %s is %s }}" % (v, t)
        for s in SLICES:
            yield "{%% set v = %s %%}{{ v%s }}" % (v, s)
        for m in ([] if v.startswith("range") else STR_METHODS + SEQ_METHODS):
            yield "{%% set v = %s %%}{{ v.%s }}" % (v, m)
        yield "{%% set v = %s %%}{%% for x in v %%}{{ x }};{%% else %%}none{%% endfor %%}" % v
        yield "{%% set v = %s %%}{{ v }}{{ v|string }}{{ [v] }}{{ 'y' if v else 'n' }}{{ not v }}" % v
        yield "{%% set v = %s %%}{{ -v }}" % v
        yield "{%% set v = %s %%}{{ +v }}" % v
        yield "{%% set v = %s %%}{{ {v: 1} }}" % v
        yield "{%% set v = %s %%}{{ v() }}" % v
        yield "{%% set v = %s %%}{%% set a, b = v %%}{{ a }}{{ b }}" % v
    for v in FORMAT_VALUES:
        for s in SPECS:
            yield "{{ '%s'.format(%s, 8, a={'k': 1}) }}" % (s, v)
        for p in PRINTF:
            yield "{{ '%s' %% %s }}" % (p, v)
            yield "{{ '%s'|format(%s) }}" % (p, v)


def row(template):
    out = {"template": template}
    try:
        text = ENV.from_string(template).render(**json.loads(json.dumps(VARS)))
        if " at 0x" in text.lower():
            return None
        out["text"] = text
    except RecursionError as e:
        out["error"] = "RecursionError: " + str(e).split(" while")[0]
    except jinja2.exceptions.TemplateSyntaxError as e:
        out["syntax"] = "%d: %s" % (e.lineno, e.message)
    except Exception as e:
        out["error"] = type(e).__name__ + ": " + str(e)
        if " at 0x" in out["error"] or isinstance(e, MemoryError):
            return None
    return out


def main():
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.08
    pick = random.Random(1)
    print(json.dumps({"vars": VARS}))
    cases = [(c, 1.0) for c in HAND + MULTI] + [(c, share if " " in c else 1.0) for c in products()]
    for template, p in cases:
        if pick.random() <= p:
            r = row(template)
            if r is not None:
                print(json.dumps(r))


if __name__ == "__main__":
    main()
