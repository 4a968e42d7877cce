package train

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

func tinyTrainer(t testing.TB) *Trainer {
	t.Helper()
	tr, err := NewTrainer(shaken(t, gradientShapes["one"], 2), Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	if _, err := tr.Step(texts(tr.model.shape, 1, 9), 1); err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestCheckpointHoldsEverything(t *testing.T) {
	a, path := tinyTrainer(t), filepath.Join(t.TempDir(), "c")
	want := map[string]int{"here": 7}
	if err := a.Save(path, want); err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	b, err := LoadTrainer(path, Config{Workers: 1}, &got)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if a.steps != b.steps || a.model.shape != b.model.shape || !cmp.Equal(a.model.weights, b.model.weights) ||
		!cmp.Equal(a.optim.momentum, b.optim.momentum) || !cmp.Equal(a.optim.square, b.optim.square) {
		t.Error("what was loaded is not what was saved")
	}
	m, err := LoadModel(path)
	if err != nil || !cmp.Equal(m.weights, a.model.weights) {
		t.Errorf("the model alone: %v", err)
	}
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadTrainer(path, Config{}, nil); err == nil || !strings.Contains(err.Error(), "no training run to go on with") {
		t.Errorf("a trainer of a model alone: %v", err)
	}
}

// TestCheckpointSurvivesKills checks that if a process that saves repeatedly is killed at any
// moment, the checkpoint file is always complete.
//
// Evidence: training · Training resumes to the bit, also after a kill
func TestCheckpointSurvivesKills(t *testing.T) {
	if path := os.Getenv("TRAIN_TEST_SAVE"); path != "" {
		tr := tinyTrainer(t)
		for i := 0; ; i++ {
			tr.model.weights[0], tr.optim.square[0] = float32(i), float32(i)
			if err := tr.Save(path, i); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				fmt.Println("saved")
			}
		}
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	for i := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCheckpointSurvivesKills$")
		cmd.Env = append(os.Environ(), "TRAIN_TEST_SAVE="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "saved\n" {
			t.Fatalf("the child said %q, %v", line, err)
		}
		time.Sleep(time.Duration(i*370) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		count := -1
		tr, err := LoadTrainer(path, Config{Workers: 1}, &count)
		if err != nil {
			t.Fatal(err)
		}
		if v := float32(count); tr.model.weights[0] != v || tr.optim.square[0] != v {
			t.Errorf("parts of several checkpoints: %v, %v and %v", count, tr.model.weights[0], tr.optim.square[0])
		}
		tr.Close()
	}
}

// TestCheckpointThatFails checks that a failed write leaves the old file unchanged.
func TestCheckpointThatFails(t *testing.T) {
	a, dir := tinyTrainer(t), t.TempDir()
	path := filepath.Join(dir, "c")
	if err := a.Save(path, 1); err != nil {
		t.Fatal(err)
	}
	if err := a.Save(path, math.NaN()); err == nil {
		t.Error("progress that is no JSON was saved")
	}
	if err := a.Save(filepath.Join(dir, "missing", "c"), 1); err == nil {
		t.Error("saved to a directory that is not there")
	}
	if b, err := LoadTrainer(path, Config{Workers: 1}, nil); err != nil {
		t.Error(err)
	} else {
		b.Close()
	}
}

// FuzzCheckpoint reads arbitrary bytes: the result must be an error or a trainer that can make a
// step.
func FuzzCheckpoint(f *testing.F) {
	tr := tinyTrainer(f)
	path := filepath.Join(f.TempDir(), "c")
	if err := tr.Save(path, 1); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.Replace(whole, []byte(`"Dim":6`), []byte(`"Dim":9`), 1))
	f.Add(bytes.Replace(whole, []byte(`"Layers":1`), []byte(`"Layers":9`), 1))
	f.Add(bytes.Replace(whole, []byte(checkpointArch), []byte("luthier-whatever!!"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		tr, err := readTrainer(file, Config{Workers: 1}, nil)
		if tr != nil {
			defer tr.Close()
		}
		if err != nil {
			return
		}
		shape := tr.model.shape
		if shape.weights() > 1e6 || shape.Context < 3 {
			return
		}
		if _, err := tr.Step([]Sequence{{Tokens: []int32{0, 1, 0}, Weights: []float32{0, 1, 1}}}, 1); err != nil {
			t.Fatal(err)
		}
	})
}
