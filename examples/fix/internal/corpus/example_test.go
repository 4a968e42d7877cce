package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// vocabulary returns a small vocabulary, trained on the functions of this test.
var vocabulary = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	v, err := bpe.Train(slices.Values([]string{clamp, search, split, reader, long("f", 20)}), 400, []string{
		"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>", "*\t",
	})
	if err != nil {
		return nil, err
	}
	return v.Tokenizer()
})

func tinyWriter(t testing.TB) *Writer {
	t.Helper()
	sources := tinyCorpus(t)
	x, err := Build(t.Context(), sources)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	return &Writer{Sources: sources, Functions: x.Train, Tokenizer: tok, Seed: 5, Count: 300, Shares: Learning()}
}

func subjects(t testing.TB, w *Writer) []*subject {
	t.Helper()
	im := newImporter(w.Sources)
	var out []*subject
	for _, f := range w.Functions {
		for _, s := range w.Sources {
			if s.Path == f.Module {
				p := loadPackage(im, filepath.Join(s.Dir, f.Dir()), []string{filepath.Base(f.File)})
				out = append(out, p.subject(f, nil))
			}
		}
	}
	return out
}

var (
	editAnswer = regexp.MustCompile(`(?s)^<tool_call>\n<function=edit_line>\n<parameter=line>\n(\d+)\n</parameter>\n<parameter=text>\n(.*)\n</parameter>\n</function>\n</tool_call><\|im_end\|>$`)
	marked     = regexp.MustCompile(`(?m)^\d+[*!]\t`)
	readAnswer = regexp.MustCompile(`<parameter=number>\n(\d+)\n`)
)

// TestBroken checks that the answers of an example turn the function in its prompt back into the
// original function.
func TestBroken(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	reports, many := 0, 0
	for _, s := range subjects(t, tinyWriter(t)) {
		for i := range 300 {
			out, ok := s.broken(rng, 1+i%3, 0.4)
			if !ok {
				t.Fatalf("%s has no mutants", s.fn.Name)
			}
			if !strings.Contains(out.prompt, out.shown) {
				t.Fatal("the function is not in the prompt")
			}
			shown, _, _ := strings.Cut(out.shown, "\nnames ")
			head, rest, _ := strings.Cut(shown, "\n")
			lines := strings.Split(rest, "\n")
			for _, a := range out.answers {
				m := editAnswer.FindStringSubmatch(a)
				if m == nil {
					t.Fatalf("not an edit: %q", a)
				}
				n, _ := strconv.Atoi(m[1])
				prefix, old, _ := strings.Cut(lines[n-1], "\t")
				if old == m[2] {
					t.Errorf("line %d is right already: %q", n, old)
				}
				// After a panic the coverage may be lost, so that all lines, or all except the one
				// that panicked, are without marks.
				if !strings.HasSuffix(prefix, "*") && !strings.HasSuffix(prefix, "!") && marked.MatchString(out.shown) && !strings.Contains(out.prompt, "panic: ") {
					t.Errorf("the broken line %d was not run:\n%s", n, out.shown)
				}
				lines[n-1] = prefix + "\t" + m[2]
			}
			bare := regexp.MustCompile(`(?m)^(\d+)[*!]?\t`).ReplaceAllString(head+"\n"+strings.Join(lines, "\n"), "$1\t")
			number, _ := strconv.Atoi(strings.Fields(head)[1])
			if diff := cmp.Diff(repair.Read(number, s.fn, nil), bare); diff != "" {
				t.Fatalf("%s: mended it differs (-want +got):\n%s", s.fn.Name, diff)
			}
			if strings.Contains(out.prompt, "\nfunc ") && strings.Contains(out.prompt, "FAIL ") {
				reports++
				if name := candidate(out.prompt, number); name != s.fn.Name {
					t.Errorf("function %d of the report is %q, shown is %q", number, name, s.fn.Name)
				}
			}
			if len(out.answers) > 1 {
				many++
			}
		}
	}
	if reports < 200 || many < 300 {
		t.Errorf("%d with a report, %d with several lines: the test says little", reports, many)
	}
}

