package adapt_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/gguf"
	"github.com/luthier-dev/luthier/internal/tokenizer"
	"github.com/luthier-dev/luthier/internal/train"
	"github.com/luthier-dev/luthier/internal/train/adapt"
	"github.com/luthier-dev/luthier/internal/train/corpus"
)

// root is this module, which the model was not trained on; pkg the package that is learnt.
const (
	module = "github.com/luthier-dev/luthier"
	root   = "../../.."
	pkg    = "internal/tokenizer"
)

// shipped is the file of the model that is learnt with.
func shipped(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(root + "/router/moe/embedded/luthier-fix.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// left is a third of the package's functions, which the tests ask about and Learn does not see.
func left(file, name string) bool {
	sum := 0
	for _, b := range []byte(name) {
		sum += int(b)
	}
	return strings.HasPrefix(file, pkg+"/") && sum%3 == 0
}

// exam is faults of the functions that are left out.
func exam(t *testing.T, data []byte) []train.Sequence {
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
	if err != nil || len(examples) < 40 {
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

// TestLearn: a model that learnt this module is better at functions of it that it has not seen, and its file says what
// the file before said.
func TestLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model of eight million weights")
	}
	base := shipped(t)
	kept, last := bytes.Clone(base), 0.0
	learnt, err := adapt.Learn(t.Context(), adapt.Config{
		Model: base, Module: module, Root: root, Package: pkg, Without: left, Tokens: 100_000, Seed: 1,
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
	if learnt.Tokens < 100_000 || learnt.Functions < 100 || learnt.Examples < 200 || learnt.Took <= 0 || last != 1 || !bytes.Equal(base, kept) {
		t.Errorf("%d tokens of %d examples of %d functions in %v; %v done", learnt.Tokens, learnt.Examples, learnt.Functions, learnt.Took, last)
	}
	questions := exam(t, base)
	before, after := loss(t, base, questions), loss(t, learnt.Model, questions)
	t.Logf("%d functions, %d examples, %v: loss %.3f, before %.3f", learnt.Functions, learnt.Examples, learnt.Took.Round(time.Millisecond), after, before)
	if after > 0.97*before {
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

// TestLearnEnds: at its limit, with its context, and where there is nothing to learn from.
func TestLearnEnds(t *testing.T) {
	base := shipped(t)
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
	l, err := adapt.Learn(t.Context(), adapt.Config{Model: base, Module: module, Root: root, Package: pkg, Tokens: 1 << 40, Limit: time.Second, Workers: 1})
	if err != nil || l.Tokens == 0 || l.Examples == 0 {
		t.Errorf("with a limit: %+v, %v", l, err)
	}
}
