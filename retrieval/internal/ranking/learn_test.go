package ranking

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The features that are high for the right files and places; all others are random.
const planted, plantedPlace = fDef, pNamesHere

// plant makes examples with known correct answers.
func plant(n int) (out []*Example) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
		e := &Example{}
		for i := range 20 {
			f := exampleFile{path: fmt.Sprint(i), right: i < 2}
			for j := range f.x {
				f.x[j] = rng.Float32()
			}
			f.x[planted] = 0.4 * rng.Float32()
			if f.right {
				f.x[planted] += 0.6
			}
			for j := range 4 {
				p := examplePlace{start: j*10 + 1, end: j*10 + 10, right: f.right && j == 0}
				for l := range p.x {
					p.x[l] = rng.Float32()
				}
				p.x[plantedPlace] = 0.4 * rng.Float32()
				if p.right {
					p.x[plantedPlace] += 0.6
				}
				f.places = append(f.places, p)
			}
			e.files = append(e.files, f)
		}
		rng.Shuffle(len(e.files), func(i, j int) { e.files[i], e.files[j] = e.files[j], e.files[i] })
		out = append(out, e)
	}
	return out
}

// loss returns the mean cross-entropy of the examples' files, computed independently.
func loss(m *Model, examples []*Example) (sum float64) {
	for _, e := range examples {
		var z, right, rights float64
		for i := range e.files {
			s := m.file(&e.files[i].x)
			z += math.Exp(s)
			if e.files[i].right {
				right += s
				rights++
			}
		}
		sum += math.Log(z) - right/rights
	}
	return sum / float64(len(examples))
}

// TestLearn checks that learning finds the planted features of files and of places, and that the
// loss decreases from epoch to epoch, including on examples that were not learned from.
func TestLearn(t *testing.T) {
	all := plant(300)
	train, held := all[:200], all[200:]
	last := loss(&Model{}, held)
	for _, epochs := range []int{1, 4, 16, 30} {
		now := loss(Learn(train, LearnOptions{Epochs: epochs}), held)
		if now >= last {
			t.Errorf("after %d epochs the loss is %v, before it was %v", epochs, now, last)
		}
		last = now
	}
	m := Learn(train, LearnOptions{})
	for name, w := range m.Files {
		if name != featureNames[planted] && math.Abs(w) >= m.Files[featureNames[planted]]/3 {
			t.Errorf("%q weighs %v, what was planted %v", name, w, m.Files[featureNames[planted]])
		}
	}
	for name, w := range m.Places {
		if name != placeNames[plantedPlace] && math.Abs(w) >= m.Places[placeNames[plantedPlace]] {
			t.Errorf("%q of places weighs %v, what was planted %v", name, w, m.Places[placeNames[plantedPlace]])
		}
	}
	// The right answers are ranked first.
	good, goodPlaces := 0, 0
	for _, e := range held {
		files, places := e.Rank(m)
		if files[0] == "0" || files[0] == "1" {
			good++
		}
		if places[0].Start == 1 && (places[0].Path == "0" || places[0].Path == "1") {
			goodPlaces++
		}
	}
	if good < 95 || goodPlaces < 70 {
		t.Errorf("of 100 lists %d begin with a right file, %d with a right place", good, goodPlaces)
	}
	if d := cmp.Diff(m.Files, Learn(train, LearnOptions{}).Files); d != "" {
		t.Errorf("learning again gives another model:\n%s", d)
	}
}

// TestLearnFromNothing checks that examples without a right answer, or without files, do not change
// the weights and cause no failure.
func TestLearnFromNothing(t *testing.T) {
	wrong := plant(3)
	for _, e := range wrong {
		for i := range e.files {
			e.files[i].right = false
			for j := range e.files[i].places {
				e.files[i].places[j].right = false
			}
		}
	}
	for _, examples := range [][]*Example{nil, {{}}, wrong} {
		m := Learn(examples, LearnOptions{Epochs: 2})
		for name, w := range m.Files {
			if w != 0 {
				t.Errorf("%q weighs %v", name, w)
			}
		}
	}
}

// TestGradient: the gradient equals the slope of the loss.
func TestGradient(t *testing.T) {
	e := plant(1)
	var c choice
	for i := range e[0].files {
		c.add(e[0].files[i].x[:], e[0].files[i].right)
	}
	w, g := make([]float64, numFeatures), make([]float64, numFeatures)
	rng := rand.New(rand.NewPCG(5, 6))
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	c.gradient(w, g)
	for j := range w {
		at := func(d float64) float64 {
			m := &Model{}
			copy(m.fw[:], w)
			m.fw[j] += d
			return loss(m, e)
		}
		if slope := (at(1e-5) - at(-1e-5)) / 2e-5; math.Abs(slope-g[j]) > 1e-4 {
			t.Errorf("%q: the gradient is %v, the slope %v", featureNames[j], g[j], slope)
		}
	}
}

