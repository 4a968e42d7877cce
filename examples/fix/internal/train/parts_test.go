package train

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
)

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want []float64 // expected rates at 0, 1/10, 1/4, 1/2, 3/4, 1
	}{
		{Schedule{Warmup: 0.2, Decay: 0.5}, []float64{0, 0.5, 1, 1, 0.5, 0}},
		{Schedule{Kind: "wsd", Warmup: 0.1, Decay: 0.75}, []float64{0, 1, 1, 2. / 3, 1. / 3, 0}},
		{Schedule{Kind: "cosine", Warmup: 0.25}, []float64{0, 0.4, 1, 0.75, 0.25, 0}},
	} {
		var got []float64
		for _, done := range []float64{0, 0.1, 0.25, 0.5, 0.75, 1} {
			got = append(got, c.s.Rate(done))
		}
		if d := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%+v: %s", c.s, d)
		}
		if err := c.s.Check(); err != nil {
			t.Error(err)
		}
	}
	if err := (Schedule{Warmup: 0.6, Decay: 0.6}).Check(); err == nil {
		t.Error("a schedule longer than the run is accepted")
	}
}

// TestOrthogonalise checks that Muon's step has singular values near 1, that is, that its product
// with its transpose is near the identity.
func TestOrthogonalise(t *testing.T) {
	for _, size := range [][2]int{{24, 24}, {16, 40}, {40, 16}} {
		rows, cols := size[0], size[1]
		rng := rand.New(rand.NewPCG(1, 2))
		s := muonSpace{x: make([]float32, rows*cols)}
		normal(rng, s.x, 3)
		s.orthogonalise(rows, cols)
		n := min(rows, cols)
		for i := range n {
			for j := range n {
				sum := 0.0
				for k := range max(rows, cols) {
					if rows <= cols {
						sum += float64(s.x[i*cols+k]) * float64(s.x[j*cols+k])
					} else {
						sum += float64(s.x[k*cols+i]) * float64(s.x[k*cols+j])
					}
				}
				if i == j && (sum < 0.3 || sum > 1.6) || i != j && math.Abs(sum) > 0.45 {
					t.Fatalf("%d×%d: element (%d, %d) of the product with its transpose is %.2f", rows, cols, i, j, sum)
				}
			}
		}
	}
}

// marks is a source whose sequences contain their own index.
type marks struct{ id, count, length int }

func (m marks) Len() int { return m.count }

func (m marks) Read(i int, dst *Sequence) {
	dst.Tokens, dst.Weights = dst.Tokens[:0], dst.Weights[:0]
	for range m.length {
		dst.Tokens, dst.Weights = append(dst.Tokens, int32(m.id*1000+i)), append(dst.Weights, 1)
	}
}

