package mutate

import (
	"go/ast"
	"testing"
)

// BenchmarkAll reports the number of functions per second for which all mutants are made.
func BenchmarkAll(b *testing.B) {
	l := shared()
	var ps []*pkg
	for _, path := range []string{"strings", "bufio", "encoding/json", "net/url", "text/template/parse", "time"} {
		ps = append(ps, l.load(b, path))
	}
	b.ReportAllocs()
	b.ResetTimer()
	functions, mutants := 0, 0
	for range b.N {
		for _, p := range ps {
			m := New(p.info)
			p.functions(func(src []byte, fn *ast.FuncDecl) {
				functions++
				mutants += len(m.All(src, fn, p.fset))
			})
		}
	}
	b.ReportMetric(float64(functions)/b.Elapsed().Seconds(), "functions/s")
	b.ReportMetric(float64(mutants)/float64(functions), "mutants/function")
}
