package symbols

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithin(t *testing.T) {
	r, err := Of("a.go", []byte("package a\n\ntype S struct{}\n\nfunc (s S) Run() {\n\tgo func() { one() }()\n\ttwo()\n}\n\nfunc last() { three() }\n"))
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string][]string{}
	for i := range r.Defs {
		for _, ref := range r.Within(&r.Defs[i]) {
			uses[r.Defs[i].FullName()] = append(uses[r.Defs[i].FullName()], ref.Name)
		}
	}
	if d := cmp.Diff(map[string][]string{"S.Run": {"S", "one", "two"}, "last": {"three"}}, uses); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for line, want := range map[int]string{0: "", 1: "", 3: "S", 6: "S.Run", 8: "S.Run", 9: "", 10: "last"} {
		got := ""
		if d := Innermost(r.Defs, line); d != nil {
			got = d.FullName()
		}
		if got != want {
			t.Errorf("line %d lies in %q, want %q", line, got, want)
		}
	}
	nested := []Def{{Name: "outer", StartLine: 1, EndLine: 9}, {Name: "inner", StartLine: 3, EndLine: 5}}
	if d := Innermost(nested, 4); d != &nested[1] {
		t.Errorf("of nested ones %v", d)
	}
}
