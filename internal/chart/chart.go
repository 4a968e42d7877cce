// Package chart draws lines and points over two axes as SVG, for commands that plot their
// measurements. A figure is one or more panels over the same horizontal axis, with labelled axes, a
// legend, and colours that are readable on a light and on a dark background; lines differ in dashes
// as well as in colour. [WriteHTML] puts figures and tables on a self-contained page.
package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Figure is a picture of panels one below the other that share the horizontal axis and the legend.
type Figure struct {
	Title  string
	X      string // label of the horizontal axis, with its unit
	Panels []Panel
	Width  int // 0 means 860
}

// Panel is one set of lines with a vertical axis of its own.
type Panel struct {
	Y      string // label of the vertical axis, with its unit
	Lines  []Line // lines with the same index in each panel share name, colour and dashes
	Rules  []Rule
	Height int  // of the plotted area; 0 means 200
	Share  bool // values are shares: the axis is in percent
	Zero   bool // the axis begins at zero
}

// Line is a named series of points.
type Line struct {
	Name    string
	Points  []Point
	Scatter bool // draw the points only, each with its label
	Bold    bool // the main line of the figure: solid and thicker
}

// Point is a point of a line. A point whose coordinates are not finite or have more than 15 digits
// is left out and breaks the line.
type Point struct {
	X, Y  float64
	Label string
}

// Rule is a horizontal line at a notable value, such as a limit.
type Rule struct {
	Y    float64
	Name string
}

const (
	left, right, top, gap, bottom = 76, 24, 34, 42, 46 // space around the plotted areas, in pixels
	legendRow                     = 20
	legendGap                     = 28 // between the legend and the first plotted area
)

// WriteSVG writes the figure as an SVG document.
func (f Figure) WriteSVG(w io.Writer) error {
	var b bytes.Buffer
	f.draw(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (f Figure) draw(b *bytes.Buffer) {
	width := f.Width
	if width == 0 {
		width = 860
	}
	plot := float64(width - left - right)
	lines := f.lines()
	rows, placed := layLegend(lines, plot)
	height := top + rows*legendRow + legendGap + bottom - gap
	for _, p := range f.Panels {
		height += p.height() + gap
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		width, height, width, height, escape(f.Title))
	fmt.Fprintf(b, "\n<style>%s</style>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", style(), width, height)
	text(b, "title", left, 20, "start", f.Title)
	for i, l := range lines {
		x, y := left+placed[i].x, float64(top+placed[i].row*legendRow+8)
		fmt.Fprintf(b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, l.class(i), num(x), num(y), num(x+26), num(y))
		text(b, "", x+32, y+4, "start", l.Name)
	}
	xs := f.xAxis()
	y := float64(top + rows*legendRow + legendGap)
	for i, p := range f.Panels {
		p.draw(b, box{left, y, plot, float64(p.height())}, xs, i == len(f.Panels)-1)
		y += float64(p.height() + gap)
	}
	text(b, "", left+plot/2, float64(height-6), "middle", f.X)
	b.WriteString("</svg>\n")
}

func (p Panel) height() int {
	if p.Height == 0 {
		return 200
	}
	return p.Height
}

// lines returns the lines by index, from the first panel that has that many.
func (f Figure) lines() []Line {
	var lines []Line
	for _, p := range f.Panels {
		lines = append(lines, p.Lines[min(len(lines), len(p.Lines)):]...)
	}
	return lines
}

// class returns the CSS classes of the line with an index.
func (l Line) class(place int) string {
	class := "l" + strconv.Itoa(place%colours)
	if l.Bold {
		class += " bold"
	}
	return class
}

type legendPlace struct {
	x   float64
	row int
}

// layLegend arranges the names of lines in rows of at most width.
func layLegend(lines []Line, width float64) (rows int, places []legendPlace) {
	x := 0.0
	for _, l := range lines {
		need := 56 + 7*float64(len([]rune(l.Name)))
		if x > 0 && x+need > width {
			rows, x = rows+1, 0
		}
		places = append(places, legendPlace{x, rows})
		x += need
	}
	if len(lines) > 0 {
		rows++
	}
	return rows, places
}

// xAxis returns an axis over the points of all panels.
func (f Figure) xAxis() axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range f.Panels {
		p.each(func(q Point) { lo, hi = min(lo, q.X), max(hi, q.X) })
	}
	return tight(lo, hi, 12)
}

func (p Panel) each(f func(Point)) {
	for _, l := range p.Lines {
		for _, q := range l.Points {
			if q.drawable() {
				f(q)
			}
		}
	}
}

// drawable reports whether a point can be drawn: both coordinates are finite and have at most 15
// digits.
func (q Point) drawable() bool {
	const most = 1e15
	return math.Abs(q.X) <= most && math.Abs(q.Y) <= most // false for NaN
}

func text(b *bytes.Buffer, class string, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, num(x), num(y), anchor, escape(s))
}

func num(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder accepts every write
	return b.String()
}
