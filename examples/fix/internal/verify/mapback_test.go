package verify

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoCopies returns a mapper for variants 1 and 2 of the function at line 5 of a.go, whose copies
// are at lines 20 to 24 and 25 to 29.
func twoCopies() *mapper {
	return newMapper(map[int]span{
		1: {variant: 1, file: "a.go", start: 20, end: 24, orig: 5},
		2: {variant: 2, file: "a.go", start: 25, end: 29, orig: 5},
	}, map[string][]site{"a.go": {{line: 5, from: 20, to: 80}}})
}

func TestMapText(t *testing.T) {
	m := twoCopies()
	in := "panic: index out of range\n\ngoroutine 1 [running]:\n" +
		"m.(*T[...]).zzl2_F(0x1, {0x2})\n\t/m/a.go:27 +0x1\n" +
		"m.(*T[...]).F(...)\n\t/m/a.go:5\n" +
		"m.(*T[...]).F(...)\n\t/m/a.go:7\n" + // not the position at which it forwards
		"m.TestF(0x3)\n\t/m/a_test.go:27 +0x2\n"
	want := "panic: index out of range\n\ngoroutine 1 [running]:\n" +
		"m.(*T[...]).F(0x1, {0x2})\n\t/m/a.go:7 +0x1\n" +
		"m.(*T[...]).F(...)\n\t/m/a.go:7\n" +
		"m.TestF(0x3)\n\t/m/a_test.go:27 +0x2\n"
	if d := cmp.Diff(want, m.text(in)); d != "" {
		t.Error(d)
	}
}

// Evidence: training · Thousands of broken versions run in one test binary
func TestMapProfile(t *testing.T) {
	const in = `mode: set
example.com/m/a.go:2.10,3.4 1 1
example.com/m/a.go:5.18,5.40 1 1
example.com/m/a.go:5.45,5.60 1 1
example.com/m/a.go:6.2,9.3 3 0
example.com/m/a.go:20.20,24.3 2 0
example.com/m/a.go:25.20,28.3 2 1
example.com/m/b.go:26.1,27.3 2 1
example.com/m/zzl_variant.go:5.1,6.3 2 1
`
	for variant, want := range map[int]string{
		0: "mode: set\nexample.com/m/a.go:2.10,3.4 1 1\nexample.com/m/a.go:5.18,5.40 1 1\nexample.com/m/a.go:6.2,9.3 3 0\nexample.com/m/b.go:26.1,27.3 2 1\n",
		1: "mode: set\nexample.com/m/a.go:2.10,3.4 1 1\nexample.com/m/a.go:5.20,9.3 2 0\nexample.com/m/b.go:26.1,27.3 2 1\n",
		2: "mode: set\nexample.com/m/a.go:2.10,3.4 1 1\nexample.com/m/a.go:5.20,8.3 2 1\nexample.com/m/b.go:26.1,27.3 2 1\n",
	} {
		if d := cmp.Diff(want, string(twoCopies().profile([]byte(in), variant))); d != "" {
			t.Errorf("variant %d: %s", variant, d)
		}
	}
}

func TestMerge(t *testing.T) {
	a := "mode: set\nm/a.go:1.1,2.2 1 0\nm/a.go:3.1,4.2 1 1\n"
	b := "mode: set\nm/a.go:1.1,2.2 1 1\nm/a.go:5.1,6.2 1 0\n"
	want := "mode: set\nm/a.go:1.1,2.2 1 1\nm/a.go:3.1,4.2 1 1\nm/a.go:5.1,6.2 1 0\n"
	if d := cmp.Diff(want, string(merge([]byte(a), []byte(b)))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]bool{false, true}, ranBlocks([]byte(a))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("mode: set\nm/a.go:1.1,2.2 1 1\nm/a.go:3.1,4.2 1 0\n", string(withRan([]byte(a), []bool{true, false}))); d != "" {
		t.Error(d)
	}
}

func FuzzMap(f *testing.F) {
	f.Add([]byte("mode: set\nm/a.go:25.20,28.3 2 1\n"))
	f.Add([]byte("m.zzl2_F(0x1)\n\t/m/a.go:27 +0x1\nm.F(...)\n\t/m/a.go:5\n"))
	f.Add([]byte("\ta.go:99999999999999999999\nzzl9_"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := twoCopies()
		for variant := range 3 {
			p := m.profile(data, variant)
			ran := ranBlocks(p)
			if got := ranBlocks(withRan(p, ran)); !cmp.Equal(got, ran) {
				t.Errorf("blocks %v became %v", ran, got)
			}
		}
		m.text(string(data))
	})
}
