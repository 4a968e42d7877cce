package testreport

import (
	"os"
	"strings"
	"testing"
)

func TestLintParsers(t *testing.T) {
	for _, tc := range []struct {
		file  string
		parse LintParser
		want  []string
	}{
		{"govet.txt", ParseLines("go vet"), []string{`vetfail/v_test.go:8:40: fmt.Printf format %d has arg "x" of wrong type string (go vet)`, "broken/broken.go:3:23: undefined: undefinedName (go vet)"}},
		{"gopls.txt", ParseLines("gopls"), []string{"broken/broken.go:3:23: undefined: undefinedName (gopls)", `broken/broken.go:4:23: cannot use "y" (untyped string constant) as int value in return statement (gopls)`, `vetfail/v_test.go:8:40: fmt.Printf format %d has arg "x" of wrong type string (gopls)`}},
		{"ruff.json", ParseRuff, []string{"a.py:1:8: warning: `os` imported but unused (ruff F401)", "a.py:3:12: warning: Undefined name `undefined_name` (ruff F821)", "b.py:1:7: error: SyntaxError: Expected a parameter or the end of the parameter list (ruff)"}},
		{"eslint.json", ParseESLint, []string{"bad.js:1:5: warning: 'unused' is assigned a value but never used. (eslint no-unused-vars)", "bad.js:2:23: error: 'undefinedThing' is not defined. (eslint no-undef)", "syn.js:1:10: error: Parsing error: Unexpected token ( (eslint)"}},
		{"tsc.txt", ParseTSC, []string{"bad.ts:1:7: error: Type 'string' is not assignable to type 'number'. (tsc TS2322)", "bad.ts:2:41: error: Property 'nothing' does not exist on type 'string'. (tsc TS2339)"}},
		{"cargo.json", ParseCargoCheck, []string{"src/lib.rs:2:5: error: mismatched types: expected `i32`, found `&str` (rustc E0308)", "src/lib.rs:6:5: error: cannot find function `missing` in this scope: not found in this scope (rustc E0425)"}},
	} {
		f, err := os.Open("testdata/lint/" + tc.file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tc.parse(f, srcPaths)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, d := range got {
			lines = append(lines, d.String())
		}
		if a, b := strings.Join(tc.want, "\n"), strings.Join(lines, "\n"); a != b {
			t.Errorf("%s:\nwant\n%s\ngot\n%s", tc.file, a, b)
		}
	}
}

func FuzzLintParsers(f *testing.F) {
	for _, name := range []string{"govet.txt", "ruff.json", "eslint.json", "tsc.txt", "cargo.json"} {
		if data, err := os.ReadFile("testdata/lint/" + name); err == nil {
			f.Add(data[:min(len(data), 2000)])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []LintParser{ParseLines("x"), ParseRuff, ParseESLint, ParseTSC, ParseCargoCheck} {
			ds, _ := parse(strings.NewReader(string(data)), srcPaths)
			for _, d := range ds {
				if d.Line < 0 || d.Col < 0 || len(ds) > 2*maxDiagnostics {
					t.Fatalf("%+v", d)
				}
				_ = d.String()
			}
		}
	})
}
