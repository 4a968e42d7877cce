package jinja

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestHostile checks that templates that are meant to hang, to fill the memory or to overflow the
// stack result in an error.
//
// Evidence: engine · Hostile templates end in an error
func TestHostile(t *testing.T) {
	tier.Normal(t)
	rep := func(s string, n int) string { return strings.Repeat(s, n) }
	cases := map[string]struct{ src, want string }{
		"loop without end":      {"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "LimitError"},
		"long text":             {"{{ 'x' * 1000000000 }}", "LimitError"},
		"long list":             {"{{ [0] * 1000000000 }}", "LimitError"},
		"empty list many times": {"{{ [] * 9007199254740993 }}", ""},
		"doubling text":         {"{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}", "LimitError"},
		"doubling output":       {"{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% else %}xxxxxxxx{% endif %}{% endmacro %}{{ m(60) }}", "LimitError"},
		"width":                 {"{{ 'x'.ljust(999999999999) }}", "LimitError"},
		"format width":          {"{{ '%999999999999d' % 1 }}", "LimitError"},
		"format field width":    {"{{ '{:999999999999}'.format(1) }}", "LimitError"},
		"power":                 {"{{ 9 ** 99999 }}", "LimitError"},
		"shared parts printed":  {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}", "LimitError"},
		"shared parts as JSON":  {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}", "LimitError"},
		"shared parts compared": {"{% set a = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set a.y = [a.y, a.y] %}{% endfor %}{{ a.x == a.y }}", "LimitError"},
		"shared parts as key":   {"{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}", "LimitError"},
		"costly comparisons":    {"{% set a = namespace(x=[1], y=[1]) %}{% for i in range(18) %}{% set a.x = [a.x, a.x] %}{% set a.y = [a.y, a.y] %}{% endfor %}{% for i in range(99999) %}{{ a.x == a.y }}{% endfor %}", "LimitError"},
		"deep value printed":    {"{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}", "RecursionError"},
		"deep value as key":     {"{% set ns = namespace(x=()) %}{% for i in range(5000) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} }}", "RecursionError"},
		"namespace in itself":   {"{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "RecursionError"},
		"recursion":             {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"},
		"recursive loop":        {"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError"},
		"nested parentheses":    {"{{ " + rep("(", 10000) + "1" + rep(")", 10000) + " }}", "parse line 1"},
		"nested lists":          {"{{ " + rep("[", 10000) + rep("]", 10000) + " }}", "parse line 1"},
		"nested not":            {"{{ " + rep("not ", 10000) + "1 }}", "parse line 1"},
		"nested minus":          {"{{ " + rep("-", 10000) + "1 }}", "parse line 1"},
		"nested if":             {rep("{% if 1 %}", 10000) + rep("{% endif %}", 10000), "parse line 1"},
		"nested else":           {"{{ " + rep("1 if 0 else ", 10000) + "1 }}", "parse line 1"},
		"nested targets":        {"{% set " + rep("(", 10000) + "a" + rep(")", 10000) + " = 1 %}", "parse line 1"},
		"nested calls":          {"{{ " + rep("f(", 10000) + rep(")", 10000) + " }}", "parse line 1"},
		"long chain":            {"{{ 1" + rep("+1", 100000) + " }}", "parse line 1"},
		"long attribute chain":  {"{{ a" + rep(".a", 100000) + " }}", "parse line 1"},
		"long filter chain":     {"{% set a" + rep("|trim", 100000) + " %}{% endset %}", "parse line 1"},
		"allowed chain":         {"{{ 1" + rep("+1", 5000) + " }}", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tmpl, err := Parse(c.src)
			if err == nil {
				_, err = tmpl.Render(nil, Options{Fuel: 2_000_000, MaxOutput: 1 << 20})
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestErrors checks that an error has the line of the statement and Python's wording.
func TestErrors(t *testing.T) {
	cases := []struct{ src, want string }{
		{"a\n{{ x.y }}", "jinja: render line 2: UndefinedError: 'x' is undefined"},
		{"{% macro m() %}\n\n{{ 1/0 }}{% endmacro %}\n{{ m() }}", "jinja: render line 3: ZeroDivisionError: division by zero"},
		{"{{ raise_exception('no system role') }}", "jinja: render line 1: TemplateError: no system role"},
		{"\n{% for a, b in [1] %}{% endfor %}", "jinja: render line 2: TypeError: cannot unpack non-iterable int object"},
		{"\n\n{% if %}", "jinja: parse line 3: expected an expression, got 'end of statement block'"},
		{"{% if x %}\n", "jinja: parse line 1: unexpected end of template: looking for {% endif %}"},
		{"{% include 'x' %}", "jinja: parse line 1: the include tag needs another template, and a chat template has no others: inline it"},
		{"{% from 'x' import y %}", "jinja: parse line 1: the from tag needs another template, and a chat template has no others: inline it"},
		{"{% break %}", "jinja: parse line 1: 'break' outside of a loop"},
		{"{{ x|nosuch }}", "jinja: parse line 1: no filter named 'nosuch'"},
		{"{{ [].append(1) }}", "jinja: render line 1: SecurityError: access to attribute 'append' of 'list' object is unsafe."},
	}
	for _, c := range cases {
		tmpl, err := Parse(c.src)
		if err == nil {
			_, err = tmpl.Render(NewDict(), Options{})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.src, err, c.want)
		}
	}
}

func TestMutation(t *testing.T) {
	src := "{% set l = [3] %}{% set _ = l.append(1) %}{% set _ = l.insert(0, 2) %}{{ l.pop() }}{{ l }}{% set d = {} %}{% set _ = d.update(a=1) %}{{ d.setdefault('b', 2) }}{{ d.pop('a') }}{{ d }}{% set _ = l.sort() %}{{ l }}"
	tmpl, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tmpl.Render(nil, Options{AllowMutation: true})
	if want := "1[2, 3]21{'b': 2}[2, 3]"; got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	var re *RenderError
	if _, err := tmpl.Render(nil, Options{}); !errors.As(err, &re) || re.Kind != "SecurityError" {
		t.Errorf("without AllowMutation: %v", err)
	}
}

// TestShared checks that many goroutines can use one template and one set of variables.
func TestShared(t *testing.T) {
	tmpl, err := Parse("{% set ns = namespace(n=0) %}{% for m in l %}{% set ns.n = ns.n + m %}{% endfor %}{{ ns.n }}{{ l|sort }}{{ l|map('string')|join }}")
	if err != nil {
		t.Fatal(err)
	}
	vars := NewDict().Set("l", NewList(Int(3), Int(1), Int(2)))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got, err := tmpl.Render(vars, Options{}); got != "6[1, 2, 3]312" || err != nil {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// FuzzTemplate checks, for any template and variables, that parsing and rendering end within their
// limits and without a panic.
func FuzzTemplate(f *testing.F) {
	for _, src := range []string{"{% for a, b in x.items() recursive %}{{ loop(a) }}{% else %}{% endfor %}", "{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{% call(x) m(*a, **b) %}{% endcall %}",
		"{{ '%05.2f {}'.format(1)|upper[::-1] if x is not none else -y ** 2 ~ [1, {'a': (2,)}] }}", "{% raw %}{% endraw %}{#- -#}{% set a %}{% endset %}{% with a=1 %}{% endwith %}{% filter upper|trim %}{% endfilter %}"} {
		f.Add(src, `{"x": {"a": 1}, "y": [1, "b", null]}`)
	}
	files := devdata.Glob(f, dataDir+"*.jinja")
	for _, name := range files {
		if src, err := os.ReadFile(name); err == nil {
			f.Add(string(src), `{"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}], "add_generation_prompt": true}`)
		}
	}
	f.Fuzz(func(t *testing.T, src, vars string) {
		tmpl, err := Parse(src)
		var se *SyntaxError
		if err != nil {
			if !errors.As(err, &se) || se.Line < 1 {
				t.Fatalf("error without a line: %v", err)
			}
			return
		}
		v, _ := FromJSON([]byte(vars))
		d, _ := v.(*Dict)
		out, err := tmpl.Render(d, Options{Fuel: 100_000, MaxOutput: 1 << 16, Now: testClock, AllowMutation: true})
		var re *RenderError
		if err != nil && (!errors.As(err, &re) || re.Line < 1) {
			t.Fatalf("error without a line: %v", err)
		}
		if len(out) > 1<<16 {
			t.Fatalf("%d bytes of output", len(out))
		}
	})
}

// FuzzFromJSON checks that tojson writes a value from FromJSON in a form from which FromJSON reads
// the same value again.
func FuzzFromJSON(f *testing.F) {
	f.Add(`{"b": [1, 2.5, null, true, "é\n\ud83d\ude00"], "a": {"b": {}}, "n": 123456789012345678901234567890}`)
	tmpl, err := Parse("{{ v|tojson }}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, err := FromJSON([]byte(in))
		if err != nil {
			return
		}
		once, err := tmpl.Render(NewDict().Set("v", v), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(once, "Infinity") { // a number beyond the range of floats, as Python writes it
			return
		}
		v, err = FromJSON([]byte(once))
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := tmpl.Render(NewDict().Set("v", v), Options{}); twice != once || err != nil {
			t.Fatalf("%q became %q, %v", once, twice, err)
		}
	})
}
