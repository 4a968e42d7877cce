package edit

import (
	"fmt"
	"strings"
	"testing"
)

// benchFile returns a Go file of a thousand lines.
func benchFile() string {
	var b strings.Builder
	b.WriteString("package p\n\n")
	for i := range 111 {
		fmt.Fprintf(&b, "// f%d is function number %d.\nfunc f%d(x int) (int, error) {\n\tif x == %d {\n\t\treturn 0, errBad\n\t}\n\ty := x * %d // it’s a product\n\treturn y, nil\n}\n\n", i, i, i, i, i)
	}
	return b.String()
}

const benchOld = "\tif x == 60 {\n\t\treturn 0, errBad\n\t}\n\ty := x * 60 // it’s a product\n\treturn y, nil\n"

func benchReplace(b *testing.B, content string, r Replacement, want string) {
	b.Helper()
	if res, err := Replace(content, r); err != nil && want != "" || res.Strategy != want {
		b.Fatalf("strategy %q, want %q: %v", res.Strategy, want, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Replace(content, r)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "edits/s")
}

// both applies f to old and new of the same edit.
func both(f func(string) string) Replacement {
	return Replacement{Old: f(benchOld), New: f(strings.Replace(benchOld, "\ty :=", "\t// new\n\ty :=", 1))}
}

func dedent(s string) string { return strings.ReplaceAll("\n"+s, "\n\t", "\n")[1:] }

func BenchmarkReplaceExact(b *testing.B) {
	benchReplace(b, benchFile(), both(strings.Clone), "exact")
}

func BenchmarkReplaceCRLF(b *testing.B) {
	benchReplace(b, strings.ReplaceAll(benchFile(), "\n", "\r\n"), both(strings.Clone), "exact")
}

func BenchmarkReplaceTrailingSpace(b *testing.B) {
	r := both(strings.Clone)
	r.Old = strings.ReplaceAll(r.Old, "{\n", "{ \n")
	benchReplace(b, benchFile(), r, "trailing-space")
}

func BenchmarkReplacePunctuation(b *testing.B) {
	benchReplace(b, benchFile(), both(func(s string) string { return strings.ReplaceAll(s, "’", "'") }), "punctuation")
}

func BenchmarkReplaceIndentation(b *testing.B) {
	benchReplace(b, benchFile(), both(dedent), "indentation")
}

func BenchmarkReplaceTabsForSpaces(b *testing.B) {
	benchReplace(b, benchFile(), both(func(s string) string { return strings.ReplaceAll(s, "\t", "    ") }), "indentation")
}

func BenchmarkReplaceLineNumbers(b *testing.B) {
	benchReplace(b, benchFile(), both(func(s string) string {
		return numberWith("%6d\t%s", 500, strings.Split(strings.TrimSuffix(s, "\n"), "\n"))
	}), "line-numbers+exact")
}

func BenchmarkReplaceUnescape(b *testing.B) {
	benchReplace(b, benchFile(), both(func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }), "unescaped+exact")
}

func BenchmarkReplaceAgreed(b *testing.B) {
	r := both(strings.Clone)
	r.Old = strings.Replace(r.Old, "product", "prodct", 1)
	benchReplace(b, benchFile(), r, "agreed")
}

func BenchmarkReplaceBase(b *testing.B) {
	r := both(strings.Clone)
	r.Base = benchFile()
	benchReplace(b, strings.Replace(benchFile(), "x * 20", "x * 21", 1), r, "merged+exact")
}

func BenchmarkReplaceReject(b *testing.B) {
	benchReplace(b, benchFile(), both(func(s string) string { return strings.ReplaceAll(s, "60", "6000") }), "")
}

func BenchmarkReplaceRejectNothingAlike(b *testing.B) {
	benchReplace(b, benchFile(), Replacement{Old: "SELECT name FROM users\nWHERE id = 7", New: "x"}, "")
}

func BenchmarkReplaceRejectAmbiguous(b *testing.B) {
	benchReplace(b, benchFile(), Replacement{Old: "return 0, errBad", New: "x"}, "")
}

// BenchmarkReplaceRejectHuge refuses a text of 50,000 lines in a file of 50,000 lines that are
// nearly all alike; a quadratic algorithm would not finish.
func BenchmarkReplaceRejectHuge(b *testing.B) {
	content := strings.Repeat("same\n", 50_000)
	benchReplace(b, content, Replacement{Old: strings.Repeat("same\n", 49_999) + "other", New: "x"}, "")
}

func BenchmarkMerge(b *testing.B) {
	base := benchFile()
	ours, theirs := strings.Replace(base, "x * 20", "x * 21", 1), strings.Replace(base, "x * 90", "x * 91", 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Merge(base, ours, theirs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyPatch(b *testing.B) {
	fsys := files{"p.go": benchFile()}
	patch := envelope("*** Update File: p.go", "@@ func f60(x int) (int, error) {", " \tif x == 60 {", "-\t\treturn 0, errBad", "+\t\treturn 0, nil", " \t}",
		"@@ func f90(x int) (int, error) {", " \tif x == 90 {", "-\t\treturn 0, errBad", "+\t\treturn 0, nil", " \t}")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ApplyPatch(fsys.read, patch); err != nil {
			b.Fatal(err)
		}
	}
}
