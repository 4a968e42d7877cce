package ranking

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// An Example is a ranking with known correct answers.
type Example struct {
	files []exampleFile
}

type exampleFile struct {
	path   string
	x      [numFeatures]float32
	right  bool
	places []examplePlace
}

type examplePlace struct {
	start, end int
	x          [numPlace]float32
	right      bool
}

// Example returns the features of a ranking together with the correct answers: the right files, and
// the right lines in them. The function places may be nil if the lines are not known.
func (k *Ranking) Example(right func(path string) bool, places func(path string, start, end int) bool) *Example {
	e := &Example{}
	for i := range k.Files {
		f := &k.Files[i]
		x := exampleFile{path: k.Path(f), x: f.x}
		x.right = right(x.path)
		if places != nil {
			for _, p := range k.placesOf(i, nil) {
				x.places = append(x.places, examplePlace{p.Start, p.End, p.x, x.right && places(x.path, p.Start, p.End)})
			}
		}
		e.files = append(e.files, x)
	}
	return e
}

// Path is the path of a file of the ranking.
func (k *Ranking) Path(f *File) string { return k.r.segs[f.Segment].Info[f.ID].Path }

// A Found is a place in the order in which a model ranks an Example.
type Found struct {
	Path       string
	Start, End int
}

// Rank orders an example's files and places with a model.
func (e *Example) Rank(m *Model) (files []string, places []Found) {
	order := e.order(m)
	for _, i := range order {
		files = append(files, e.files[i].path)
	}
	type scored struct {
		Found
		score float64
	}
	var s []scored
	e.eachPlace(m, order, func(f *exampleFile, p *examplePlace, x *[numPlace]float32) {
		s = append(s, scored{Found{f.path, p.start, p.end}, m.place(x)})
	})
	slices.SortStableFunc(s, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, p := range s {
		places = append(places, p.Found)
	}
	return files, places
}

func (e *Example) order(m *Model) []int {
	order := make([]int, len(e.files))
	score := make([]float64, len(e.files))
	for i := range order {
		order[i], score[i] = i, m.file(&e.files[i].x)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return order
}

// eachPlace calls fn for the places of the best files, with the features that depend on the model's
// order of files.
func (e *Example) eachPlace(m *Model, order []int, fn func(*exampleFile, *examplePlace, *[numPlace]float32)) {
	for rank, i := range order[:min(len(order), filesWithPlaces)] {
		f := &e.files[i]
		for j := range f.places {
			x := f.places[j].x
			x[pFile] = float32(m.file(&f.x) - m.file(&e.files[order[0]].x))
			x[pFileRank] = 1 / float32(rank+1)
			fn(f, &f.places[j], &x)
		}
	}
}

// LearnOptions tune Learn. The zero value is a sensible default; the defaults are given below.
type LearnOptions struct {
	Epochs int     // 30
	L2     float64 // 0.002
	Rate   float64 // 0.05, decreasing to zero
	Seed   uint64
}

// Learn finds weights that rank the correct files and places of the examples high.
func Learn(examples []*Example, o LearnOptions) *Model {
	o.Epochs, o.L2, o.Rate = cmp.Or(o.Epochs, 30), cmp.Or(o.L2, 0.002), cmp.Or(o.Rate, 0.05)
	m := &Model{Files: map[string]float64{}, Places: map[string]float64{}}
	var files []choice
	for _, e := range examples {
		var c choice
		for i := range e.files {
			c.add(e.files[i].x[:], e.files[i].right)
		}
		files = append(files, c)
	}
	for i, w := range descend(files, int(numFeatures), o) {
		m.Files[featureNames[i]] = math.Round(w*1e4) / 1e4
	}
	m.fill()
	var places []choice
	for _, e := range examples {
		var c choice
		e.eachPlace(m, e.order(m), func(_ *exampleFile, p *examplePlace, x *[numPlace]float32) { c.add(slices.Clone(x[:]), p.right) })
		places = append(places, c)
	}
	for i, w := range descend(places, int(numPlace), o) {
		m.Places[placeNames[i]] = math.Round(w*1e4) / 1e4
	}
	m.fill()
	return m
}

// A choice is a list of candidates, some of which are right.
type choice struct {
	x      [][]float32
	right  []bool
	rights int
}

func (c *choice) add(x []float32, right bool) {
	c.x, c.right = append(c.x, x), append(c.right, right)
	if right {
		c.rights++
	}
}

// descend minimises the softmax cross-entropy of the choices with Adam.
func descend(choices []choice, n int, o LearnOptions) []float64 {
	const batch, beta1, beta2 = 32, 0.9, 0.99
	w, g := make([]float64, n), make([]float64, n)
	first, second := make([]float64, n), make([]float64, n)
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	order := rng.Perm(len(choices))
	step := 0.0
	for epoch := range o.Epochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		rate := o.Rate * (1 + math.Cos(math.Pi*float64(epoch)/float64(o.Epochs))) / 2
		for from := 0; from < len(order); from += batch {
			some := order[from:min(from+batch, len(order))]
			clear(g)
			for _, i := range some {
				choices[i].gradient(w, g)
			}
			step++
			for j := range w {
				d := g[j]/float64(len(some)) + o.L2*w[j]
				first[j] = beta1*first[j] + (1-beta1)*d
				second[j] = beta2*second[j] + (1-beta2)*d*d
				w[j] -= rate * first[j] / (1 - math.Pow(beta1, step)) / (math.Sqrt(second[j]/(1-math.Pow(beta2, step))) + 1e-8)
			}
		}
	}
	return w
}

// gradient adds the gradient of one choice to g.
func (c *choice) gradient(w, g []float64) {
	if c.rights == 0 {
		return
	}
	p := make([]float64, len(c.x))
	top := math.Inf(-1)
	for i, x := range c.x {
		for j, v := range x {
			p[i] += w[j] * float64(v)
		}
		top = max(top, p[i])
	}
	sum := 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - top)
		sum += p[i]
	}
	for i, x := range c.x {
		d := p[i] / sum
		if c.right[i] {
			d -= 1 / float64(c.rights)
		}
		if math.Abs(d) < 1e-7 {
			continue
		}
		for j, v := range x {
			g[j] += d * float64(v)
		}
	}
}

