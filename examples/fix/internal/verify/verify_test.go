package verify

import (
	stdcmp "cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// small copies the module in testdata and loads it.
func small(t testing.TB) (Config, *Package) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/small")); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Scratch: t.TempDir(), Exec: Plain{Env: os.Environ()}}
	p, err := Load(context.Background(), cfg, dir)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, p
}

// change returns a variant in which the parameter old, which must occur once in the function, is
// replaced with the parameter text.
func change(t testing.TB, p *Package, function, old, text string) Variant {
	t.Helper()
	for _, f := range p.Files {
		fns, err := repair.Functions(f.Name, f.Src)
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range fns {
			if fn.Name != function {
				continue
			}
			for i, line := range strings.Split(fn.Text, "\n") {
				if strings.Contains(line, old) {
					return Variant{Function: fn, Line: i + 1, Text: strings.TrimSpace(strings.Replace(line, old, text, 1))}
				}
			}
		}
	}
	t.Fatalf("no %q in %s", old, function)
	return Variant{}
}

// Evidence: training · Thousands of broken versions run in one test binary
func TestRun(t *testing.T) {
	cfg, p := small(t)
	cases := []struct {
		name, function, old, text string
		failed                    []string
		output                    string // a part of the expected output
		how                       string
	}{
		{"killed", "Sum", "total += n", "total -= n", []string{"TestSum"}, "small_test.go:7: Sum(1, 2, 3) = -6", ""},
		{"survived", "Factorial", "n <= 1", "n <= 0", nil, "", ""},
		{"generic", "Index", "return i", "return i + 1", []string{"TestIndex"}, "Index = 2, want 1", ""},
		{"recursive", "Factorial", "Factorial(n-1)", "Factorial(n-2)", []string{"TestFactorial"}, "= 15, want 120", ""},
		{"panics", "(*Stack).Pop", "len(s.items)-1]", "len(s.items)]", []string{"TestStack"}, "small.go:47", "panic"},
		{"generic method of one line", "(*Stack).Push", "append(s.items, item)", "append(s.items, item, item)[:1]", []string{"TestStack"}, "Pop = ", ""},
		{"receiver and parameters without names", "Kind.Name", `"kind"`, `""`, []string{"TestKind"}, "kind", ""},
		{"blank receiver and parameter", "Kind.Same", "b > 0", "b < 0", []string{"TestKind"}, "kind", ""},
		{"no results", "Shout", "ToUpper", "ToLower", []string{"TestShout"}, "Shout = [a]", ""},
		{"hangs", "work", "i++", "i--", []string{"TestSafe"}, "TestSafe", "timeout"},
		{"exits", "work", "i > 5", "i < 5", []string{"TestSafe"}, "", "exit"},
		{"stack overflow", "Factorial", "Factorial(n-1)", "Factorial(n)", []string{"TestFactorial"}, "", "panic or timeout"},
		{"recovers in a closure", "Safe", "return work()", "panic(1)", []string{"TestSafe"}, "safe: 1", ""},
		{"not reached", "unreached", "n + 1", "n - 1", nil, "", ""},
	}
	variants := make([]Variant, len(cases))
	for i, c := range cases {
		variants[i] = change(t, p, c.function, c.old, c.text)
	}
	variants = append(variants,
		change(t, p, "Sum", "total += n", "total += nothing"),
		change(t, p, "Shout", "strings.ToUpper(w)", "w"),
		change(t, p, "Sum", "total += n", "total += ("),
	)
	b, err := Build(context.Background(), cfg, p, variants)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for id := len(cases) + 1; id <= len(variants); id++ {
		if b.Dropped[id] == nil {
			t.Errorf("variant %d: %q is not dropped", id, variants[id-1].Text)
		}
	}
	if !errors.Is(b.Dropped[len(cases)+1], ErrCompile) {
		t.Errorf("variant of an unknown name: %v, want ErrCompile", b.Dropped[len(cases)+1])
	}
	if err := b.Baseline(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if b.Dropped[i+1] != nil {
				t.Fatal(b.Dropped[i+1])
			}
			o, err := b.Run(context.Background(), i+1)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.failed, o.Failed); d != "" {
				t.Errorf("failing tests (-want +got):\n%s\n%s", d, o.Output)
			}
			if !strings.Contains(o.Output, c.output) || strings.Contains(o.Output, prefix) {
				t.Errorf("output:\n%s\nwant %q in it, and none of our names", o.Output, c.output)
			}
			how := map[bool]string{o.Panic: "panic", o.Timeout: "timeout", o.Exit: "exit"}[true]
			if how != c.how && (how == "" || !strings.Contains(c.how, how)) {
				t.Errorf("ended by %q, want %q", how, c.how)
			}
			if o.Flaky {
				t.Error("flaky")
			}
		})
	}
	// The package is unchanged.
	for _, f := range p.Files {
		if src, err := os.ReadFile(filepath.Join(p.Dir, f.Name)); err != nil || string(src) != string(f.Src) {
			t.Errorf("%s was not put back: %v", f.Name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Dir, selectorFile)); err == nil {
		t.Error("the selector's file was left behind")
	}
}

