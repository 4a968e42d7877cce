package train

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// A checkpoint is a GGUF file of the architecture below: the shape as JSON and the weights as one
// array. A trainer's checkpoint also has the optimiser's two arrays, the number of steps, and the
// caller's progress. The file gets its name only when it is complete.
const (
	checkpointArch = "luthier-checkpoint"
	keyShape       = "luthier.shape"
	keySteps       = "luthier.steps"
	keyProgress    = "luthier.progress"

	arrayWeights  = "weights"
	arrayMomentum = "momentum"
	arraySquare   = "square"
)

// Save writes the weights to a file.
func (m *Model) Save(path string) error {
	w, err := m.writer()
	if err == nil {
		err = w.Create(path)
	}
	if err != nil {
		return fmt.Errorf("train: save model: %w", err)
	}
	return nil
}

func (m *Model) writer() (*gguf.Writer, error) {
	shape, err := json.Marshal(m.shape)
	if err != nil {
		return nil, err
	}
	w := &gguf.Writer{}
	w.SetString("general.architecture", checkpointArch)
	w.SetString(keyShape, string(shape))
	addArray(w, arrayWeights, m.weights)
	return w, nil
}

func addArray(w *gguf.Writer, name string, x []float32) {
	w.AddTensorFunc(name, gguf.TypeF32, []int{len(x)}, func(out io.Writer) error { return writeFloats(out, x) })
}

// writeFloats writes x in GGUF's byte order.
func writeFloats(out io.Writer, x []float32) error {
	var buf [1 << 14]byte
	for len(x) > 0 {
		n := min(len(x), len(buf)/4)
		for i, v := range x[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(v))
		}
		if _, err := out.Write(buf[:4*n]); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// LoadModel reads the weights of a checkpoint from Model.Save or Trainer.Save, or of a file that
// [Model.Export] filled.
func LoadModel(path string) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("train: load model: %w", err)
	}
	m, err := readModel(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("train: load model: %s: %w", path, err)
	}
	return m, nil
}

// ReadModel is like LoadModel for an open file.
func ReadModel(f *gguf.File) (*Model, error) {
	m, err := readModel(f)
	if err != nil {
		return nil, fmt.Errorf("train: read model: %w", err)
	}
	return m, nil
}

func readModel(f *gguf.File) (*Model, error) {
	switch arch, _ := f.String("general.architecture"); arch {
	case checkpointArch:
	case Shape{}.Arch(), Shape{Experts: 1}.Arch():
		return importModel(f, arch)
	default:
		return nil, fmt.Errorf("it is neither a checkpoint of a training run nor an exported model: its architecture is %q", arch)
	}
	text, _ := f.String(keyShape)
	var shape Shape
	if err := json.Unmarshal([]byte(text), &shape); err != nil {
		return nil, fmt.Errorf("key %s: %w", keyShape, err)
	}
	if err := shape.Validate(); err != nil {
		return nil, fmt.Errorf("key %s: %w", keyShape, err)
	}
	// Allocate the model only if the file has all of its weights, whose number is limited by the
	// size of the file.
	if t, ok := f.Tensor(arrayWeights); !ok || float64(t.Rows()*t.Dims[0]) < shape.weights() {
		return nil, fmt.Errorf("it has no array %s of %.0f numbers and more", arrayWeights, shape.weights())
	}
	m, err := newModel(shape)
	if err != nil {
		return nil, err
	}
	return m, readArray(f, arrayWeights, m.weights)
}

func readArray(f *gguf.File, name string, dst []float32) error {
	t, ok := f.Tensor(name)
	if !ok || t.Type != gguf.TypeF32 || len(t.Data) != 4*len(dst) {
		return fmt.Errorf("it has no array %s of %d numbers", name, len(dst))
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	if !tensor.Finite(dst) {
		return fmt.Errorf("array %s holds infinities or non-numbers", name)
	}
	return nil
}

// Save writes everything that a run needs to continue exactly: weights, optimiser, steps, and the
// caller's progress as JSON.
func (t *Trainer) Save(path string, progress any) error {
	text, err := json.Marshal(progress)
	if err != nil {
		return fmt.Errorf("train: save checkpoint: %w", err)
	}
	w, err := t.model.writer()
	if err != nil {
		return fmt.Errorf("train: save checkpoint: %w", err)
	}
	w.Set(keySteps, uint64(t.steps))
	w.SetString(keyProgress, string(text))
	addArray(w, arrayMomentum, t.optim.momentum)
	addArray(w, arraySquare, t.optim.square)
	if err := w.Create(path); err != nil {
		return fmt.Errorf("train: save checkpoint: %w", err)
	}
	return nil
}

// LoadTrainer reads what Trainer.Save wrote and decodes the progress into the value that progress
// points to.
func LoadTrainer(path string, cfg Config, progress any) (*Trainer, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("train: load checkpoint: %w", err)
	}
	t, err := readTrainer(f, cfg, progress)
	if err = errors.Join(err, f.Close()); err != nil {
		if t != nil {
			t.Close()
		}
		return nil, fmt.Errorf("train: load checkpoint: %s: %w", path, err)
	}
	return t, nil
}

func readTrainer(f *gguf.File, cfg Config, progress any) (*Trainer, error) {
	m, err := readModel(f)
	if err != nil {
		return nil, err
	}
	steps, ok := f.Uint(keySteps)
	text, also := f.String(keyProgress)
	if !ok || !also || steps > math.MaxInt32 {
		return nil, errors.New("it holds a model, but no training run to go on with")
	}
	if progress != nil {
		if err := json.Unmarshal([]byte(text), progress); err != nil {
			return nil, fmt.Errorf("key %s: %w", keyProgress, err)
		}
	}
	t, err := NewTrainer(m, cfg)
	if err != nil {
		return nil, err
	}
	t.steps = int(steps)
	err = errors.Join(readArray(f, arrayMomentum, t.optim.momentum), readArray(f, arraySquare, t.optim.square))
	return t, err
}