// kept is the stored form of an Example.
type kept struct {
	Files []keptFile
}

type keptFile struct {
	Path   string
	X      []float32
	Right  bool
	Places []keptPlace
}

type keptPlace struct {
	Start, End int
	X          []float32
	Right      bool
}

// GobEncode encodes an Example, so that training can be repeated without searching again.
func (e *Example) GobEncode() ([]byte, error) {
	var k kept
	for i := range e.files {
		f := &e.files[i]
		kf := keptFile{Path: f.path, X: f.x[:], Right: f.right}
		for j := range f.places {
			p := &f.places[j]
			kf.Places = append(kf.Places, keptPlace{p.start, p.end, p.x[:], p.right})
		}
		k.Files = append(k.Files, kf)
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(k)
	return b.Bytes(), err
}

// GobDecode decodes the output of GobEncode. The features must be the same.
func (e *Example) GobDecode(b []byte) error {
	var k kept
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&k); err != nil {
		return err
	}
	files := make([]exampleFile, 0, len(k.Files))
	for _, f := range k.Files {
		if len(f.X) != int(numFeatures) {
			return fmt.Errorf("ranking: read example: it has %d features of files, not %d; make it anew", len(f.X), numFeatures)
		}
		x := exampleFile{path: f.Path, x: [numFeatures]float32(f.X), right: f.Right}
		for _, p := range f.Places {
			if len(p.X) != int(numPlace) {
				return fmt.Errorf("ranking: read example: it has %d features of places, not %d; make it anew", len(p.X), numPlace)
			}
			x.places = append(x.places, examplePlace{p.Start, p.End, [numPlace]float32(p.X), p.Right})
		}
		files = append(files, x)
	}
	e.files = files
	return nil
}
