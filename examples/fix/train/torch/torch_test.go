// Package torch compares train.py with the Go trainer: the same weights and data must have the same
// loss, and the same steps must lead to the same weights.
package torch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
)

// interpreter returns a Python interpreter that has torch, or "".
var interpreter = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import torch, numpy").Run() == nil {
			return name
		}
	}
	return ""
})

func python(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("importing torch takes seconds")
	}
	if interpreter() == "" {
		t.Skip("no Python with torch and numpy here")
	}
	return interpreter()
}

// run runs Python and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(python(t), args...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

const vocab = 97

// data writes a file of sequences to learn: each token is either determined by the two tokens
// before it, or noise without weight.
func data(t *testing.T, path string) []train.Sequence {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	w, err := dataset.Create(path, vocab)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	var seqs []train.Sequence
	for range 24 {
		var e dataset.Example
		var s train.Sequence
		a, b := rng.IntN(9), rng.IntN(9)
		for i := range 20 + rng.IntN(60) {
			a, b = b, (a+2*b)%9
			token, weight := a+b, uint8(100)
			if i%5 == 0 {
				token, weight = rng.IntN(vocab), 0
			} else if i%7 == 0 {
				weight = 20
			}
			e.Tokens, e.Weights = append(e.Tokens, uint16(token)), append(e.Weights, weight)
			s.Tokens, s.Weights = append(s.Tokens, int32(token)), append(s.Weights, float32(weight)/100)
		}
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, s)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return seqs
}

// trainer returns a trainer of a small model in one goroutine and one pass, so that its sums equal
// those of train.py.
func trainer(t *testing.T, m *train.Model) *train.Trainer {
	t.Helper()
	tr, err := train.NewTrainer(m, train.Config{Workers: 1, MicroTokens: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr
}

func loss(t *testing.T, tr *train.Trainer, seqs []train.Sequence) (loss, accuracy float64) {
	t.Helper()
	s, err := tr.Evaluate(seqs)
	if err != nil {
		t.Fatal(err)
	}
	return s.Loss, s.Accuracy()
}

var printed = regexp.MustCompile(`loss ([0-9.]+) accuracy ([0-9.]+)\n$`)

// told returns the loss and accuracy at the end of train.py's output.
func told(t *testing.T, out string) (loss, accuracy float64) {
	t.Helper()
	m := printed.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no loss in what train.py prints:\n%s", out)
	}
	loss, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy, err = strconv.ParseFloat(m[2], 64); err != nil {
		t.Fatal(err)
	}
	return loss, accuracy
}

func near(t *testing.T, what string, goes, torch, within float64) {
	t.Helper()
	t.Logf("%s: Go %.6f, torch %.6f", what, goes, torch)
	if !(math.Abs(goes-torch) <= within) {
		t.Errorf("%s: Go has %v, torch %v", what, goes, torch)
	}
}

func shapes() map[string]train.Shape {
	moe := train.Micro(vocab)
	dense := moe
	dense.Experts, dense.Active = 0, 0
	return map[string]train.Shape{"moe": moe, "dense": dense}
}

// TestSteps makes the same steps in Go and in torch and compares the loss before and after them.
func TestSteps(t *testing.T) {
	python(t)
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			set, start, end := filepath.Join(dir, "a.set"), filepath.Join(dir, "start.ckpt"), filepath.Join(dir, "end.ckpt")
			seqs := data(t, set)
			m, err := train.New(shape, 7)
			if err != nil {
				t.Fatal(err)
			}
			tr := trainer(t, m)
			step := func(n int) {
				for range n {
					if _, err := tr.Step(seqs, 1); err != nil {
						t.Fatal(err)
					}
				}
			}
			step(5) // so that no weights are zero, as some are in a new model
			if err := m.Save(start); err != nil {
				t.Fatal(err)
			}
			goes, hits := loss(t, tr, seqs)
			torch, torchHits := told(t, run(t, "train.py", "--data", set, "--init", start, "--loss"))
			near(t, "loss", goes, torch, 1e-4)
			near(t, "accuracy", hits, torchHits, 1e-3)

			m, err = train.LoadModel(start) // the optimiser starts without momentum, like that of train.py
			if err != nil {
				t.Fatal(err)
			}
			tr = trainer(t, m)
			step(3)
			goes, _ = loss(t, tr, seqs)
			run(t, "-c", fmt.Sprintf(`
import sys; sys.path.insert(0, ".")
import train, numpy as np
shape, flat = train.load_checkpoint(%q)
net = train.Net(shape, flat, "cpu")
_, batch = train.load_set(%q)
opt = train.Optimiser(net, 0.002)
for _ in range(3):
    for p in net.w.values():
        p.grad = None
    entropy, balance, *_ = net.loss(*train.padded(batch, "cpu"))
    (entropy / sum(float(w[1:].sum()) for _, w in batch) + 0.01 * balance).backward()
    opt.step(1)
train.save_checkpoint(%q, shape, net.flat())
`, start, set, end))
			if m, err = train.LoadModel(end); err != nil {
				t.Fatal(err)
			}
			torch, _ = loss(t, trainer(t, m), seqs)
			near(t, "loss after three steps", goes, torch, 1e-3)
		})
	}
}

// TestTrain trains a new model with train.py for some seconds and reads its checkpoint in Go.
func TestTrain(t *testing.T) {
	dir := t.TempDir()
	set, out := filepath.Join(dir, "a.set"), filepath.Join(dir, "model.ckpt")
	seqs := data(t, set)
	torch, hits := told(t, run(t, "train.py", "--data", set+":2,"+set, "--valid", set, "--out", out, "--tokens", "60000", "--batch", "600", "--rate", "0.004",
		"--shape", `{"Vocab": 97, "Dim": 32, "Layers": 2, "Heads": 2, "KVHeads": 1, "HeadDim": 16, "Experts": 4, "FF": 32, "Context": 128}`))
	m, err := train.LoadModel(out)
	if err != nil {
		t.Fatal(err)
	}
	goes, goHits := loss(t, trainer(t, m), seqs)
	near(t, "loss", goes, torch, 1e-4)
	near(t, "accuracy", goHits, hits, 1e-3)
	if hits < 0.5 {
		t.Errorf("after training the accuracy is %v", hits)
	}
}