// TestBrokenInParts checks that any line of a long function may be broken, and that the part with
// the broken line is shown.
func TestBrokenInParts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "l.go", "package l\n\n"+long("Long", 150))
	source := Source{Module: Module{Path: "a.org/l"}, Dir: dir}
	var f Function
	for f = range Scan(source) {
	}
	s := loadPackage(newImporter([]Source{source}), dir, []string{"l.go"}).subject(f, func(text string) int { return len(text) })
	rng := rand.New(rand.NewPCG(3, 4))
	least, most := len(s.lines), 0
	for range 100 {
		out, ok := s.broken(rng, 1, 0.4)
		if !ok {
			t.Fatal("no example")
		}
		line := out.hidden[0]
		if !repair.Shows(out.shown, line) || repair.Shows(out.shown, 20) && repair.Shows(out.shown, 140) {
			t.Fatalf("line %d was broken, shown is\n%s", line, out.shown)
		}
		least, most = min(least, line), max(most, line)
	}
	if least > 20 || most < 140 {
		t.Errorf("only lines %d to %d were broken", least, most)
	}
}

// candidate returns the function with the given number in a prompt's report.
func candidate(prompt string, number int) string {
	m := regexp.MustCompile(`(?m)^` + strconv.Itoa(number) + ` (\S+)$`).FindStringSubmatch(prompt)
	if m == nil {
		return ""
	}
	return m[1]
}

// TestClean checks that if the shown function is right, the answer names another function of the
// report.
func TestClean(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range subjects(t, tinyWriter(t)) {
		if len(s.siblings) == 0 {
			continue
		}
		for range 100 {
			out := s.clean(rng)
			number, _ := strconv.Atoi(readAnswer.FindStringSubmatch(out.answers[0])[1])
			name := candidate(out.prompt, number)
			if name == s.fn.Name || !slices.ContainsFunc(s.siblings, func(o repair.Function) bool { return o.Name == name }) {
				t.Fatalf("%s: the answer is %d, %q:\n%s", s.fn.Name, number, name, out.prompt)
			}
			if strings.HasPrefix(out.shown, "func "+strconv.Itoa(number)+" ") {
				t.Fatalf("the answer is the function that is shown:\n%s", out.prompt)
			}
		}
	}
}

