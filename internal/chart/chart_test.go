package chart

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []string
	}{
		{0, 1, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{0, 77383, []string{"0", "20k", "40k", "60k", "80k"}},
		{0.003, 0.041, []string{"0.00", "0.01", "0.02", "0.03", "0.04", "0.05"}},
		{-3, 3, []string{"-4", "-2", "0", "2", "4"}},
		{1_500_000, 2_500_000, []string{"1.4M", "1.6M", "1.8M", "2.0M", "2.2M", "2.4M", "2.6M"}},
		{5, 5, []string{"4.4", "4.6", "4.8", "5.0", "5.2", "5.4", "5.6"}},
		{math.Inf(1), math.Inf(-1), []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}}, // no points
	} {
		a := round(c.lo, c.hi)
		var got []string
		for _, v := range a.ticks() {
			got = append(got, short(v, a.step))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%g to %g (-want +got):\n%s", c.lo, c.hi, d)
		}
	}
}

// TestEveryPicture draws figures with extreme numbers and odd names: the output is valid XML, and
// every coordinate is a number inside the picture.
func TestEveryPicture(t *testing.T) {
	values := []float64{0, 1, -1, 1e-320, 1e-300, 1e15, 1e300, -1e300, math.MaxFloat64, math.Inf(1), math.NaN(), 0.1, 12345.678}
	var lines []Line
	for i, a := range values {
		l := Line{Name: "a <b> & \"c\" \x00", Scatter: i%2 == 0}
		for _, b := range values {
			l.Points = append(l.Points, Point{X: a, Y: b, Label: "<"}, Point{X: b, Y: a})
		}
		lines = append(lines, l)
		f := Figure{Title: "</svg>", X: "x", Panels: []Panel{{Y: "y", Lines: lines, Zero: i%3 == 0, Share: i%2 == 0, Rules: []Rule{{Y: a}}}, {}}}
		if !(math.Abs(a) < 1e15) {
			f.Panels[0].Rules = nil
		}
		checkXML(t, f)
		checkXML(t, Figure{Panels: []Panel{{Lines: []Line{{Points: []Point{{X: 0, Y: a}, {X: a, Y: 0}}}}}}})
	}
	checkXML(t, Figure{})
}

func checkXML(t *testing.T, f Figure) {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("a coordinate is no number:\n%s", s)
	}
	dec := xml.NewDecoder(&b)
	for {
		_, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLegendRows(t *testing.T) {
	rows, places := layLegend([]Line{{Name: "one"}, {Name: "two"}, {Name: "three"}, {Name: strings.Repeat("long", 20)}}, 250)
	want := []legendPlace{{0, 0}, {77, 0}, {154, 0}, {0, 1}}
	if rows != 2 {
		t.Errorf("%d rows, want 2", rows)
	}
	if d := cmp.Diff(want, places, cmp.AllowUnexported(legendPlace{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLines: lines with the same index in several panels share one entry in the legend.
func TestLines(t *testing.T) {
	f := Figure{Panels: []Panel{{Lines: []Line{{Name: "a"}}}, {Lines: []Line{{Name: "a"}, {Name: "b", Bold: true}}}, {}}}
	var got []string
	for i, l := range f.lines() {
		got = append(got, l.Name+" "+l.class(i+8))
	}
	if d := cmp.Diff([]string{"a l0", "b l1 bold"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	p := Page{Title: "a & b", Text: []string{"1 < 2"}, Sections: []Section{{Heading: "runs", Table: [][]string{{"name", "n"}, {"<x>", "1"}},
		Figures: []Figure{{Title: "f", Panels: []Panel{{Lines: []Line{{Name: "l", Points: []Point{{X: 1, Y: 1}}}}}}}}}}}
	if err := WriteHTML(&b, p); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"<h1>a &amp; b</h1>", "<p>1 &lt; 2</p>", "<th>n</th>", "<td>&lt;x&gt;</td>", "<svg ", "prefers-color-scheme:dark"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(strings.ReplaceAll(got, "http://www.w3.org/2000/svg", ""), "http") {
		t.Error("the page needs something from elsewhere")
	}
}
