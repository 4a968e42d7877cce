package sandbox

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

func fork(t testing.TB, sb Sandbox) Sandbox {
	t.Helper()
	out, err := sb.(Forker).Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return out
}

func kinds(t testing.TB, sb Sandbox) map[string]ChangeKind {
	t.Helper()
	changes, err := sb.(Differ).Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]ChangeKind{}
	for _, c := range changes {
		got[c.Path] = c.Kind
	}
	return got
}

// Evidence: sandbox · Running workspaces fork and go back
func TestForksGoTheirOwnWays(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "keep", "k")
		write(t, dir, "gone", "g")
		write(t, dir, "d/old", "o")
		write(t, dir, "d/sub/deep", "x")
		before := treeOf(t, dir)
		cfg.Snapshot = SnapshotDir(dir)
		cfg.ScratchDir = t.TempDir()
		a := open(t, cfg)
		sh(t, a, `set -e; echo 1 > new; rm gone; rm -r d; mkdir d; echo n > d/new`)
		b := fork(t, a)
		want := "1\nn\nd keep new\nnew\n"
		for _, sb := range []Sandbox{a, b} {
			if got := sh(t, sb, "cat new d/new; echo $(ls); ls d"); got != want {
				t.Errorf("after the fork: %q, want %q", got, want)
			}
		}
		sh(t, a, "echo a > new; rm keep")
		sh(t, b, "set -e; echo b > only; rm -r d; echo back > gone")
		c := fork(t, b)
		sh(t, c, "set -e; mkdir -p d/sub; echo c > d/sub/deep; rm only")
		if d := cmp.Diff(map[string]ChangeKind{"new": Added, "gone": Deleted, "keep": Deleted, "d/old": Deleted,
			"d/sub": Deleted, "d/sub/deep": Deleted, "d/new": Added}, kinds(t, a)); d != "" {
			t.Errorf("original: %s", d)
		}
		if d := cmp.Diff(map[string]ChangeKind{"new": Added, "gone": Modified, "only": Added,
			"d": Deleted, "d/old": Deleted, "d/sub": Deleted, "d/sub/deep": Deleted}, kinds(t, b)); d != "" {
			t.Errorf("fork: %s", d)
		}
		if d := cmp.Diff(map[string]ChangeKind{"new": Added, "gone": Modified, "d/old": Deleted, "d/sub/deep": Modified}, kinds(t, c)); d != "" {
			t.Errorf("fork of the fork: %s", d)
		}
		if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
			t.Errorf("the snapshot changed: %s", d)
		}
		// The original may be closed before its forks.
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if got := sh(t, c, "cat gone new d/sub/deep; ls d"); got != "back\n1\nc\nsub\n" {
			t.Errorf("after the original was closed: %q", got)
		}
		if err := errors.Join(b.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(cfg.ScratchDir, "*")); len(left) > 0 {
			t.Errorf("left on the host: %v", left)
		}
	})
}

