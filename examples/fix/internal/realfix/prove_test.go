package realfix

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

const provenTest = `package p

import "testing"

func TestLast(t *testing.T) {
	if Last([]int{1, 2}) != 2 {
		t.Fail()
	}
}

func TestTwo(t *testing.T) { two(1, 2) }

func TestBroken(t *testing.T) { t.Fail() }
`

// TestProve checks that of two changed lines, only the one that a test detects, by a panic, is a
// fix.
//
// Evidence: training · Real fixes are proven by tests
func TestProve(t *testing.T) {
	old := write(t, map[string]string{"p/p.go": before, "p/p_test.go": provenTest})
	root := write(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.21\n", "p/p.go": after, "p/p_test.go": provenTest})
	candidates, err := Diff(old, root)
	if err != nil {
		t.Fatal(err)
	}
	// An additional candidate that does not compile: it must not affect the others.
	refused := candidates[1]
	refused.Line, refused.Old = 3, "c++"
	plain := verify.Plain{Env: os.Environ()}
	p := &Prover{Root: root, Bins: t.TempDir(), Build: plain, Run: plain, Limit: time.Minute,
		Env: []string{"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0"}, Report: func(s string) { t.Log(s) }}
	got, err := p.Prove(t.Context(), "p", append(candidates, refused))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || len(got[0].SHA256) != 64 {
		t.Fatalf("fixes: %+v", got)
	}
	got[0].SHA256 = ""
	want := Fix{Dir: "p", File: "p/p.go", Function: "Last", FileLine: 5, Line: 2, Old: "return a[len(a)]", New: "return a[len(a)-1]",
		Sole: true, Tests: []string{"TestLast"}, Kind: Behaviour}
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	left, err := os.ReadFile(filepath.Join(root, "p", "p.go"))
	if err != nil || string(left) != after {
		t.Errorf("the module is not as it was: %v\n%s", err, left)
	}
	slip, err := NewSlips().Of(root, want)
	if err != nil || slip != "plus-one" {
		t.Errorf("the slip is %q, %v", slip, err)
	}
}

// TestFixes checks the promises about the fixes in the repository.
func TestFixes(t *testing.T) {
	fixes, err := Fixes()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range Modules() {
		known[m] = true
	}
	for _, f := range fixes {
		if !known[f.Module] || f.Old == f.New || f.Old == "" || f.New == "" || len(f.Tests) == 0 || f.From == f.Version ||
			f.Line < 2 || f.FileLine < f.Line || len(f.SHA256) != 64 || f.Licence == "" || f.Kind != Behaviour && f.Kind != Message {
			t.Errorf("bad fix %+v", f)
		}
	}
}
