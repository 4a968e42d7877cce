package corpus

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tinyCorpus writes three modules: two to train on, one held out.
func tinyCorpus(t testing.TB) []Source {
	t.Helper()
	var sources []Source
	for name, files := range map[string]map[string]string{
		"held": {"h.go": "package h\n\n" + long("Kept", 60) + clamp},
		"one":  {"o.go": "package o\n\n" + clamp + search, "near.go": "package o\n\n// Copied.\n" + strings.Replace(long("Mine", 60), "n += 3", "n += 33", 1)},
		"two":  {"t.go": "package t\n\n" + search + split, "sub/s.go": "package s\n\n" + reader},
	} {
		dir := filepath.Join(t.TempDir(), name)
		for file, text := range files {
			write(t, dir, file, text)
		}
		s := Source{Module: Module{Path: "a.org/" + name, Split: Train}, Dir: dir}
		if name == "held" {
			s.Split = HeldOut
		}
		sources = append(sources, s)
	}
	sortSources(sources)
	return sources
}

const (
	clamp = "func clamp(x, low, high int) int {\n\tif x < low {\n\t\treturn low\n\t}\n\tif x > high {\n\t\treturn high\n\t}\n\treturn x\n}\n"

	search = "func search(a []int, x int) int {\n\ti, j := 0, len(a)\n\tfor i < j {\n\t\th := i + (j-i)/2\n\t\tif a[h] < x {\n" +
		"\t\t\ti = h + 1\n\t\t} else {\n\t\t\tj = h\n\t\t}\n\t}\n\treturn i\n}\n"

	split = "func split(s string, sep byte) (head, tail string, ok bool) {\n\tfor i := 0; i < len(s); i++ {\n\t\tif s[i] == sep {\n" +
		"\t\t\treturn s[:i], s[i+1:], true\n\t\t}\n\t}\n\treturn s, \"\", false\n}\n"

	reader = "import (\n\t\"bufio\"\n\t\"errors\"\n\n\t\"no.such/module\"\n)\n\ntype Reader struct {\n\tr *bufio.Reader\n\tn int\n\tx module.X\n}\n\n" +
		"var errLong = errors.New(\"too long\")\n\nfunc (r *Reader) ReadLine(limit int) (string, error) {\n\tline, err := r.r.ReadString('\\n')\n" +
		"\tif err != nil && line == \"\" {\n\t\treturn \"\", err\n\t}\n\tr.n++\n\tif len(line) > limit {\n\t\treturn \"\", errLong\n\t}\n\treturn line, nil\n}\n"
)

func sortSources(s []Source) {
	for i := range s {
		for j := i; j > 0 && s[j].Path < s[j-1].Path; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// Evidence: training · Modules that are held out stay out of training
func TestBuild(t *testing.T) {
	sources := tinyCorpus(t)
	x, err := Build(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	names := func(fs []Function) (out []string) {
		for _, f := range fs {
			out = append(out, f.Module+"/"+f.File+" "+f.Name)
		}
		return out
	}
	// clamp and Mine repeat held-out functions, and the second search repeats the first.
	want := []string{"a.org/one/o.go search", "a.org/two/sub/s.go (*Reader).ReadLine", "a.org/two/t.go split"}
	if diff := cmp.Diff(want, names(x.Train)); diff != "" {
		t.Errorf("to train on (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a.org/held/h.go Kept", "a.org/held/h.go clamp"}, names(x.HeldOut)); diff != "" {
		t.Errorf("held out (-want +got):\n%s", diff)
	}
	if x.Near != 2 || x.Twice != 1 {
		t.Errorf("left out %d near and %d twice, want 2 and 1", x.Near, x.Twice)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, err := Build(t.Context(), sources)
	if diff := cmp.Diff(x, again); diff != "" || err != nil {
		t.Errorf("on one processor it is not the same: %v\n%s", err, diff)
	}
	if _, err := Build(t.Context(), append(sources, Source{Module: Module{Path: "empty"}, Dir: t.TempDir()})); err == nil {
		t.Error("no error for a module without functions")
	}
}

func TestWriteFunctions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.jsonl")
	want := []Function{{"m", "a.go", "(*T).é<", 3, 4}, {"m", "b/c.go", "g", 1, 3}}
	if err := WriteFunctions(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFunctions(path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	write(t, filepath.Dir(path), "f.jsonl", "{\"module\":\"m\"}\n{\"mod")
	if _, err := ReadFunctions(path); err == nil || !strings.Contains(err.Error(), "entry 1") {
		t.Errorf("got error %v for a file cut short, want one that says where", err)
	}
}
