package sandbox_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
)

// plain is a sandbox with no ability beyond Sandbox; seen is a wrapper that lets others look
// through it.
type (
	plain struct{ sandbox.Sandbox }
	seen  struct{ plain }
	bad   struct{ sandbox.Sandbox }
)

func (s seen) Unwrap() sandbox.Sandbox { return s.Sandbox }
func (bad) Unwrap() sandbox.Sandbox    { return nil }

// The abilities of a sandbox are found in one place, also through a wrapper that says what it
// wraps.
//
// Evidence: sandbox · Abilities of a sandbox are found without type assertions, also in wrappers
func TestAbilities(t *testing.T) {
	dir, remove := project()
	defer remove()
	box, err := sandbox.Local(t.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Floor: sandbox.TierNone})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	count := func(b sandbox.Sandbox) (n int) {
		v := reflect.ValueOf(sandbox.AbilitiesOf(b))
		for i := range v.NumField() {
			if !v.Field(i).IsNil() {
				n++
			}
		}
		return n
	}
	all := reflect.TypeFor[sandbox.Abilities]().NumField()
	for name, tt := range map[string]struct {
		box  sandbox.Sandbox
		want int
	}{
		"local": {box, all}, "hidden": {plain{box}, 0}, "wrapped": {seen{plain{box}}, all}, "wrapped twice": {seen{plain{seen{plain{box}}}}, all},
		"wraps one that hides": {seen{plain{plain{box}}}, 0}, "wraps nothing": {bad{box}, 0}, "nil": {nil, 0},
	} {
		if got := count(tt.box); got != tt.want {
			t.Errorf("%s: %d abilities, want %d", name, got, tt.want)
		}
	}
	if _, ok := sandbox.As[interface{ Fly() }](box); ok {
		t.Error("it flies")
	}
	f, ok := sandbox.As[sandbox.Forker](seen{plain{box}})
	if !ok {
		t.Fatal("no Forker")
	}
	fork, err := f.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(fork, "echo two > a.txt")
	adopter, _ := sandbox.As[sandbox.Adopter](box)
	if err := adopter.Adopt(context.Background(), seen{plain{fork}}); err != nil { // a wrapped fork is one
		t.Errorf("adopt a wrapped fork: %v", err)
	}
}

// Each optional interface has its field: the interfaces of which the documentation says that
// sandboxes implement them.
func TestAbilitiesAreComplete(t *testing.T) {
	want := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE || !strings.Contains(strings.Join(strings.Fields(g.Doc.Text()), " "), "is implemented by sandboxes") {
				continue
			}
			want[g.Specs[0].(*ast.TypeSpec).Name.Name] = true
		}
	}
	got := map[string]bool{}
	typ := reflect.TypeFor[sandbox.Abilities]()
	for i := range typ.NumField() {
		got[typ.Field(i).Name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the documentation (-) and in Abilities (+):\n%s", diff)
	}
}