func TestParseModel(t *testing.T) {
	for text, want := range map[string]string{
		`{"files": {"nonsense": 1}}`:            `no feature of files is called "nonsense"`,
		`{"places": {"path mentioned": 1}}`:     `no feature of places is called "path mentioned"`,
		`{"files": {"path mentioned": "much"}}`: "read weights",
		`{`:                                     "read weights",
		``:                                      "read weights",
	} {
		if _, err := ParseModel([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ranking: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	m, err := ParseModel([]byte(`{"files": {"path mentioned": 2}, "places": {"size": -1}}`))
	if err != nil {
		t.Fatal(err)
	}
	x := [numFeatures]float32{fMentionFile: 0.5, fTest: 1}
	if got := m.file(&x); got != 1 {
		t.Errorf("a path mentioned by half scores %v", got)
	}
	if d := cmp.Diff([]Reason{{"path mentioned", 1}}, m.Why(&File{x: x}, 5)); d != "" {
		t.Error(d)
	}
	y := [numPlace]float32{pSize: 2}
	if got := m.place(&y); got != -2 {
		t.Errorf("a place scores %v", got)
	}
}

// TestFeatureNames: every feature has a name, and no name is used twice.
func TestFeatureNames(t *testing.T) {
	for _, names := range [][]string{featureNames[:], placeNames[:]} {
		seen := map[string]bool{"": true}
		for i, n := range names {
			if seen[n] {
				t.Errorf("the name %q of feature %d is empty or another's", n, i)
			}
			seen[n] = true
		}
	}
}

// TestLearned checks that the weights in the package belong to the current features and are
// plausible.
func TestLearned(t *testing.T) {
	m := Learned()
	for _, name := range []string{"test", "documentation", "not code", "example", "benchmark", "vendored"} {
		if m.Files[name] >= 0 {
			t.Errorf("%q weighs %v: it should lower a file", name, m.Files[name])
		}
	}
	for _, name := range []string{"path mentioned", "file mentioned", "in the stack trace", "main language", "title in path", "rank by commits", "best chunk"} {
		if m.Files[name] <= 0 {
			t.Errorf("%q weighs %v: it should raise a file", name, m.Files[name])
		}
	}
	for _, name := range []string{"file's score", "words in its file", "rank in its file"} {
		if m.Places[name] <= 0 {
			t.Errorf("%q weighs %v: it should raise a place", name, m.Places[name])
		}
	}
	for name, w := range m.Files {
		if math.Abs(w) > 10 || w != w {
			t.Errorf("%q weighs %v", name, w)
		}
	}
	var stored struct{ Files, Places map[string]float64 }
	if err := json.Unmarshal(learned, &stored); err != nil {
		t.Fatal(err)
	}
	if len(stored.Files) < int(numFeatures)-3 || len(stored.Places) < int(numPlace)-2 {
		t.Errorf("weights of %d of %d features of files, and %d of %d of places", len(stored.Files), numFeatures, len(stored.Places), numPlace)
	}
}

// TestExampleKept checks that an example that is encoded and decoded ranks as before and has the
// same effect on learning.
func TestExampleKept(t *testing.T) {
	k := Rank(Parse(question), small.segments(t, 2), nil, Learned(), nil)
	made := k.Example(
		func(path string) bool { return path == "src/server/http.go" },
		func(path string, start, end int) bool { return start <= 4 && 4 <= end })
	rights := 0
	for _, f := range made.files {
		if f.right {
			rights++
			if f.path != "src/server/http.go" || !slices.ContainsFunc(f.places, func(p examplePlace) bool { return p.right }) {
				t.Errorf("%s: %+v", f.path, f.places)
			}
		}
	}
	if rights != 1 || len(made.files) != len(k.Files) {
		t.Errorf("%d right of %d", rights, len(made.files))
	}
	examples := append(plant(3), made, &Example{})
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(examples); err != nil {
		t.Fatal(err)
	}
	var read []*Example
	if err := gob.NewDecoder(bytes.NewReader(b.Bytes())).Decode(&read); err != nil {
		t.Fatal(err)
	}
	opts := cmp.Options{cmp.AllowUnexported(Example{}, exampleFile{}, examplePlace{}), cmpopts.EquateEmpty()}
	if d := cmp.Diff(examples, read, opts); d != "" {
		t.Errorf("(-written +read):\n%s", d)
	}
	files, places := read[3].Rank(Learned())
	var want []string
	for i := range k.Files {
		want = append(want, k.Path(&k.Files[i]))
	}
	if d := cmp.Diff(want, files); d != "" || len(places) < len(files) {
		t.Errorf("%d places; (-ranking +example):\n%s", len(places), d)
	}

	// Decoding into an Example replaces its contents.
	enc, err := made.GobEncode()
	if err != nil {
		t.Fatal(err)
	}
	twice := plant(1)[0]
	if err := twice.GobDecode(enc); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(made, twice, opts); d != "" {
		t.Errorf("read into a used example (-want +got):\n%s", d)
	}
}

// TestExampleRefused checks that data encoded with other features is refused, and that damaged data
// does no harm.
func TestExampleRefused(t *testing.T) {
	encode := func(k kept) []byte {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(k); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	short := make([]float32, numFeatures-1)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"features of files":  {encode(kept{[]keptFile{{Path: "a", X: short}}}), "features of files"},
		"features of places": {encode(kept{[]keptFile{{Path: "a", X: make([]float32, numFeatures), Places: []keptPlace{{X: short[:1]}}}}}), "features of places"},
		"nothing":            {nil, "EOF"},
		"noise":              {[]byte("no gob at all"), ""},
	} {
		var e Example
		if err := e.GobDecode(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(e.files) != 0 {
			t.Errorf("%s: %d files were kept", name, len(e.files))
		}
	}
	good, err := plant(1)[0].GobEncode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(good) {
		var e Example
		if e.GobDecode(good[:i]) == nil && i < len(good)-1 {
			t.Errorf("the first %d of %d bytes were taken", i, len(good))
		}
	}
}

func ExampleRank() {
	segs := small.segments(&testing.T{}, 1)
	k := Rank(Parse("where are connections accepted?"), segs, nil, Learned(), nil)
	fmt.Println(k.Path(&k.Files[0]))
	// Output: src/server/http.go
}
