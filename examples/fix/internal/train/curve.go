package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strings"

	_ "embed"

	"github.com/luthier-dev/luthier/internal/atomicfile"
)

// WriteCurve plots a run's history into dir: loss.png, and the self-contained loss.html, which also
// contains the numbers.
func WriteCurve(dir string, points []Point) error {
	page, err := curvePage(points)
	if err == nil {
		err = errors.Join(
			atomicfile.WriteBytes(filepath.Join(dir, CurveHTML), atomicfile.Options{Perm: 0o644}, page),
			atomicfile.WriteBytes(filepath.Join(dir, CurvePNG), atomicfile.Options{Perm: 0o644}, curveImage(points)))
	}
	if err != nil {
		return fmt.Errorf("train: write loss curve: %w", err)
	}
	return nil
}

// line is one curve.
type line struct {
	name string
	x, y []float64 // millions of tokens, and the value
}

// curves returns the losses of a run, and the accuracies, which are plotted below them.
func curves(points []Point) (losses, hits []line) {
	train, accuracy := line{name: "training"}, line{name: "training"}
	var validLoss, validHits []line
	for _, p := range points {
		x := float64(p.Tokens) / 1e6
		train.x, train.y = append(train.x, x), append(train.y, p.Loss)
		accuracy.x, accuracy.y = append(accuracy.x, x), append(accuracy.y, p.Accuracy)
		for _, v := range p.Valid {
			validLoss = addTo(validLoss, v.Name, x, v.Loss)
			validHits = addTo(validHits, v.Name, x, v.Accuracy)
		}
	}
	return append([]line{train}, validLoss...), append([]line{accuracy}, validHits...)
}

func addTo(lines []line, name string, x, y float64) []line {
	i := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
	if i < 0 {
		i = len(lines)
		lines = append(lines, line{name: name})
	}
	lines[i].x, lines[i].y = append(lines[i].x, x), append(lines[i].y, y)
	return lines
}

// frame maps a diagram's numbers to positions in a picture.
type frame struct {
	left, top, width, height float64
	x0, x1, y0, y1           float64
}

func newFrame(lines []line, top, height float64) frame {
	f := frame{left: 60, top: top, width: 720, height: height, y0: math.Inf(1), y1: math.Inf(-1)}
	for _, l := range lines {
		for i, y := range l.y {
			if y-y != 0 {
				continue
			}
			f.x1, f.y0, f.y1 = max(f.x1, l.x[i]), min(f.y0, y), max(f.y1, y)
		}
	}
	if !(f.y1 > f.y0) {
		f.y0, f.y1 = 0, max(1, f.y1)
	}
	if f.x1 == 0 {
		f.x1 = 1
	}
	return f
}

func (f frame) at(x, y float64) (float64, float64) {
	return f.left + (x-f.x0)/(f.x1-f.x0)*f.width, f.top + (f.y1-y)/(f.y1-f.y0)*f.height
}

// ticks returns about n round numbers between lo and hi.
func ticks(lo, hi float64, n int) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*m) <= float64(n) {
			step *= m
			break
		}
	}
	var out []float64
	for v := math.Ceil(lo/step) * step; v <= hi+step*1e-9; v += step {
		out = append(out, math.Round(v/step)*step)
	}
	return out
}

//go:embed curve.html
var curveHTML string

var curveTemplate = template.Must(template.New("curve").Parse(curveHTML))

// palette holds the colours of curves; the first is for training.
var palette = []string{"#888888", "#0b62a4", "#d1495b", "#2a9134", "#9467bd", "#c47f00"}

// A drawing holds a diagram as SVG paths.
type drawing struct {
	Title        string
	Top          float64
	Lines        []drawnLine
	XTicks       []drawnTick
	YTicks       []drawnTick
	Left, Bottom float64
	Right        float64
}

type drawnLine struct{ Name, Path, Colour string }

type drawnTick struct {
	At    float64
	Label string
}

func sketch(title string, lines []line, top, height float64) drawing {
	f := newFrame(lines, top, height)
	d := drawing{Title: title, Top: f.top, Left: f.left, Bottom: f.top + f.height, Right: f.left + f.width}
	for i, l := range lines {
		var path strings.Builder
		for j, y := range l.y {
			if y-y != 0 {
				continue
			}
			px, py := f.at(l.x[j], y)
			verb := "L"
			if path.Len() == 0 {
				verb = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", verb, px, py)
		}
		d.Lines = append(d.Lines, drawnLine{l.name, path.String(), palette[i%len(palette)]})
	}
	for _, v := range ticks(f.x0, f.x1, 8) {
		x, _ := f.at(v, f.y0)
		d.XTicks = append(d.XTicks, drawnTick{x, fmt.Sprintf("%g M", v)})
	}
	for _, v := range ticks(f.y0, f.y1, 6) {
		_, y := f.at(0, v)
		d.YTicks = append(d.YTicks, drawnTick{y, fmt.Sprintf("%.4g", v)})
	}
	return d
}

func curvePage(points []Point) ([]byte, error) {
	data, err := json.Marshal(points)
	if err != nil {
		return nil, err
	}
	losses, hits := curves(points)
	var b strings.Builder
	err = curveTemplate.Execute(&b, map[string]any{
		"Diagrams": []drawing{sketch("loss", losses, 30, 300), sketch("decisions hit", hits, 400, 220)},
		"Points":   points,
		"Data":     template.JS(data),
	})
	return []byte(b.String()), err
}
