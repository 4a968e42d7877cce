package chart

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Page is a document of figures and tables.
type Page struct {
	Title    string
	Text     []string // paragraphs below the title
	Sections []Section
}

// Section is a heading with a table, figures, or both.
type Section struct {
	Heading string
	Table   [][]string // the first row names the columns; columns after the first are numbers
	Figures []Figure
}

// colours is the number of distinct line colours; further lines start again from the first.
const colours = 8

// theme holds the colours for one background: ground, ink and faint for everything except lines;
// lines uses the colour-blind-safe colours of Okabe and Ito, darkened on light or lightened on dark
// where needed.
type theme struct {
	ground, ink, faint string
	lines              [colours]string
}

var (
	light = theme{"#fff", "#222", "#ddd", [colours]string{"#555", "#b26a00", "#0b7fb5", "#00785a", "#8a7a00", "#0059a8", "#c04400", "#a8507f"}}
	dark  = theme{"#16181c", "#e6e6e6", "#3a3d44", [colours]string{"#aaa", "#f0a92e", "#6cc3f0", "#2fc99a", "#efe04c", "#5b9fe0", "#f07b3c", "#dd95bd"}}
)

// dashes distinguish lines without colour.
var dashes = [colours]string{"", "7 3", "2 2", "9 3 2 3", "4 4", "12 2", "12 5", "1 3"}

// css returns the rules that colour a picture. It uses no CSS variables, because not every program
// that shows SVG supports them.
func (t theme) css() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".ground{fill:%s} text{fill:%s} .grid{stroke:%s} .axis,.rule{stroke:%s}", t.ground, t.ink, t.faint, t.ink)
	for i, c := range t.lines {
		fmt.Fprintf(&b, " .l%d{stroke:%s} .p%d{fill:%s}", i, c, i, c)
	}
	return b.String()
}

// style returns the style sheet of a picture, which follows the reader's choice of light or dark.
func style() string {
	var b strings.Builder
	b.WriteString("text{font:13px system-ui,'DejaVu Sans',sans-serif} .title{font-size:15px;font-weight:600} .tick{font-size:11px}\n")
	b.WriteString(".axis{fill:none} .rule{stroke-dasharray:2 4}")
	for i, d := range dashes {
		fmt.Fprintf(&b, " .l%d{fill:none;stroke-width:1.8", i)
		if d != "" {
			fmt.Fprintf(&b, ";stroke-dasharray:%s", d)
		}
		b.WriteString("}")
	}
	b.WriteString(" .bold{stroke-width:2.8;stroke-dasharray:none}")
	fmt.Fprintf(&b, "\n%s\n@media(prefers-color-scheme:dark){%s}\n", light.css(), dark.css())
	return b.String()
}

const pageStyle = `
:root{color-scheme:light dark} body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;background:#fff;color:#222}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px} th,td{padding:.25rem .6rem;white-space:nowrap;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left} svg{max-width:100%;height:auto;margin:1rem 0}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#e6e6e6} th,td{border-color:#3a3d44}}
`

// WriteHTML writes a self-contained page.
func WriteHTML(w io.Writer, p Page) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>%s</style>\n<h1>%s</h1>\n",
		escape(p.Title), pageStyle, escape(p.Title))
	for _, t := range p.Text {
		fmt.Fprintf(&b, "<p>%s</p>\n", escape(t))
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "<h2>%s</h2>\n", escape(s.Heading))
		writeTable(&b, s.Table)
		for _, f := range s.Figures {
			f.draw(&b)
		}
	}
	b.WriteString("</html>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func writeTable(b *bytes.Buffer, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("<table>\n")
	for i, row := range rows {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		b.WriteString("<tr>")
		for _, c := range row {
			fmt.Fprintf(b, "<%s>%s</%s>", cell, escape(c), cell)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
}
