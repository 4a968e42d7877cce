package chart

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// box is a plotted area in pixels, from its upper left corner.
type box struct{ x, y, w, h float64 }

func (p Panel) draw(b *bytes.Buffer, at box, xs axis, last bool) {
	ys := p.yAxis()
	px := func(v float64) float64 { return at.x + at.w*xs.place(v) }
	py := func(v float64) float64 { return at.y + at.h*(1-ys.place(v)) }
	for _, t := range ys.ticks() {
		fmt.Fprintf(b, `<line class="grid" x1="%s" y1="%s" x2="%s" y2="%s"/>`, num(at.x), num(py(t)), num(at.x+at.w), num(py(t)))
		text(b, "tick", at.x-8, py(t)+4, "end", p.label(t, ys.step))
	}
	for _, t := range xs.ticks() {
		fmt.Fprintf(b, `<line class="grid" x1="%s" y1="%s" x2="%s" y2="%s"/>`, num(px(t)), num(at.y+at.h), num(px(t)), num(at.y+at.h+4))
		if last {
			text(b, "tick", px(t), at.y+at.h+16, "middle", short(t, xs.step))
		}
	}
	fmt.Fprintf(b, `<path class="axis" d="M%s %sV%sH%s"/>`+"\n", num(at.x), num(at.y), num(at.y+at.h), num(at.x+at.w))
	text(b, "", at.x, at.y-8, "start", p.Y)
	for _, r := range p.Rules {
		fmt.Fprintf(b, `<line class="rule" x1="%s" y1="%s" x2="%s" y2="%s"/>`, num(at.x), num(py(r.Y)), num(at.x+at.w), num(py(r.Y)))
		text(b, "tick", at.x+at.w-4, py(r.Y)-5, "end", r.Name)
	}
	for i, l := range p.Lines {
		l.draw(b, i, px, py)
	}
}

func (p Panel) yAxis() axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	p.each(func(q Point) { lo, hi = min(lo, q.Y), max(hi, q.Y) })
	for _, r := range p.Rules {
		lo, hi = min(lo, r.Y), max(hi, r.Y)
	}
	if p.Zero {
		lo = min(lo, 0)
	}
	return round(lo, hi)
}

func (p Panel) label(v, step float64) string {
	if p.Share {
		return short(100*v, 100*step) + " %"
	}
	return short(v, step)
}

func (l Line) draw(b *bytes.Buffer, place int, px, py func(float64) float64) {
	if l.Scatter {
		for _, q := range l.Points {
			if !q.drawable() {
				continue
			}
			fmt.Fprintf(b, `<circle class="p%d" cx="%s" cy="%s" r="4"><title>%s</title></circle>`, place%colours, num(px(q.X)), num(py(q.Y)), escape(l.Name+" "+q.Label))
			if q.Label != "" {
				text(b, "tick", px(q.X)+7, py(q.Y)+4, "start", q.Label)
			}
		}
		return
	}
	var d strings.Builder
	pen := "M"
	for _, q := range l.Points {
		if !q.drawable() {
			pen = "M"
			continue
		}
		d.WriteString(pen + num(px(q.X)) + " " + num(py(q.Y)))
		pen = "L"
	}
	fmt.Fprintf(b, `<path class="%s" d="%s"><title>%s</title></path>`+"\n", l.class(place), d.String(), escape(l.Name))
}

// axis is the range of an axis and the distance of its ticks.
type axis struct{ lo, hi, step float64 }

// round returns an axis that covers lo to hi and begins and ends at a tick.
func round(lo, hi float64) axis {
	a := tight(lo, hi, 5)
	a.lo, a.hi = math.Floor(a.lo/a.step)*a.step, math.Ceil(a.hi/a.step)*a.step
	return a
}

// tight returns an axis over exactly lo to hi with at most about want ticks. Without any points it
// is 0 to 1.
func tight(lo, hi, want float64) axis {
	if lo > hi {
		lo, hi = 0, 1
	}
	if hi-lo <= math.Abs(hi)*1e-9 { // one value: room around it
		room := max(math.Abs(hi)/10, 0.5)
		lo, hi = lo-room, hi+room
	}
	rough := hi/want - lo/want // the difference of two large numbers may overflow
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step >= rough*(1-1e-9) {
			step *= m
			break
		}
	}
	return axis{lo, hi, step}
}

// place returns the position of v between the ends of the axis, from 0 to 1.
func (a axis) place(v float64) float64 {
	return min(max((v-a.lo)/(a.hi-a.lo), 0), 1)
}

// ticks returns the multiples of step within the axis.
func (a axis) ticks() []float64 {
	var out []float64
	for i := math.Ceil(a.lo/a.step - 1e-6); len(out) < 20 && i*a.step <= a.hi+a.step*1e-6; i++ {
		out = append(out, i*a.step+0) // no -0
	}
	return out
}

// short formats a number with as many digits as ticks step apart need.
func short(v, step float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.size && step >= u.size/1000 {
			return strconv.FormatFloat(v/u.size, 'f', digits(step/u.size), 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', digits(step), 64)
}

// digits returns the number of decimals needed to distinguish multiples of step.
func digits(step float64) int {
	return min(max(int(math.Ceil(-math.Log10(step)-1e-9)), 0), 6)
}
