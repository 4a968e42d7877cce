package repair_test

import (
	"bytes"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

func TestTokens(t *testing.T) {
	const code = "func f(s string) int {\n\tif s == \"a  b\" {\n\t\treturn len(s)\n\t}\n\treturn 0\n}"
	for _, tt := range []struct {
		old, new string
		same     bool
	}{
		{"len(s)", "len( s )", true},
		{"len(s)", "len(s) // how long", true},
		{"len(s)", "/* all */ len(s)", true},
		{"len(s)", "len(s);", true},
		{"\treturn 0", "\treturn 0;", true},
		{"\n\treturn 0", "\n\n\n    return 0\r\n", true},
		{"\t}\n", "\t}; ", true},
		{"len(s)", "len(t)", false},
		{"len(s)", "len (s)+0", false},
		{"a  b", "a b", false},
		{"a  b", "a // b", false},
		{"return 0", "// return 0", false},
		{"return 0", "return\n0", false},
		{"if s == ", "if ; s == ", false},
		{"return 0", "return 0\n\tbreak", false},
		{"return 0", "return0", false},
	} {
		edited := strings.Replace(code, tt.old, tt.new, 1)
		if same := repair.Tokens(edited) == repair.Tokens(code); same != tt.same {
			t.Errorf("%q in place of %q: the same tokens is %v", tt.new, tt.old, same)
		}
	}
}

// TestTokensOfFiles removes the comments from real files and changes the white space: the tokens
// must stay the same.
func TestTokensOfFiles(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 3, Indent: 2}).Fprint(&out, fset, f); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(out.Bytes(), src) || repair.Tokens(out.String()) != repair.Tokens(string(src)) {
			t.Errorf("%s has other tokens without comments", name)
		}
	}
}

// FuzzTokens calls Tokens for any text; if there are no scan errors, scanning the result again
// gives the same tokens.
func FuzzTokens(f *testing.F) {
	for _, code := range []string{"", source, "x := `a\r\nb` // c", "'\\''; \"\\\"\" /* open", "a\x00b", "\ufeffreturn", "for ;; {\n}", "1..2; 0x_ 08i é\xff"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		got := repair.Tokens(code)
		if sound := scans(code); !sound {
			return
		}
		if again := repair.Tokens(strings.ReplaceAll(got, "\x00", " ")); again != got {
			t.Errorf("%q has tokens %q, and these have %q", code, got, again)
		}
	})
}

// scans reports whether a text scans without errors.
func scans(code string) bool {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(code)), []byte(code), func(token.Position, string) {}, 0)
	for {
		if _, tok, _ := s.Scan(); tok == token.EOF {
			return s.ErrorCount == 0
		}
	}
}