func TestForkOfACommit(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	repo := repository(t)
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Snapshot = SnapshotCommit(repo, "HEAD~1")
		a := open(t, cfg)
		sh(t, a, "echo x > x")
		b := fork(t, a)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, b, "cat file x"); got != "firstx\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestForkAndRestoreRefuse(t *testing.T) {
	sb := open(t, Config{Snapshot: SnapshotDir(t.TempDir()), Floor: TierNone})
	p, err := sb.Start(t.Context(), Cmd{Args: []string{"sleep", uniqueSleep()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sb.(Forker).Fork(t.Context()); !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), "sandbox: fork ") {
		t.Errorf("while a command runs: %v", err)
	}
	if err := sb.(Restorer).Restore(t.Context(), AtSnapshot); !errors.Is(err, ErrBusy) {
		t.Errorf("while a command runs: %v", err)
	}
	_ = p.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sb.(Forker).Fork(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	sh(t, sb, "true") // the sandbox still works after these errors
	if err := sb.(Restorer).Restore(t.Context(), 7); err == nil {
		t.Error("restored to a point that there is not")
	}
	sb.Close()
	if _, err := sb.(Forker).Fork(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	place := open(t, plain())
	if _, err := place.(Forker).Fork(t.Context()); !errors.Is(err, ErrInPlace) {
		t.Errorf("in place: %v", err)
	}
}

// Evidence: sandbox · Running workspaces fork and go back
func TestRestore(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "old")
		cfg.Snapshot = SnapshotDir(dir)
		a := open(t, cfg)
		sh(t, a, "echo one > f; echo x > one")
		b := fork(t, a)
		sh(t, b, "echo two > f; rm one; echo x > two")
		restore := func(p Point) {
			t.Helper()
			if err := b.(Restorer).Restore(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		restore(AtFork)
		if got := sh(t, b, "cat f; echo $(ls)"); got != "one\nf one\n" {
			t.Errorf("at the fork: %q", got)
		}
		sh(t, b, "echo three > f")
		restore(AtSnapshot)
		if got := sh(t, b, "cat f; echo; echo $(ls)"); got != "old\nf\n" {
			t.Errorf("at the snapshot: %q", got)
		}
		if got := kinds(t, b); len(got) > 0 {
			t.Errorf("restored, but %v", got)
		}
		if got := sh(t, a, "cat f one"); got != "one\nx\n" {
			t.Errorf("the original lost its change: %q", got)
		}
	})
}

// TestDeepForks checks that if there are more forks than layers are kept, the oldest are merged,
// with no visible effect.
func TestDeepForks(t *testing.T) {
	t.Parallel()
	t.Run("isolated", func(t *testing.T) {
		t.Parallel()
		deepForks(t, Config{Floor: TierNone, Limits: Limits{Processes: -1}})
	})
	if testing.Short() {
		return
	}
	t.Run("copies", func(t *testing.T) {
		t.Parallel()
		deepForks(t, plain())
	})
}

func deepForks(t *testing.T, cfg Config) {
	dir := t.TempDir()
	for i := range 6 {
		write(t, dir, fmt.Sprintf("d%d/base", i), "b")
	}
	cfg.Snapshot = SnapshotDir(dir)
	sb := open(t, cfg)
	want := map[string]string{}
	for i := range 6 {
		want[fmt.Sprintf("d%d/base", i)] = "b"
	}
	for i := range maxFrozen + 4 {
		d := fmt.Sprintf("d%d", i%6)
		script := fmt.Sprintf("echo %d > f%d; echo %d > common; ", i, i, i)
		want[fmt.Sprintf("f%d", i)], want["common"] = fmt.Sprintln(i), fmt.Sprintln(i)
		switch i % 5 {
		case 1: // deleted and made again, which makes it opaque
			script += fmt.Sprintf("rm -r %s; mkdir %s; echo %d > %s/again", d, d, i, d)
			for k := range want {
				if strings.HasPrefix(k, d+"/") {
					delete(want, k)
				}
			}
			want[d+"/again"] = fmt.Sprintln(i)
		case 2:
			script += fmt.Sprintf("rm -r %s; echo file > %s", d, d)
			for k := range want {
				if strings.HasPrefix(k, d+"/") {
					delete(want, k)
				}
			}
			want[d] = "file\n"
		case 3:
			script += fmt.Sprintf("rm -rf %s; mkdir -p %s/sub; ln -s ../common %s/sub/link", d, d, d)
			for k := range want {
				if k == d || strings.HasPrefix(k, d+"/") {
					delete(want, k)
				}
			}
			want[d+"/sub/link"] = "-> ../common"
		case 4:
			script += fmt.Sprintf("rm -f f%d", i-2)
			delete(want, fmt.Sprintf("f%d", i-2))
		}
		sh(t, sb, script)
		next := fork(t, sb)
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		sb = next
	}
	l, most := sb.(*local), maxFrozen
	if !l.ws.overlay {
		most = 1 // each copy holds the whole state
	}
	if n := len(l.ws.frozen); n > most {
		t.Errorf("%d layers, at most %d are wanted", n, most)
	}
	got := map[string]string{}
	out := sh(t, sb, `find . -type l -o -type f | sort | while read f; do if [ -L "$f" ]; then printf '%s\t-> %s\n' "$f" "$(readlink $f)"; else printf '%s\t%s\n' "$f" "$(cat $f)"; fi; done`)
	for line := range strings.Lines(out) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		got[strings.TrimPrefix(name, "./")] = text
	}
	for k, v := range want {
		want[k] = strings.TrimSuffix(v, "\n")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// The host lists what commands see.
	for path, kind := range kinds(t, sb) {
		_, is := want[path]
		if fi, err := os.Lstat(filepath.Join(dir, path)); is && kind == Deleted || err == nil && fi.Mode().IsRegular() && kind == Added {
			t.Errorf("%s is listed as %s", path, kind)
		}
	}
}

// plainBox is a sandbox with no ability beyond Sandbox; seenBox is a wrapper that lets others look
// through it.
type (
	plainBox struct{ Sandbox }
	seenBox  struct{ plainBox }
	badBox   struct{ Sandbox }
)

func (s seenBox) Unwrap() Sandbox { return s.Sandbox }
func (badBox) Unwrap() Sandbox    { return nil }

// The abilities of a sandbox are found in one place, also through a wrapper that says what it
// wraps.
//
// Evidence: sandbox · Abilities of a sandbox are found without type assertions, also in wrappers
func TestAbilities(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("original\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	box, err := Local(t.Context(), Config{Snapshot: SnapshotDir(dir), Floor: TierNone})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	count := func(b Sandbox) (n int) {
		v := reflect.ValueOf(AbilitiesOf(b))
		for i := range v.NumField() {
			if !v.Field(i).IsNil() {
				n++
			}
		}
		return n
	}
	all := reflect.TypeFor[Abilities]().NumField()
	for name, tt := range map[string]struct {
		box  Sandbox
		want int
	}{
		"local": {box, all}, "hidden": {plainBox{box}, 0}, "wrapped": {seenBox{plainBox{box}}, all}, "wrapped twice": {seenBox{plainBox{seenBox{plainBox{box}}}}, all},
		"wraps one that hides": {seenBox{plainBox{plainBox{box}}}, 0}, "wraps nothing": {badBox{box}, 0}, "nil": {nil, 0},
	} {
		if got := count(tt.box); got != tt.want {
			t.Errorf("%s: %d abilities, want %d", name, got, tt.want)
		}
	}
	if _, ok := As[interface{ Fly() }](box); ok {
		t.Error("it flies")
	}
	f, ok := As[Forker](seenBox{plainBox{box}})
	if !ok {
		t.Fatal("no Forker")
	}
	fork, err := f.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Exec(t.Context(), Cmd{Args: []string{"sh", "-c", "echo two > a.txt"}}); err != nil {
		t.Fatal(err)
	}
	adopter, _ := As[Adopter](box)
	if err := adopter.Adopt(context.Background(), seenBox{plainBox{fork}}); err != nil { // a wrapped fork is one
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
	typ := reflect.TypeFor[Abilities]()
	for i := range typ.NumField() {
		got[typ.Field(i).Name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the documentation (-) and in Abilities (+):\n%s", diff)
	}
}
