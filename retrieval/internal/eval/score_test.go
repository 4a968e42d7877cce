package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/retrieval/internal/eval"
)

func TestScore(t *testing.T) {
	q := eval.Query{Files: []string{"a", "b", "sub/c", "d"}}
	many := strings.Split(strings.Repeat("x ", 30), " ")
	for i := range many {
		many[i] += strings.Repeat("y", i)
	}
	for _, tt := range []struct {
		name   string
		root   string
		ranked []string
		recall [4]float64
		rr     float64
	}{
		{"nothing", "", nil, [4]float64{}, 0},
		{"first", "", []string{"b", "x"}, [4]float64{.25, .25, .25, .25}, 1},
		{"twice counts once", "", []string{"x", "x", "x", "x", "x", "a", "a"}, [4]float64{0, .25, .25, .25}, .5},
		{"all", "", []string{"d", "a", "b", "sub/c"}, [4]float64{.25, 1, 1, 1}, 1},
		{"sixth", "", append(append([]string{}, many[:5]...), "a"), [4]float64{0, 0, .25, .25}, 1. / 6},
		{"beyond", "", append(append([]string{}, many[:20]...), "a"), [4]float64{}, 1. / 21},
		{"others are skipped", "sub", []string{"x", "y", "subway/c", "sub/c"}, [4]float64{.25, .25, .25, .25}, 1},
	} {
		q.Root = tt.root
		got := eval.Score(q, tt.ranked)
		if got.Recall != tt.recall || got.RR != tt.rr {
			t.Errorf("%s: recall %v, rr %v; want %v, %v", tt.name, got.Recall, got.RR, tt.recall, tt.rr)
		}
	}
}

func TestPlace(t *testing.T) {
	q := eval.Query{Hunks: []eval.Hunk{{File: "a", Ranges: []eval.Range{{10, 3, ""}, {50, 0, ""}}}, {File: "b"}}}
	for _, tt := range []struct {
		hit eval.Hit
		ok  bool
	}{
		{eval.Hit{"a", 1, 9}, false},
		{eval.Hit{"a", 1, 10}, true},
		{eval.Hit{"a", 11, 11}, true},
		{eval.Hit{"a", 12, 40}, true},
		{eval.Hit{"a", 13, 49}, false},
		{eval.Hit{"a", 50, 50}, true}, // an insertion after it
		{eval.Hit{"a", 51, 60}, true},
		{eval.Hit{"a", 52, 60}, false},
		{eval.Hit{"b", 1, 100}, false},
	} {
		got, ok := eval.Place(q, []eval.Hit{{"x", 1, 100}, tt.hit})
		want := eval.PlaceResult{}
		if tt.ok {
			want = eval.PlaceResult{Hit: [4]float64{0, 1, 1, 1}, RR: .5}
		}
		if !ok || got != want {
			t.Errorf("%+v: %+v, want %+v", tt.hit, got, want)
		}
	}
	if _, ok := eval.Place(eval.Query{Hunks: []eval.Hunk{{File: "b"}}}, nil); ok {
		t.Error("a query without changed lines has a place")
	}
}

func TestTable(t *testing.T) {
	q := eval.Query{Repo: "r/one", Kind: "issue", Leak: "none", Files: []string{"a"},
		Hunks: []eval.Hunk{{File: "a", Ranges: []eval.Range{{1, 1, ""}}}}}
	right := eval.Score(q, []string{"a"}).WithPlace(q, []eval.Hit{{"a", 1, 1}})
	q.Repo, q.Hunks = "r/two", nil
	wrong := eval.Score(q, []string{"b", "a"}).WithPlace(q, nil)
	got := strings.Split(eval.Table([]eval.Result{right, wrong}), "\n")
	want := []string{
		"                                n  recall@1   @5  @10  @20    MRR   place@1   @5  @10  @20    ms",
		"all                             2     0.50 1.00 1.00 1.00   0.75    1.00 1.00 1.00 1.00    0.0",
		"issue                           2     0.50 1.00 1.00 1.00   0.75    1.00 1.00 1.00 1.00    0.0",
		"leak none                       2     0.50 1.00 1.00 1.00   0.75    1.00 1.00 1.00 1.00    0.0",
		"r/one                           1     1.00 1.00 1.00 1.00   1.00    1.00 1.00 1.00 1.00    0.0",
		"r/two                           1     0.00 1.00 1.00 1.00   0.50       -    -    -    -    0.0",
		"",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("(-want +got):\n" + d)
	}
}

const line = `{"id":"a?1","repo":"a/a","mirror":"a+a","commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"issue","query":"q",` +
	`"date":null,"files":["src/f.go"],"hunks":[{"file":"src/f.go","ranges":[[3,2,"func f()"]]}],"leak":"none","root":"src"}`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one.jsonl", line+"\n\n"+line)
	write("two.jsonl", line)
	got, err := eval.Load(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(got) != 3 {
		t.Fatalf("%d queries, error %v; want 3", len(got), err)
	}
	want := eval.Query{ID: "a?1", Repo: "a/a", Mirror: "a+a", Commit: strings.Repeat("a", 40), Kind: "issue", Text: "q",
		Files: []string{"src/f.go"}, Leak: "none", Root: "src",
		Hunks: []eval.Hunk{{File: "src/f.go", Ranges: []eval.Range{{3, 2, "func f()"}}}}}
	if d := cmp.Diff(want, got[2]); d != "" {
		t.Error("(-want +got):\n" + d)
	}
	for name, bad := range map[string]string{
		"no object":         `[]`,
		"cut off":           line[:50],
		"no files":          strings.Replace(line, `["src/f.go"]`, `[]`, 1),
		"no query":          strings.Replace(line, `"query":"q"`, `"query":" "`, 1),
		"outside the root":  strings.Replace(line, `"root":"src"`, `"root":"lib"`, 1),
		"not a hash":        strings.Replace(line, `"commit":"a`, `"commit":"-`, 1),
		"leaves the folder": strings.Replace(line, `"a+a"`, `"../a"`, 1),
		"a range of words":  strings.Replace(line, `[3,2,`, `["x",2,`, 1),
	} {
		write("one.jsonl", bad)
		if _, err := eval.Load(filepath.Join(dir, "one.jsonl")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := eval.Load(filepath.Join(dir, "none*")); err == nil {
		t.Error("no error without a file")
	}
}
