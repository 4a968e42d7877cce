package train

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// picture is a canvas for diagrams.
type picture struct{ *image.RGBA }

// curveImage plots a run's history as PNG.
func curveImage(points []Point) []byte {
	p := picture{image.NewRGBA(image.Rect(0, 0, 840, 660))}
	draw.Draw(p, p.Bounds(), image.White, image.Point{}, draw.Src)
	losses, hits := curves(points)
	p.diagram("loss over millions of tokens", losses, 40, 290)
	p.diagram("decisions hit", hits, 400, 220)
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		panic(err) // writing to a buffer does not fail, and the picture is not empty
	}
	return b.Bytes()
}

func (p picture) diagram(title string, lines []line, top, height float64) {
	f := newFrame(lines, top, height)
	grey := color.Gray{0xe4}
	p.text(int(f.left), int(f.top)-12, title, color.Black)
	for _, v := range ticks(f.x0, f.x1, 8) {
		x, _ := f.at(v, f.y0)
		p.segment(x, f.top, x, f.top+f.height, grey)
		p.text(int(x)-6, int(f.top+f.height)+16, fmt.Sprintf("%g", v), color.Black)
	}
	for _, v := range ticks(f.y0, f.y1, 6) {
		_, y := f.at(0, v)
		p.segment(f.left, y, f.left+f.width, y, grey)
		p.text(8, int(y)+4, fmt.Sprintf("%.4g", v), color.Black)
	}
	for i, l := range lines {
		c := hexColour(palette[i%len(palette)])
		p.text(int(f.left)+240+110*i, int(f.top)-12, l.name, c)
		for j := 1; j < len(l.y); j++ {
			x0, y0 := f.at(l.x[j-1], l.y[j-1])
			x1, y1 := f.at(l.x[j], l.y[j])
			p.segment(x0, y0, x1, y1, c)
		}
	}
}

func (p picture) segment(x0, y0, x1, y1 float64, c color.Color) {
	n := math.Max(math.Abs(x1-x0), math.Abs(y1-y0))
	if n-n != 0 {
		return
	}
	for i := 0.0; i <= n; i++ {
		k := i / math.Max(n, 1)
		p.Set(int(math.Round(x0+(x1-x0)*k)), int(math.Round(y0+(y1-y0)*k)), c)
	}
}

func (p picture) text(x, y int, s string, c color.Color) {
	d := font.Drawer{Dst: p, Src: image.NewUniform(c), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(s)
}

func hexColour(s string) color.Color {
	v, _ := strconv.ParseUint(s[1:], 16, 32)
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
}