func TestMix(t *testing.T) {
	open := func() *Mix {
		m, err := NewMix([]Mixed{{marks{1, 40, 10}, 0.75, "a"}, {marks{2, 500, 5}, 0.25, "b"}}, 8, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open()
	tokens, seen := map[int32]int{}, map[int32]int{}
	for range 50 {
		for _, s := range m.Batch(100) {
			tokens[s.Tokens[0]/1000] += len(s.Tokens)
			seen[s.Tokens[0]]++
			if len(s.Tokens) > 8 {
				t.Fatalf("a sequence of %d tokens", len(s.Tokens))
			}
		}
	}
	if share := float64(tokens[1]) / float64(tokens[1]+tokens[2]); math.Abs(share-0.75) > 0.01 {
		t.Errorf("the share of the first source is %v", share)
	}
	if m.Cut() == 0 {
		t.Error("sequences were cut, and not counted")
	}
	low, high := math.MaxInt, 0
	for i := range int32(40) {
		low, high = min(low, seen[1000+i]), max(high, seen[1000+i])
	}
	if high-low > 1 || low < 5 {
		t.Errorf("sequences of one source were drawn %d to %d times", low, high)
	}
	if e := m.Epochs(); e[0] < 5 || e[1] > 1 {
		t.Errorf("epochs %v", e)
	}
	again := open()
	if err := again.restore(m.at); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Batch(100), again.Batch(100)); d != "" {
		t.Errorf("after going to a saved position: %s", d)
	}
	if err := again.restore([]position{{Next: 41}, {}}); err == nil {
		t.Error("a position behind the end is accepted")
	}
}

func TestOpenData(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, vocab int, examples ...dataset.Example) string {
		path := filepath.Join(dir, name)
		w, err := dataset.Create(path, vocab)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examples {
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	read := dataset.Example{Kind: dataset.KindRead, Tokens: []uint16{1, 2, 3}, Weights: []uint8{0, 5, 100}}
	edit := dataset.Example{Kind: dataset.KindEdit, Tokens: []uint16{4, 5}, Weights: []uint8{0, 20}}
	a, b := write("a.tok", 9, read, edit), write("b.tok", 10, edit)
	data, vocab, err := OpenData(a+":0.7,"+a, 0)
	if err != nil || vocab != 9 || len(data) != 2 || data[0].Share != 0.7 || data[1].Share != 1 {
		t.Fatalf("%+v, %d, %v", data, vocab, err)
	}
	var s Sequence
	data[0].Source.Read(0, &s)
	if d := cmp.Diff(Sequence{Tokens: []int32{1, 2, 3}, Weights: []float32{0, 0.05, 1}}, s); d != "" {
		t.Error(d)
	}
	valid, err := OpenValidation(a, 9, 2, 0)
	want := []Validation{{Name: "edit", Sequences: []Sequence{{Tokens: []int32{4, 5}, Weights: []float32{0, 0.2}}}}}
	if d := cmp.Diff(want, valid); d != "" || err != nil {
		t.Error(d, err)
	}
	for list, want := range map[string]string{
		a + "," + b: "vocabulary of 10 tokens, not 9", "": "empty file name", a + ":0": "must be positive", filepath.Join(dir, "c"): "no such file",
	} {
		if _, _, err := OpenData(list, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", list, err, want)
		}
	}
}

// Evidence: training · Training lowers the loss and draws its curve
func TestCurve(t *testing.T) {
	points := []Point{
		{Step: 1, Tokens: 1e6, Loss: 3, Accuracy: 0.1}, {Step: 2, Tokens: 2e6, Loss: math.NaN()},
		{Step: 3, Tokens: 3e6, Loss: 1, Accuracy: 0.6, Valid: []Score{{Name: "<edit>", Loss: 1.5, Accuracy: 0.5}}},
	}
	points[1].Loss = 2
	for _, p := range [][]Point{nil, points[:1], points} {
		dir := t.TempDir()
		if err := WriteCurve(dir, p); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(dir, CurveHTML))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), `id="points">`)
		text, _, _ := strings.Cut(rest, "</script>")
		var got []Point
		if err := json.Unmarshal([]byte(text), &got); err != nil || !cmp.Equal(p, got) {
			t.Errorf("the page's numbers are %q, %v", text, err)
		}
		if strings.Contains(string(page), "<edit>") || strings.Contains(string(page), "http") {
			t.Error("the page holds what was not escaped, or needs something from elsewhere")
		}
		picture, err := os.ReadFile(filepath.Join(dir, CurvePNG))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Error(err)
		}
	}
}

func TestShapes(t *testing.T) {
	m, err := New(Main(2048), 1)
	if err != nil {
		t.Fatal(err)
	}
	if all, active := float64(m.Weights())/1e6, float64(m.ActiveWeights())/1e6; all < 6 || all > 7 || active < 2 || active > 2.6 {
		t.Errorf("the shipped shape has %.2f M weights, %.2f M active", all, active)
	}
	bad := Shape{Vocab: 1, Dim: -3, Heads: 3, KVHeads: 2, HeadDim: 5, Experts: 2, Active: 3, RopeBase: float32(math.NaN())}
	err = bad.Validate()
	for _, want := range []string{"Vocab", "Dim", "Layers", "HeadDim is 5", "FF", "Active is 3", "do not divide", "RopeBase"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
	if _, err := New(bad, 1); err == nil {
		t.Error("a model of a bad shape was made")
	}
	huge := Shape{Vocab: 1 << 19, Dim: 1 << 14, Layers: 99, Heads: 64, KVHeads: 64, HeadDim: 128, FF: 1 << 14, Context: 9}
	if err := huge.Validate(); err == nil || !strings.Contains(err.Error(), "weights") {
		t.Errorf("a huge shape: %v", err)
	}
}
