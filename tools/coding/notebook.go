package coding

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/tools/coding/internal/picture"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// notebook is a Jupyter notebook in nbformat 4, or in nbformat 3 where that is the same.
// https://nbformat.readthedocs.io/en/latest/format_description.html
type notebook struct {
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"` // nbformat 3
	Metadata struct {
		Kernelspec struct {
			Language string `json:"language"`
			Name     string `json:"name"`
		} `json:"kernelspec"`
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Format int `json:"nbformat"`
}

type cell struct {
	Type    string    `json:"cell_type"`
	Source  multiline `json:"source"`
	Input   multiline `json:"input"` // nbformat 3
	Count   *int      `json:"execution_count"`
	Outputs []output  `json:"outputs"`
}

type output struct {
	Type      string               `json:"output_type"`
	Name      string               `json:"name"`
	Text      multiline            `json:"text"`
	Data      map[string]multiline `json:"data"`
	ErrName   string               `json:"ename"`
	ErrValue  string               `json:"evalue"`
	Traceback []string             `json:"traceback"`
}

// multiline is a text stored as one string or as a list of strings. Anything else (a JSON output)
// is kept as its source.
type multiline string

func (m *multiline) UnmarshalJSON(b []byte) error {
	var parts []string
	var one string
	switch {
	case json.Unmarshal(b, &one) == nil:
		*m = multiline(one)
	case json.Unmarshal(b, &parts) == nil:
		*m = multiline(strings.Join(parts, ""))
	default:
		*m = multiline(b)
	}
	return nil
}

func parseNotebook(text string) (*notebook, error) {
	var nb notebook
	if err := json.Unmarshal([]byte(text), &nb); err != nil {
		return nil, err
	}
	for _, s := range nb.Worksheets {
		nb.Cells = append(nb.Cells, s.Cells...)
	}
	if nb.Format == 0 && nb.Cells == nil {
		return nil, errors.New("not a notebook")
	}
	return &nb, nil
}

func (nb *notebook) language() string {
	for _, s := range []string{nb.Metadata.LanguageInfo.Name, nb.Metadata.Kernelspec.Language, nb.Metadata.Kernelspec.Name} {
		if s != "" {
			return s
		}
	}
	return ""
}

// notebook shows cells with their outputs. Pictures among the outputs are attached.
func (w *Workspace) notebook(ctx context.Context, text string, in readIn) ([]agent.Part, error) {
	nb, err := parseNotebook(text)
	if err != nil {
		return nil, err
	}
	count, _ := sessionImages(ctx)
	images := imageBudget{
		left: w.cfg.Limits.ImageBytes, count: max(0, min(maxNotebookImages, w.cfg.Limits.Images-count)),
		each: picture.Limits{Base64: w.cfg.Limits.ImageBytes, Side: w.cfg.Limits.ImageSide},
	}
	shown := nb.render(&images)
	p := w.newPage(in)
	n := 0
	for line := range strings.Lines(shown) {
		if n++; !p.add(n, strings.TrimSuffix(line, "\n")) {
			break
		}
	}
	note := "a notebook shown as text; its line numbers are not those of the file. To change it, read it with raw and edit the JSON"
	parts := []agent.Part{agent.Text{Text: p.finish(countLines(shown), true, note)}}
	if in.Offset <= 1 {
		parts = append(parts, images.parts...)
	}
	return parts, nil
}

const (
	maxNotebookImages = 8
	maxOutputBytes    = 8 << 10 // of one output of a cell
)

// imageBudget collects pictures up to a maximum number and size.
type imageBudget struct {
	left, count int
	each        picture.Limits
	parts       []agent.Part
}

// take collects a picture and returns the text that stands in its place.
func (b *imageBudget) take(mediaType string, encoded multiline) string {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
	if err != nil || imageType(data) == "" {
		return fmt.Sprintf("[%s that cannot be decoded]", mediaType)
	}
	if len(b.parts) == b.count {
		return fmt.Sprintf("[%s, %s, not attached]", mediaType, show.Size(int64(len(data))))
	}
	p, err := picture.Fit(data, imageType(data), b.each)
	if err != nil || len(p.Data) > b.left {
		return fmt.Sprintf("[%s, %s, not attached]", mediaType, show.Size(int64(len(data))))
	}
	b.left -= len(p.Data)
	b.parts = append(b.parts, agent.Image{MediaType: p.Type, Data: p.Data})
	return fmt.Sprintf("[%s, attached as image %d]", mediaType, len(b.parts))
}

func (nb *notebook) render(images *imageBudget) string {
	var b strings.Builder
	lang := nb.language()
	for i, c := range nb.Cells {
		fmt.Fprintf(&b, "# cell %d, %s", i+1, c.Type)
		if c.Type == "code" && lang != "" {
			fmt.Fprintf(&b, ", %s", lang)
		}
		if c.Count != nil {
			fmt.Fprintf(&b, ", run as [%d]", *c.Count)
		}
		b.WriteString("\n")
		writeBlock(&b, string(c.Source+c.Input))
		for _, o := range c.Outputs {
			fmt.Fprintf(&b, "# output of cell %d\n", i+1)
			writeBlock(&b, clip(o.text(images), maxOutputBytes))
		}
	}
	return b.String()
}

func (o *output) text(images *imageBudget) string {
	if o.Type == "error" || o.ErrName != "" {
		if len(o.Traceback) > 0 {
			return ansi.Strip(strings.Join(o.Traceback, "\n"))
		}
		return o.ErrName + ": " + o.ErrValue
	}
	if o.Text != "" && o.Data == nil {
		return ansi.Strip(string(o.Text))
	}
	for _, t := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if data, ok := o.Data[t]; ok {
			return images.take(t, data)
		}
	}
	for _, t := range []string{"text/plain", "text/markdown", "text/latex", "application/json", "text/html"} {
		if s, ok := o.Data[t]; ok {
			return ansi.Strip(string(s))
		}
	}
	return "[output of another kind]"
}

func writeBlock(b *strings.Builder, s string) {
	b.WriteString(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteString("\n")
	}
}

// clip keeps the beginning and the end of a text.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	head, tail := s[:max*2/3], s[len(s)-max/3:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[... %s left out ...]\n", show.Size(int64(len(s)-len(head)-len(tail)))) + strings.ToValidUTF8(tail, "")
}
