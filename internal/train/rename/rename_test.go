package rename

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"readFileHTTP_2":           "read File HTTP",
		"(*HTTPServer).ListenTLS":  "HTTP Server Listen TLS",
		"x1 := strconv.ParseInt(y": "x [strconv] [ParseInt] y",
		"if len(walker) == 0x1f {": "[if] [len] walker",
		"s.time.Now + time.Now":    "s time Now [time] [Now]",
		"größeÜber":                "größe Über",
		"TestWalk":                 "Test Walk",
	} {
		var got []string
		pieces(text, func(piece string, kept bool) {
			if kept {
				piece = "[" + piece + "]"
			}
			got = append(got, piece)
		})
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// words has the frequent word "err" and enough others of every length.
func words() *Words {
	w := new(Words)
	for i := range 400 {
		c := string(rune('a'+i%20)) + string(rune('a'+i/20))
		for range rare {
			w.Observe("err " + c + " " + strings.Repeat(c, 2) + " " + strings.Repeat(c, 3))
		}
	}
	w.Seal()
	return w
}

func TestRenamingIsConsistent(t *testing.T) {
	w := words()
	prompt := "FAIL TestWalker\n1 (*Walker).walkAll\nfunc 1 walker.go\n1*\tfunc (w *Walker) walkAll(err error) {\n2!\tw.ROOT = strings.Walk(err, rooted)\n"
	answer := "w.ROOT = strings.Walk(err, root)"
	for seed := range uint64(50) {
		r := w.Draw(rand.New(rand.NewPCG(seed, 1)), 1, prompt, answer)
		p, a := r.Apply(prompt), r.Apply(answer)
		walker, root, rooted := r["walker"], r["root"], r["rooted"]
		if walker == "" || root == "" || rooted == "" || root == rooted {
			t.Fatalf("seed %d: %v", seed, r)
		}
		title := strings.ToUpper(walker[:1]) + walker[1:]
		wantP := fmt.Sprintf("FAIL Test%[1]s\n1 (*%[1]s).%[2]sAll\nfunc 1 %[3]s.go\n1*\tfunc (w *%[1]s) %[2]sAll(err error) {\n2!\tw.%[4]s = strings.Walk(err, %[5]s)\n",
			title, r["walk"], walker, strings.ToUpper(root), rooted)
		if diff := cmp.Diff(wantP, p); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(fmt.Sprintf("w.%s = strings.Walk(err, %s)", strings.ToUpper(root), root), a); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Different names stay different: what a renaming makes equal could not be told apart any more.
func TestRenamingIsOneToOne(t *testing.T) {
	w := words()
	var names []string
	for i := range 300 {
		names = append(names, "q"+string(rune('a'+i%20))+string(rune('a'+i/20)))
	}
	text := strings.Join(names, " ")
	seen := map[string]bool{}
	for _, word := range strings.Fields(w.Draw(rand.New(rand.NewPCG(1, 1)), 0.7, text).Apply(text)) {
		if seen[word] {
			t.Fatalf("%s stands for two words", word)
		}
		seen[word] = true
	}
}

func TestNothingDrawnNothingChanged(t *testing.T) {
	w := words()
	const text = "func (x *Reader) Read(p []byte) (int, error) // größe \xff"
	if got := w.Draw(rand.New(rand.NewPCG(1, 1)), 0, text).Apply(text); got != text {
		t.Errorf("%q", got)
	}
}

func FuzzApply(f *testing.F) {
	w := words()
	f.Add("func (w *Walker) walkAll(err error) { return strings.Index(w.root, \"a\") }", uint64(1))
	f.Add("\xff_Äb.C0x1 a.b.c time.Now", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		r := w.Draw(rand.New(rand.NewPCG(seed, 1)), 0.8, text)
		got := r.Apply(text)
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, got)
		}
		back := Renaming{}
		for from, to := range r {
			back[to] = from
		}
		if len(back) != len(r) {
			t.Errorf("%v is not one to one", r)
		}
	})
}
