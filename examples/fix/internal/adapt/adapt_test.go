package adapt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/adapt"
	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// module is a module whose functions follow a made-up coding habit that the original training
// cannot have covered.
const module = "example.com/style"

// habits writes the module.
func habits(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	var b strings.Builder
	b.WriteString("package style\n\ntype key int\n\nconst (\n")
	words := strings.Fields("Bold Italic Underline Strike Blink Faint Reverse Margin Padding Border Width Height Align Inline Color Shade Tab Wrap Indent Gap Frame Title Footer Header Cursor Scroll Zoom Tint Glow Halo")
	for i, w := range words {
		fmt.Fprintf(&b, "\tprop%s key = %d\n", w, i)
	}
	b.WriteString(")\n\ntype Style struct {\n\tset map[key]int\n}\n\nfunc (s Style) fetch(k key, or int) int {\n\tif v, ok := s.set[k]; ok {\n\t\treturn v\n\t}\n\treturn or\n}\n")
	for _, w := range words {
		fmt.Fprintf(&b, "\nfunc (s Style) Get%s() int {\n\treturn s.fetch(prop%[1]s, -1)\n}\n", w)
	}
	if err := os.WriteFile(filepath.Join(root, "style.go"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// shipped returns the file of the model that the tests adapt.
func shipped(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../../router/moe/embedded/luthier-fix.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// left reports whether a function is left out of the training, so that the test can ask about it.
func left(_, name string) bool { return strings.ContainsAny(name, "BWH") }

// exam makes faults in the functions that are left out of the training.
func exam(t *testing.T, root string, data []byte) []train.Sequence {
	t.Helper()
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	s := corpus.Source{Module: corpus.Module{Path: module}, Dir: root}
	w := corpus.Writer{Sources: []corpus.Source{s}, Tokenizer: tok, Seed: 99, Count: 60, Shares: corpus.Proving()}
	w.Shares.Code = 0
	for f := range corpus.Scan(s) {
		if left(f.File, f.Name) {
			w.Functions = append(w.Functions, f)
		}
	}
	examples, err := w.Examples(t.Context())
	if err != nil || len(examples) < 20 {
		t.Fatalf("%d examples of %d functions: %v", len(examples), len(w.Functions), err)
	}
	var out []train.Sequence
	for i := range examples {
		var q train.Sequence
		train.Examples(examples).Read(i, &q)
		out = append(out, q)
	}
	return out
}

func loss(t *testing.T, data []byte, of []train.Sequence) float64 {
	t.Helper()
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := train.ReadModel(f)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := train.NewTrainer(m, train.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	s, err := tr.Evaluate(of)
	if err != nil {
		t.Fatal(err)
	}
	return s.Loss
}

// TestLearn checks that a model that was adapted to a module is better at the module's functions
// that it has not seen, and that its file has the same metadata as the original file.
//
// Evidence: repair · The model learns the module's own code after three failed edits
func TestLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model of eight million weights")
	}
	base, root := shipped(t), habits(t)
	kept, last := bytes.Clone(base), 0.0
	learnt, err := adapt.Learn(t.Context(), adapt.Config{
		Model: base, Module: module, Root: root, Without: left, Tokens: 25_000, Seed: 1,
		Progress: func(done float64) {
			if done < last || done > 1 {
				t.Errorf("%v done after %v", done, last)
			}
			last = done
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if learnt.Tokens < 25_000 || learnt.Functions < 20 || learnt.Functions > 25 || learnt.Examples < 50 || learnt.Took <= 0 || last != 1 || !bytes.Equal(base, kept) {
		t.Errorf("%d tokens of %d examples of %d functions in %v; %v done", learnt.Tokens, learnt.Examples, learnt.Functions, learnt.Took, last)
	}
	questions := exam(t, root, base)
	before, after := loss(t, base, questions), loss(t, learnt.Model, questions)
	t.Logf("%d functions, %d examples, %v: loss %.3f, before %.3f", learnt.Functions, learnt.Examples, learnt.Took.Round(time.Millisecond), after, before)
	if after > 0.9*before {
		t.Errorf("the loss of a repair is %.4f, before %.4f", after, before)
	}
	was, err := gguf.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	is, err := gguf.Parse(learnt.Model)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range was.Keys() {
		_, _, n, ok := is.Kind(key)
		if _, _, want, _ := was.Kind(key); !ok || n != want {
			t.Errorf("key %s: %v, %d elements, want %d", key, ok, n, want)
		}
	}
	for _, w := range was.Tensors() {
		if g, ok := is.Tensor(w.Name); !ok || g.Type != w.Type || len(g.Data) != len(w.Data) {
			t.Errorf("tensor %s is %v %v, want %v %v", w.Name, g.Type, g.Dims, w.Type, w.Dims)
		}
	}
}

// TestLearnEnds checks that Learn ends at its time limit, when its context ends, and when there is
// nothing to learn from.
//
// Evidence: repair · The model learns the module's own code after three failed edits
func TestLearnEnds(t *testing.T) {
	base, root := shipped(t), habits(t)
	small := t.TempDir()
	if err := os.WriteFile(filepath.Join(small, "a.go"), []byte("package a\n\nfunc A() int {\n\treturn 1\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		cfg  adapt.Config
		want error
	}{
		{"one function", t.Context(), adapt.Config{Model: base, Module: "example.com/a", Root: small}, adapt.ErrTooLittle},
		{"no directory", t.Context(), adapt.Config{Model: base, Module: "example.com/a", Root: filepath.Join(small, "none")}, adapt.ErrTooLittle},
		{"all left out", t.Context(), adapt.Config{Model: base, Module: module, Root: root, Without: func(string, string) bool { return true }}, adapt.ErrTooLittle},
		{"given up", ended, adapt.Config{Model: base, Module: module, Root: root}, context.Canceled},
	} {
		if l, err := adapt.Learn(tt.ctx, tt.cfg); !errors.Is(err, tt.want) || l != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	for _, data := range [][]byte{nil, []byte("GGUF"), base[:len(base)/2]} {
		if _, err := adapt.Learn(t.Context(), adapt.Config{Model: data, Module: module, Root: root}); err == nil {
			t.Errorf("a file of %d bytes is learnt with", len(data))
		}
	}
	if testing.Short() {
		return
	}
	cfg := adapt.Config{Model: base, Module: module, Root: root, Tokens: 200_000, Limit: time.Millisecond, Workers: 1}
	if _, err := adapt.Learn(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "before anything was learnt") {
		t.Errorf("no time: %v", err)
	}
	for cfg.Limit = time.Second; ; cfg.Limit *= 2 { // on a slow machine, a second may not be enough to make examples
		l, err := adapt.Learn(t.Context(), cfg)
		if err != nil && cfg.Limit < time.Minute {
			continue
		}
		if err != nil || l.Tokens == 0 || l.Took > 2*cfg.Limit+10*time.Second {
			t.Errorf("with %v: %v", cfg.Limit, err)
		}
		return
	}
}