// TestEncode checks that the tokens spell prompt and answers, and that the broken lines and the
// report have no weight.
func TestEncode(t *testing.T) {
	w := tinyWriter(t)
	enc := newEncoder(w.Tokenizer, w.Shares.Code)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range subjects(t, w) {
		for range 200 {
			out, ok := s.sample(rng, Learning())
			if !ok {
				continue
			}
			e, err := enc.encode(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out.prompt+strings.Join(out.answers, "\n"+between), spell(w.Tokenizer, e.Tokens)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			plain, err := dataset.Encode(w.Tokenizer, out.prompt, out.answers[0], 0)
			if err != nil || !slices.Equal(plain.Tokens, e.Tokens[:len(plain.Tokens)]) {
				t.Fatalf("the first answer is encoded in another way than elsewhere (%v)", err)
			}
			checkWeights(t, w.Tokenizer, out, e)
		}
	}
}

func checkWeights(t *testing.T, tok *tokenizer.Tokenizer, s sample, e dataset.Example) {
	t.Helper()
	var learnt []byte
	for i, id := range e.Tokens {
		if e.Weights[i] == uint8(Learning().Code) {
			learnt = tok.AppendPiece(learnt, int32(id))
		}
	}
	var want strings.Builder
	for n, l := range strings.SplitAfter(s.shown, "\n") {
		if n > 0 && !slices.Contains(s.hidden, n) {
			_, code, _ := strings.Cut(l, "\t")
			want.WriteString(code)
		}
	}
	// A token may contain the end of one line and the number of the next; such a token is left out.
	if strings.Join(strings.Fields(want.String()), "") != strings.Join(strings.Fields(string(learnt)), "") {
		t.Errorf("learnt by heart:\n%s\nwant:\n%s", learnt, want.String())
	}
}

func spell(tok *tokenizer.Tokenizer, ids []uint16) string {
	var b []byte
	for _, id := range ids {
		n := len(b)
		if b = tok.AppendPiece(b, int32(id)); len(b) == n {
			b = append(b, tok.Piece(int32(id))...)
		}
	}
	return string(b)
}

func TestWriter(t *testing.T) {
	w := tinyWriter(t)
	var told int
	w.Progress = func(done, packages, examples int) { told = examples }
	want, err := w.Examples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != w.Count || told < len(want) {
		t.Fatalf("%d examples, %d told; want %d", len(want), told, w.Count)
	}
	kinds := map[uint8]int{}
	for _, e := range want {
		kinds[e.Kind]++
		if len(e.Tokens) > MaxTokens || len(e.Tokens) != len(e.Weights) {
			t.Fatalf("%d tokens, %d weights", len(e.Tokens), len(e.Weights))
		}
	}
	if kinds[dataset.KindEdit] < 200 || kinds[dataset.KindRead] == 0 || kinds[dataset.KindRun] == 0 || kinds[dataset.KindText] == 0 {
		t.Errorf("kinds %v; want mostly edits, and some of each other", kinds)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got, err := w.Examples(t.Context())
	if !reflect.DeepEqual(want, got) || err != nil { // cmp is too slow for this much data
		t.Errorf("on one processor it is not the same (%v)", err)
	}
	w.Seed++
	if other, err := w.Examples(t.Context()); err != nil || reflect.DeepEqual(want, other) {
		t.Errorf("another seed makes no difference (%v)", err)
	}
	w.Shares, w.Count = Proving(), 20
	single, err := w.Examples(t.Context())
	for _, e := range single {
		if e.Kind != dataset.KindEdit || strings.Count(spell(w.Tokenizer, e.Tokens), "<|im_end|>") != 2 {
			t.Errorf("not one edit: %s", spell(w.Tokenizer, e.Tokens))
		}
	}
	if len(single) != 20 || err != nil {
		t.Errorf("%d examples, %v; want 20", len(single), err)
	}
	w.Sources = w.Sources[:1]
	if _, err := w.Examples(t.Context()); err == nil {
		t.Error("no error for functions of a module that is not there")
	}
}

const covered = `package p

func f(a []int, s string) (n int, err error) {
	n = 1
	if len(a) > 3 {
		n++
	} else if s == "" {
		return 0, nil
	} else {
		n--
	}

	for i := range a {
		if a[i] == 0 {
			continue
		}
		n += a[i]
	}
	switch {
	case n > 2:
		n = 2
	case s == "x",
		s == "y":
		panic(s)
	}
	g := func() int {
		n++
		return n
	}
	defer func() { n = g() }()
	return n, nil
}
`

// TestRegions checks that if every branch runs, the lines that ran are those in the blocks of the
// cover tool.
func TestRegions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(path, []byte(covered), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "cover", "-mode=set", "-var=X", path).Output()
	if err != nil {
		t.Skipf("no cover tool: %v", err)
	}
	want := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*(\d+), (\d+), 0x[0-9a-f]+, // \[\d+\]$`).FindAllStringSubmatch(string(out), -1) {
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(m[2])
		for l := first; l <= last; l++ {
			want[l-2] = true // the function starts in line 3
		}
	}
	if len(want) < 20 {
		t.Fatalf("the cover tool names %d lines:\n%s", len(want), out)
	}
	fn, fset := parseFunc(t, covered)
	ran := make([]bool, 31)
	regions(fset, fn).run(rand.New(rand.NewPCG(1, 1)), 1e9, ran, []int{29})
	for i, r := range ran {
		if r != want[i+1] {
			t.Errorf("line %d: ran is %v, the cover tool has it %v", i+1, r, want[i+1])
		}
	}
}

func parseFunc(t testing.TB, src string) (*ast.FuncDecl, *token.FileSet) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f.Decls[len(f.Decls)-1].(*ast.FuncDecl), fset
}

// TestMarks checks that the lines that must run do run, whichever they are, and that other lines do
// not always run.
func TestMarks(t *testing.T) {
	fn, fset := parseFunc(t, covered)
	r := regions(fset, fn)
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[repair.Mark]int{}
	for i := range 600 {
		line := 1 + i%30
		marks := r.marks(rng, 30, []int{line})
		if marks[line-1] == repair.NotRun {
			t.Fatalf("line %d was not run", line)
		}
		for _, m := range marks {
			seen[m]++
		}
	}
	for _, m := range []repair.Mark{repair.NotRun, repair.Run, repair.Suspect} {
		if seen[m] < 1000 {
			t.Errorf("mark %q on %d of 18000 lines", m, seen[m])
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	w := tinyWriter(b)
	w.Count = 1000
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Examples(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Count)*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
}