// TestSameSeedSameSlips checks that the slips depend only on the seed. The test results may differ,
// since on a busy machine a variant may run out of time.
func TestSameSeedSameSlips(t *testing.T) {
	_, p := small(t)
	draw := func(seed uint64) (variants []Variant) {
		list, err := Harvest{PerFunction: 2, PerPackage: 12}.candidates(p, rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			variants = append(variants, c.Variant)
		}
		return variants
	}
	if d := cmp.Diff(draw(7), draw(7)); d != "" {
		t.Errorf("the same seed (-first +second):\n%s", d)
	}
	if cmp.Equal(draw(7), draw(8)) {
		t.Error("another seed draws the same")
	}
}

// Evidence: training · Thousands of broken versions run in one test binary
func TestHarvest(t *testing.T) {
	cfg, p := small(t)
	tasks, yield, err := Harvest{PerFunction: 2, PerPackage: 12, Seed: 7}.Run(context.Background(), cfg, p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) < 8 || yield.Killed != len(tasks) || yield.Runs < 2*len(tasks) {
		t.Fatalf("%d tasks, %+v", len(tasks), yield)
	}
	for _, task := range tasks {
		lines := strings.Split(task.Function.Text, "\n")
		broken := lines[task.Line-1]
		lines[task.Line-1] = broken[:len(broken)-len(strings.TrimLeft(broken, " \t"))] + task.Original
		fns, err := repair.Functions(task.File, p.File(task.File).Src)
		if err != nil {
			t.Fatal(err)
		}
		whole := false
		for _, f := range fns {
			whole = whole || f.Start == task.Function.Start && f.Text == strings.Join(lines, "\n")
		}
		if !whole {
			t.Errorf("%s: the right line does not mend the function", task.ID)
		}
		if len(task.Failed) == 0 || len(task.Marks) != len(lines) {
			t.Errorf("%s: failing tests %v, %d marks of %d lines", task.ID, task.Failed, len(task.Marks), len(lines))
		}
		if task.Ended == "" && (task.Buggy < 0 || task.Marks[0] == repair.NotRun) {
			t.Errorf("%s: candidate %d, marks %v", task.ID, task.Buggy, task.Marks)
		}
		if r := task.Report([]string{"F"}); !strings.HasPrefix(r, "FAIL "+task.Failed[0]) || !strings.HasSuffix(r, "\n1 F") {
			t.Errorf("%s: report\n%s", task.ID, r)
		}
	}
}

// TestFailingTestsRunAlone checks that if several tests or subtests fail, the fault is in the lines
// that each of them runs on its own. That must hold even if some of them panic, which loses the
// coverage of a common run.
func TestFailingTestsRunAlone(t *testing.T) {
	cfg, p := small(t)
	variants := []Variant{
		change(t, p, "Scale", "n *= by", "n += by"),
		change(t, p, "Scale", "n *= by", "n /= by - 3"), // panics for one case, which ends the run
		change(t, p, "Scale", "n = 100", "n = 99"),      // fails one case
	}
	b, err := Build(t.Context(), cfg, p, variants)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		alone int
		marks string // for the lines of Scale
	}{{5, "!!..!!..!."}, {1, "!!!!!!..!."}, {1, "**..**!!*."}} {
		o, err := b.Run(t.Context(), i+1)
		if err != nil {
			t.Fatal(err)
		}
		broken := variants[i].Function
		broken.Text = broken.Edited(variants[i].Line, variants[i].Text)
		_, _, shown, err := o.Suspects(p.Names(), b.functions, broken)
		if err != nil {
			t.Fatal(err)
		}
		var marks strings.Builder
		for _, m := range shown.Marks {
			marks.WriteString(stdcmp.Or(m.String(), "."))
		}
		if len(o.Each) != want.alone || marks.String() != want.marks {
			t.Errorf("variant %d: %d tests alone, marks %s, want %d, %s; %v\n%s", i+1, len(o.Each), marks.String(), want.alone, want.marks, o.Failed, o.Output)
		}
	}
}
